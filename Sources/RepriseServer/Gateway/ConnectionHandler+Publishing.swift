import NIOCore
import RepriseCore
import RepriseWire

extension ConnectionHandler {
    func publish(_ publish: ClientFrame.Publish) {
        guard publish.body.count <= WireLimits.bodyBytes else {
            return send(
                .refused(
                    .init(
                        channel: publish.channel.text, id: publish.id.text, code: .tooLarge,
                        message: "A body has at most \(WireLimits.bodyBytes) bytes.")))
        }
        publishes.append(publish)
    }

    /// Submits what came in one turn together: one entry in the committer's queue, one flush for the answers.
    func submitPublishes() {
        guard !publishes.isEmpty else { return }
        let messages = publishes
        publishes = []
        machine.publishesAccepted(messages.count)
        let shard = switchboard.shard
        gateway.committer.submit(messages) { [id] result in
            shard.post(.answers(to: id, messages, result))
        }
    }

    func publishesAnswered(
        _ messages: [NewMessage], _ result: Result<[AppendResult], RepriseError>
    ) {
        var buffer = ByteBuffer()
        switch result {
        case .success(let results):
            for (message, result) in zip(messages, results) {
                WebSocketFraming.write(Self.answer(to: message, result), to: &buffer)
            }
        case .failure(let error):
            let code: RefusalCode = error.code == .full ? .overloaded : .unavailable
            for message in messages {
                WebSocketFraming.write(
                    Self.refusal(of: message, code, error.message), to: &buffer)
            }
        }
        if machine.maySend { send(buffer) }
        answered(messages.count)
    }

    private static func answer(to message: NewMessage, _ result: AppendResult) -> ServerFrame {
        switch result {
        case .stored(let event):
            .published(.init(channel: message.channel, id: message.id, seq: event.seq))
        case .duplicate(let seq):
            .published(.init(channel: message.channel, id: message.id, seq: seq))
        case .refused(let code, let text): refusal(of: message, code, text)
        }
    }

    private static func refusal(
        of message: NewMessage, _ code: RefusalCode, _ text: String
    ) -> ServerFrame {
        .refused(
            .init(
                channel: message.channel.text, id: message.id.text, code: code, message: text,
                retryAfter: code.isTemporary ? .seconds(1) : nil))
    }

    /// The answer to a publish or subscribe whose names break the rules; that ends no connection.
    static func refusal(of text: [UInt8], _ error: RepriseError?) -> ServerFrame.Refused? {
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
}
