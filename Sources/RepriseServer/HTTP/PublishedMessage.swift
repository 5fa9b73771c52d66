import RepriseCore
import RepriseWire

/// A message as HTTP brings it: `{"id":…,"after":…,"body":…}`, of which only `body` is required.
///
/// Without an id the server makes one and the answer names it; then sending again after a failure may store twice, so
/// whoever retries gives an id. Other fields are ignored, as in frames.
enum PublishedMessage {
    /// What one JSON text is.
    enum Reading {
        case message(NewMessage)
        /// With the id, if it could be read.
        case refused(HTTPFailure, id: EntryID?)
    }

    /// Reads one message for `channel`; the body's bytes stay as they came.
    static func read(_ text: [UInt8], for channel: ChannelName) -> Reading {
        var id: EntryID?
        do {
            return try text.withUnsafeBufferPointer { bytes in
                let envelope = try Envelope(bytes)
                id = envelope.optional("id") == nil ? nil : try envelope.id("id")
                let after = envelope.optional("after") == nil ? nil : try envelope.id("after")
                let body = try envelope.raw("body")
                guard body.count <= WireLimits.bodyBytes else {
                    throw RepriseError(
                        .tooLarge,
                        "A body has at most \(WireLimits.bodyBytes) bytes, not \(body.count).")
                }
                return .message(
                    NewMessage(channel: channel, id: id ?? .random(), after: after, body: body))
            }
        } catch let error as RepriseError {
            return .refused(HTTPFailure(error), id: id)
        } catch {
            return .refused(HTTPFailure(RepriseError(.malformed, "Not valid.")), id: id)
        }
    }

    /// What became of one message: `{"id","seq"}`, with `"duplicate":true` if it was stored before.
    static func write(_ id: EntryID, _ seq: Int64, isDuplicate: Bool, to json: inout JSONWriter) {
        json.object { answer in
            answer.key("id")
            answer.plain(id.text)
            answer.key("seq")
            answer.integer(seq)
            if isDuplicate {
                answer.key("duplicate")
                answer.bool(true)
            }
        }
    }
}
