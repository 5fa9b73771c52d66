package import RepriseCore
package import RepriseWire

/// The content of an outbox entry: a message, or a change of an earlier one.
///
/// A message is its body, so that a journal from before changes existed reads the same. A change
/// has its target's id in the first line of the payload (an id has no line break); the entry's
/// source names the change.
package struct OutboxContent: Hashable, Sendable {
    package var change: MessageChange<EntryID>?
    package var body: [UInt8]

    package init(change: MessageChange<EntryID>? = nil, body: [UInt8]) {
        self.change = change
        self.body = body
    }

    static let edit = "edit"
    static let delete = "delete"

    /// - Throws: ``RepriseCore/RepriseError`` if the journal was tampered with.
    package init(_ entry: Entry) throws {
        try self.init(source: entry.source, payload: entry.payload)
    }

    init(source: String, payload: [UInt8]) throws {
        guard source == Self.edit || source == Self.delete else {
            self.init(body: payload)
            return
        }
        guard let end = payload.firstIndex(of: UInt8(ascii: "\n")) else {
            throw RepriseError(.malformed, "A change names no message.")
        }
        let target = try EntryID(String(decoding: payload[..<end], as: UTF8.self))
        let body = Array(payload[(end + 1)...])
        self.init(change: source == Self.edit ? .edits(target) : .deletes(target), body: body)
    }

    var source: String {
        switch change {
        case nil: "app"
        case .edits: Self.edit
        case .deletes: Self.delete
        }
    }

    var payload: [UInt8] {
        change.map { Array($0.target.text.utf8) + [UInt8(ascii: "\n")] + body } ?? body
    }

    /// The entry to record.
    package func entry(id: EntryID, in channel: ChannelName) -> NewEntry {
        NewEntry(
            id: id, kind: OutboxMachine.kind.name, source: source, payload: payload,
            partitionKey: channel.text)
    }
}
