import RepriseCore
import RepriseWire

/// A message in HTTP's form: `{"id":…,"after":…,"edits":…,"deletes":…,"body":…}`.
///
/// Only `body` is required, and not for a deletion.
///
/// Without an id the server makes one and returns it; then a repetition after a failure may store
/// twice, so clients that retry must send an id. Other fields are refused: see ``RequestFields``.
enum PublishedMessage {
    /// The result of reading one JSON text.
    enum Reading {
        case message(NewMessage)
        /// With the id, if it could be read.
        case refused(HTTPFailure, id: EntryID?)
    }

    /// The body of a deletion and of a deleted message.
    static let null = Array("null".utf8)

    /// Reads one message; the body's bytes stay as received.
    ///
    /// `change` comes from the path; without it the message itself may have `edits` or `deletes`.
    static func read(
        _ text: [UInt8], by publisher: HTTPPublisher, change: MessageChange<EntryID>? = nil
    ) -> Reading {
        let fields = change == nil ? RequestFields.message : RequestFields.edit
        var id: EntryID?
        do {
            return try text.withUnsafeBufferPointer { bytes in
                let envelope = try Envelope(bytes)
                id = try envelope.optionalID("id")
                try envelope.expect(only: fields)
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

    /// The result of one message: `{"id","seq"}`, with `"duplicate":true` if it was stored before.
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
