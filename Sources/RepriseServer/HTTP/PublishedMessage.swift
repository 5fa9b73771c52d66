import RepriseCore
import RepriseWire

/// A message as HTTP brings it: `{"id":…,"after":…,"edits":…,"deletes":…,"body":…}`, of which only
/// `body` is required, and for a deletion not even that.
///
/// Without an id the server makes one and the answer names it; then sending again after a failure
/// may store twice, so whoever retries gives an id. Other fields are ignored, as in frames.
enum PublishedMessage {
    /// What one JSON text is.
    enum Reading {
        case message(NewMessage)
        /// With the id, if it could be read.
        case refused(HTTPFailure, id: EntryID?)
    }

    /// What a deletion and a deleted message have for a body.
    static let null = Array("null".utf8)

    /// Reads one message; the body's bytes stay as they came.
    ///
    /// `change` is what the path says; without one the message itself may say `edits` or `deletes`.
    static func read(
        _ text: [UInt8], by publisher: Publisher, change: MessageChange<EntryID>? = nil
    ) -> Reading {
        var id: EntryID?
        do {
            return try text.withUnsafeBufferPointer { bytes in
                let envelope = try Envelope(bytes)
                id = try envelope.optionalID("id")
                let after = try envelope.optionalID("after")
                let change = try change ?? envelope.change()
                let body = try envelope.body(of: change)
                return .message(
                    publisher.message(id ?? .random(), after: after, change: change, body: body))
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

extension Envelope {
    fileprivate func optionalID(_ name: StaticString) throws -> EntryID? {
        optional(name) == nil ? nil : try id(name)
    }

    fileprivate func change() throws -> MessageChange<EntryID>? {
        switch (try optionalID("edits"), try optionalID("deletes")) {
        case (nil, nil): return nil
        case (let target?, nil): return .edits(target)
        case (nil, let target?): return .deletes(target)
        case (_?, _?):
            throw RepriseError(.malformed, "A message edits or deletes another, not both.")
        }
    }

    fileprivate func body(of change: MessageChange<EntryID>?) throws -> [UInt8] {
        if case .deletes = change {
            guard optional("body") == nil else {
                throw RepriseError(.malformed, "A deletion has no body but null.")
            }
            return PublishedMessage.null
        }
        let body = try raw("body")
        guard body.count <= WireLimits.bodyBytes else {
            throw RepriseError(
                .tooLarge, "A body has at most \(WireLimits.bodyBytes) bytes, not \(body.count).")
        }
        return body
    }
}
