package import GRDB
public import RepriseCore

/// Entries whose handlers failed for good: list, retry, discard.
extension Journal {
    /// Lists dead letters in the order recorded: entries, including those of the outbox.
    ///
    /// Excludes messages that a channel's reader could not handle: `Channel.failures(of:)` lists
    /// them, although the ledger's sum counts both as dead.
    ///
    /// - Parameters:
    ///   - after: the last one of the previous page; nil: from the first.
    ///   - limit: the page size, at most 1,000.
    /// - Returns: the entries, each with its reason; fewer than `limit` at the end.
    /// - Throws: ``RepriseCore/RepriseError`` `.noSuchEntry` if `after` has been removed;
    ///   `.closed`, `.diskFailed`.
    public func deadLetters(after: EntryID? = nil, limit: Int = 100) async throws -> [Entry] {
        try await read { db in
            var start: Int64 = 0
            if let after {
                start = try Self.seq(of: after, in: db)
            }
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT \(EntryRow.columns) FROM entry
                    WHERE state = 13 AND seq > ? ORDER BY seq LIMIT ?
                    """, arguments: [start, min(max(limit, 0), 1_000)])
            return rows.compactMap { try? EntryRow($0).entry }
        }
    }

    /// Looks an entry up.
    ///
    /// - Parameter id: its id.
    /// - Returns: nil if it was never accepted, or ended longer ago than the retention.
    /// - Throws: ``RepriseCore/RepriseError`` `.closed`, `.diskFailed`.
    public func entry(_ id: EntryID) async throws -> Entry? {
        try await read { db in try EntryStore.entry(id, in: db) }
    }

    /// Retries a dead letter: it is pending, with no failures, in its old place of its partition
    /// key.
    ///
    /// - Parameter id: of a dead letter.
    /// - Throws: ``RepriseCore/RepriseError`` `.noSuchEntry`, and as ``write(_:)``.
    public func retry(_ id: EntryID) async throws {
        try await write { [store] db in try store.retry(id, in: db) }
    }

    /// Discards a dead letter.
    ///
    /// The ledger counts it as dead for ever; its content is removed.
    ///
    /// - Parameter id: of a dead letter.
    /// - Throws: ``RepriseCore/RepriseError`` `.noSuchEntry`, and as ``write(_:)``.
    public func discard(_ id: EntryID) async throws {
        try await write { [self] db in try discard(id, in: db) }
    }

    private static func seq(of id: EntryID, in db: Database) throws -> Int64 {
        let seq = try Int64.fetchOne(
            db, sql: "SELECT seq FROM entry WHERE id = ?", arguments: [id.text])
        guard let seq else { throw EntryStore.noDeadLetter(id) }
        return seq
    }
}

extension Journal {
    /// How many entries have not ended; in a transaction.
    package var pending: Int { store.pending }

    /// Retries a dead letter, in the current transaction.
    package func retry(_ id: EntryID, in db: Database) throws { try store.retry(id, in: db) }

    /// Discards a dead letter, in the current transaction.
    package func discard(_ id: EntryID, in db: Database) throws { try store.discard(id, in: db) }

    /// Looks an entry up in the current transaction or read.
    package static func entry(_ id: EntryID, in db: Database) throws -> Entry? {
        try EntryStore.entry(id, in: db)
    }

    /// Ends a waiting entry on behalf of its feature: withdrawn, superseded, refused for good.
    ///
    /// Leaves an entry in flight alone, because its effect cannot be reversed.
    ///
    /// - Parameters:
    ///   - id: an entry that has not ended.
    ///   - outcome: how it ends.
    ///   - reason: the reason, for people.
    ///   - db: the current transaction.
    /// - Returns: whether it was ended.
    /// - Throws: a `DatabaseError`, which the body must rethrow.
    package func end(
        _ id: EntryID, as outcome: Outcome, reason: String? = nil, in db: Database
    ) throws -> Bool {
        try store.end(id, as: outcome, reason: reason, in: db)
    }

    /// Ends all entries of some kinds, also those in flight: later reports of their handlers are
    /// ignored.
    ///
    /// - Parameters:
    ///   - kinds: names of kinds, with their families.
    ///   - outcome: how they end.
    ///   - reason: the reason, for people.
    ///   - db: the current transaction.
    /// - Returns: how many.
    /// - Throws: a `DatabaseError`, which the body must rethrow.
    @discardableResult
    package func endAll(
        of kinds: [String], as outcome: Outcome, reason: String, in db: Database
    ) throws -> Int {
        try store.endAll(
            of: kinds.flatMap { store.families.members(of: $0) }, as: outcome, reason: reason,
            in: db)
    }
}

extension EntryStore {
    static func noDeadLetter(_ id: EntryID) -> RepriseError {
        RepriseError(.noSuchEntry, "No dead letter has the id \(id).")
    }

    static func entry(_ id: EntryID, in db: Database) throws -> Entry? {
        let row = try Row.fetchOne(
            db, sql: "SELECT \(EntryRow.columns) FROM entry WHERE id = ?", arguments: [id.text])
        return row.flatMap { try? EntryRow($0).entry }
    }

    /// Ends a waiting entry.
    func end(_ id: EntryID, as outcome: Outcome, reason: String?, in db: Database) throws -> Bool {
        let row = try Row.fetchOne(
            db, sql: "SELECT seq, lane FROM entry WHERE id = ? AND state < 3",
            arguments: [id.text])
        guard let row, let seq = Int64.fromDatabaseValue(row[0]) else { return false }
        try end(
            seq, partitionKey: String.fromDatabaseValue(row[1]), as: StateCode(outcome),
            reason: reason,
            in: db)
        return true
    }

    func discard(_ id: EntryID, in db: Database) throws {
        let entry = try Self.entry(id, in: db)
        try db.execute(
            sql: "UPDATE entry SET state = 15, payload = x'' WHERE id = ? AND state = 13",
            arguments: [id.text])
        guard db.changesCount == 1 else { throw Self.noDeadLetter(id) }
        guard let entry else { return }
        for schema in schemas { try schema.discarded(db, entry) }
    }
}
