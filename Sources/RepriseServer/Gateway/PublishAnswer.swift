package import RepriseCore
package import RepriseWire

/// The answers to a device's publishes.
package enum PublishAnswer {
    /// The answer to one message of a durable batch.
    package static func frame(to message: NewMessage, _ result: AppendResult) -> ServerFrame {
        switch result {
        case .stored(let event), .buried(_, let event):
            .published(.init(channel: message.channel, id: message.id, seq: event.seq))
        case .duplicate(let seq):
            .published(.init(channel: message.channel, id: message.id, seq: seq))
        case .refused(let code, let text): refusal(of: message.publish, code, text)
        }
    }

    /// The answer to a message that the committer refused, or whose outcome is unknown.
    package static func frame(to message: NewMessage, _ error: RepriseError) -> ServerFrame {
        refusal(
            of: message.publish, error.code == .full ? .overloaded : .unavailable,
            error.messageAndRemedy)
    }

    /// The reason to refuse a message before it is submitted; nil if it may be.
    package static func refusal(of publish: ClientFrame.Publish) -> ServerFrame? {
        guard publish.body.count > WireLimits.bodyBytes else { return nil }
        return refusal(
            of: publish, .tooLarge, "A body has at most \(WireLimits.bodyBytes) bytes.")
    }

    /// The answer to a publish or subscribe with invalid names; it does not end the connection.
    package static func refusal(
        of text: [UInt8], _ error: RepriseError?
    ) -> ServerFrame.Refused? {
        let code: RefusalCode
        switch error?.code {
        case .badChannelName?: code = .badChannelName
        case .badID?: code = .badID
        default: return nil
        }
        guard let names = FrameDecoder.names(in: text) else { return nil }
        return .init(
            channel: names.channel, id: names.id, code: code, message: error?.message ?? "")
    }

    private static func refusal(
        of publish: ClientFrame.Publish, _ code: RefusalCode, _ text: String
    ) -> ServerFrame {
        .refused(
            .init(
                channel: publish.channel.text, id: publish.id.text, code: code, message: text,
                retryAfter: code.isTemporary ? .seconds(1) : nil))
    }
}
