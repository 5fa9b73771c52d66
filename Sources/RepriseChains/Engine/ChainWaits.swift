import GRDB
import RepriseCore
import RepriseJournal

/// The tasks that wait for something beside their chain, and their release.
struct ChainWaits: Sendable {
    private let journal: Journal
    private let loop: FeatureLoop<ChainsEvent>
    /// The kinds of entries that some chain may wait for.
    private var kinds: Set<String> = []

    init(_ journal: Journal, _ loop: FeatureLoop<ChainsEvent>) {
        (self.journal, self.loop) = (journal, loop)
    }

    /// Some chain may wait for entries of these kinds.
    mutating func add(_ kinds: Set<String>) { self.kinds.formUnion(kinds) }

    /// The same for what tasks wait for in the journal.
    mutating func add(holds: [String]) {
        kinds.formUnion(holds.compactMap { Self.name("entry:", in: $0) })
    }

    private static func name(_ prefix: String, in hold: String) -> String? {
        hold.hasPrefix(prefix) ? String(hold.dropFirst(prefix.count)) : nil
    }

    // MARK: Events

    func opened(_ readiness: Readiness) async {
        await release(where: "t.hold = ?", ["readiness:\(readiness.name)"])
    }

    /// Entries were recorded: the newest of each kind.
    func recorded(_ newest: [String: Int64]) async {
        for (kind, seq) in newest where kinds.contains(kind) {
            await release(where: "t.hold = ? AND t.after < ?", ["entry:\(kind)", seq])
        }
    }

    func changed(_ conditions: DeviceConditions) async {
        await release(
            where: "t.hold = 'conditions' AND c.needs & ? = 0 AND c.needsBytes <= ?",
            [ChainConstraints.missing(conditions), conditions.freeBytes])
    }

    /// The same for conditions and entries from before this run.
    func cameBefore(_ holds: [String]) async throws {
        for hold in holds {
            if let name = Self.name("readiness:", in: hold), journal.isOpen(Readiness(name)) {
                await opened(Readiness(name))
            } else if let kind = Self.name("entry:", in: hold) {
                let newest = try await journal.read { db in
                    try Int64.fetchOne(
                        db, sql: "SELECT MAX(seq) FROM entry WHERE kind = ?", arguments: [kind])
                }
                if let newest { await recorded([kind: newest]) }
            }
        }
    }

    // MARK: Release

    /// Releases held tasks a page at a time, so that ten thousand waiting chains do not fill the
    /// memory.
    private func release(where condition: String, _ arguments: StatementArguments) async {
        do {
            while true {
                let count = try await journal.write { [journal] db in
                    try ChainReleases.page(where: condition, arguments, journal, db)
                }
                guard count == ChainReleases.page else { return }
            }
        } catch {
            loop.note(error)
        }
    }

    /// Releases a wait of a chain in memory whose event came before its row.
    func release(_ id: String, _ task: String) async {
        do {
            try await journal.write { [journal] db in
                try ChainReleases.record(id, task, journal, db)
            }
        } catch {
            loop.note(error)
        }
    }
}
