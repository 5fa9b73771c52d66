import Foundation
import GRDB
import Logging
import RepriseCore
import RepriseJournal
import RepriseWire

/// Turns the app's requests into entries.
extension Channels {
    /// The messages that wait to be sent to any channel, and all dead letters.
    public var outbox: Outbox { Outbox(channels: self, channel: nil) }

    func publish(
        _ json: [UInt8], id: EntryID, edits target: EntryID? = nil, to name: ChannelName
    ) async throws -> EntryID {
        try Self.check(json)
        let content = OutboxContent(change: target.map { .edits($0) }, body: json)
        presence.stoppedTyping(in: name)
        try await journal.write { [self] db in try record(content, id: id, to: name, db) }
        readers.changeNotifier.notify(name)
        return id
    }

    private static func check(_ json: [UInt8]) throws {
        guard json.count <= WireLimits.bodyBytes else {
            throw RepriseError(
                .tooLarge,
                "A message has at most \(WireLimits.bodyBytes) bytes, not \(json.count).",
                remedy: "Put large content elsewhere and publish where it is.")
        }
        try JSONScanner.validate(json)
    }

    /// Records a message in the current transaction: it is sent if that is committed.
    func publish(_ json: [UInt8], id: EntryID, to name: ChannelName, in db: Database) throws {
        try Self.check(json)
        try record(OutboxContent(body: json), id: id, to: name, db)
        notify(name, after: db)
    }

    func delete(_ target: EntryID, in name: ChannelName) async throws {
        try await journal.write { [self] db in
            if let entry = try Outbox.entry(target, in: name, db) {
                return try withdraw(entry, from: name, db)
            }
            try record(.deletion(of: target), id: .random(), to: name, db)
        }
        readers.changeNotifier.notify(name)
    }

    /// A message that no other device can have seen is removed at once; otherwise a deletion
    /// follows it in its partition key.
    func withdraw(_ entry: Entry, from name: ChannelName, _ db: Database) throws {
        switch entry.state {
        case .finished(.dead):
            try journal.discard(entry.id, in: db)
            let wasRefused = try Row.fetchOne(
                db, sql: "DELETE FROM channelsRefused WHERE id = ? RETURNING id",
                arguments: [entry.id.text])
            if wasRefused != nil || entry.attempt == 0 {
                return try endEdits(of: entry.id, in: name, db)
            }
        case .pending:
            _ = try journal.end(
                entry.id, as: .superseded, reason: "It was withdrawn.", in: db)
            if entry.attempt == 0 { return try endEdits(of: entry.id, in: name, db) }
        case .dispatched, .finished(.applied): break
        case .finished: return
        }
        try record(.deletion(of: entry.id), id: .random(), to: name, db)
    }

    /// The server never gets their message, and would refuse them.
    private func endEdits(of target: EntryID, in name: ChannelName, _ db: Database) throws {
        let line = Data((target.text + "\n").utf8)
        let edits = try String.fetchAll(
            db,
            sql: """
                SELECT id FROM entry WHERE lane = ? AND lane IS NOT NULL AND state < 10
                AND kind = ? AND source = ? AND substr(payload, 1, ?) = ?
                """,
            arguments: [
                name.text, OutboxMachine.kind.name, OutboxContent.edit, line.count, line,
            ])
        for edit in edits {
            _ = try journal.end(
                EntryID(edit), as: .superseded, reason: "Its message was withdrawn.", in: db)
        }
    }

    /// Lists read the journal again once this transaction is durable.
    func notify(_ name: ChannelName, after db: Database) {
        db.afterNextTransaction { [readers] _ in readers.changeNotifier.notify(name) }
    }

    private func record(
        _ content: OutboxContent, id: EntryID, to name: ChannelName, _ db: Database
    ) throws {
        // Counted only if the entries of all kinds are as many.
        if journal.pending >= configuration.outboxLimit,
            try Outbox.waiting(in: nil, db) >= configuration.outboxLimit,
            try Journal.entry(id, in: db) == nil
        {
            throw RepriseError(
                .full, "\(configuration.outboxLimit) messages wait to be sent.",
                remedy: "Publish it again once some of them have been.")
        }
        try journal.record(content.entry(id: id, in: name), in: db)
        let logger = configuration.logger
        guard logger.logLevel <= .debug else { return }
        db.afterNextTransaction { _ in
            logger.tell(
                .debug, "A message is recorded.",
                [
                    "message": id.text, "channel": name.text,
                    "target": content.change?.target.text,
                ])
        }
    }
}

extension Channel {
    /// How many messages and changes wait for the server: the current number, then each change.
    ///
    /// Buffers the newest value; older ones are dropped.
    public var waiting: AsyncStream<Int> {
        channels.watch(name) { [name] db in try Outbox.waiting(in: name, db) }
    }
}

extension OutboxContent {
    static func deletion(of target: EntryID) -> OutboxContent {
        OutboxContent(change: .deletes(target), body: Array("null".utf8))
    }
}
