package import Foundation
import GRDB
package import RepriseCore
package import RepriseJournal

/// A device's disk as it ships: the journal on SQLite, in a folder.
package final class GRDBStore: DeviceStore {
    private let simulation: Simulation
    private let folder: URL
    private let schemas: [JournalSchema]
    private let settings: StoreSettings
    private let fate: () -> SimulatedDisk.Fate
    /// Where an open journal comes from; nil: each opening opens the folder's files.
    private let stock: JournalStock?
    private var item: JournalStock.Item?
    /// Of the last opening; closed once its process has been killed, unless it goes back to the
    /// stock.
    private var newest: DatabasePool?

    package convenience init(
        _ simulation: Simulation, at folder: URL, disk: SimulatedDisk,
        schemas: [JournalSchema] = [], settings: StoreSettings = StoreSettings(),
        stock: JournalStock? = nil
    ) {
        self.init(
            simulation, at: folder, schemas: schemas, settings: settings, stock: stock,
            fate: { disk.commit() })
    }

    init(
        _ simulation: Simulation, at folder: URL, schemas: [JournalSchema],
        settings: StoreSettings, stock: JournalStock? = nil,
        fate: @escaping () -> SimulatedDisk.Fate
    ) {
        self.stock = stock
        self.simulation = simulation
        self.folder = folder
        self.schemas = schemas + [GRDBTransaction.schema]
        self.settings = settings
        self.fate = fate
    }

    package func open(by process: SimulatedProcess, kinds: [EntryKind]) throws -> any OpenStore {
        try openJournal(by: process, kinds: kinds)
    }

    func openJournal(by process: SimulatedProcess, kinds: [EntryKind]) throws -> OpenJournal {
        if let error = fate().error {
            throw JournalFailureText.typed(error)  // before anything is written
        }
        let jitter = Jitter(simulation.random("jitter of \(process.name) \(process.life)"))
        var configuration = Journal.Configuration()
        configuration.timekeeper = process.clock
        configuration.retention = settings.retention
        configuration.pendingLimit = settings.pendingLimit
        configuration.takeOver = true
        configuration.jitter = { jitter.next() }
        let journal: SteppedJournal
        if let item = try stocked() {
            journal = try SteppedJournal(
                after: item.journal, at: item.folder, kinds: kinds, schemas: schemas,
                configuration: configuration)
        } else {
            journal = try SteppedJournal(
                at: folder, kinds: kinds, schemas: schemas, configuration: configuration)
            process.whenKilled { journal.abandon() }
        }
        newest = journal.pool
        let fault = FateObserver(fate)
        journal.pool.add(transactionObserver: fault, extent: .observerLifetime)
        return OpenJournal(journal, fault: fault)
    }

    private func stocked() throws -> JournalStock.Item? {
        guard let stock else { return nil }
        if let item { return item }
        let item = try stock.take()
        self.item = item
        simulation.whenEnded { [self] in
            newest = nil
            stock.giveBack(item)
        }
        return item
    }

    /// What was committed was synced: it is all there.
    package func crash(losingPower: Bool) {}

    package func dump() throws -> [String] {
        if let lines = try? newest?.read(Self.dump) { return lines }
        let queue = try DatabaseQueue(
            path: folder.appendingPathComponent("journal.sqlite").path)
        defer { try? queue.close() }
        return try queue.read(Self.dump)
    }

    private static func dump(_ db: Database) throws -> [String] {
        var lines: [String] = []
        func add(_ name: String, _ sql: String) throws {
            for row in try Row.fetchAll(db, sql: sql) {
                lines.append(
                    ([name] + row.databaseValues.map(Self.text)).joined(separator: "|"))
            }
        }
        try add(
            "journal",
            """
            SELECT incarnation, accepted, duplicates, sightedWall, sightedUptime, sightedBoot,
            doubted, doubtSeen FROM journal
            """)
        for outcome in Outcome.allCases {
            try add(
                "retired",
                """
                SELECT outcome, count FROM retired
                WHERE outcome = '\(outcome.rawValue)' AND count > 0
                """)
        }
        try add(
            "entry",
            """
            SELECT seq, id, kind, source, lane, recordedAt, state, incarnation, attempt,
            failures, interruptions, interrupted, released, due, bound, reason, payload
            FROM entry ORDER BY seq
            """)
        try add("effect", "SELECT what FROM appEffect ORDER BY id")
        return lines + (try GRDBTransaction.channelsDump(db)) + (try GRDBTransaction.formsDump(db))
            + (try GRDBTransaction.remindersDump(db))
    }

    private static func text(_ value: DatabaseValue) -> String {
        switch value.storage {
        case .null: "-"
        case .int64(let number): "\(number)"
        case .double(let number): "\(number)"
        case .string(let text): text
        case .blob(let data): "\([UInt8](data))"
        }
    }
}

/// The shipping journal as one process has it open.
package final class OpenJournal: OpenStore {
    private let journal: SteppedJournal
    private let fault: FateObserver

    init(_ journal: SteppedJournal, fault: FateObserver) {
        self.journal = journal
        self.fault = fault
    }

    package var incarnation: Int64 { journal.incarnation }

    package func commit(_ jobs: [StoreJob]) throws -> GroupResult {
        fault.isArmed = true
        defer { fault.isArmed = false }
        let outcome = try journal.perform(
            jobs.map { job in { [journal] db in try job(GRDBTransaction(db, journal)) } })
        return GroupResult(results: outcome.results, news: outcome.news)
    }

    /// On the connection that writes: nobody else uses it meanwhile, and another one would have to
    /// be opened in each life of a process.
    package func read<T>(_ body: (any DeviceTransaction) throws -> T) throws -> T {
        try journal.pool.writeWithoutTransaction { db in try body(GRDBTransaction(db, journal)) }
    }

    /// What is known without asking the disk.
    var stepped: SteppedJournal { journal }
}

/// Lets a commit fail as a full or a failing disk does.
final class FateObserver: TransactionObserver {
    var isArmed = false
    private let fate: () -> SimulatedDisk.Fate

    init(_ fate: @escaping () -> SimulatedDisk.Fate) { self.fate = fate }

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }
    func databaseDidChange(with event: DatabaseEvent) {}
    func databaseDidCommit(_ db: Database) {}
    func databaseDidRollback(_ db: Database) {}

    func databaseWillCommit() throws {
        guard isArmed, let error = fate().error else { return }
        throw error
    }
}

extension SimulatedDisk.Fate {
    /// What SQLite reports.
    var error: DatabaseError? {
        switch self {
        case .done: nil
        case .full: DatabaseError(resultCode: .SQLITE_FULL)
        case .syncFailed: DatabaseError(resultCode: .SQLITE_IOERR)
        }
    }
}

/// The typed error of an opening that fails.
enum JournalFailureText {
    static func typed(_ error: DatabaseError) -> RepriseError {
        error.resultCode == .SQLITE_FULL
            ? RepriseError(.diskFull, "The disk is full.")
            : RepriseError(.diskFailed, "The disk failed under the journal.")
    }
}

/// A source of jitter that the journal's configuration takes.
private final class Jitter: @unchecked Sendable {  // the simulation has one thread
    private var random: SeededRandom

    init(_ random: SeededRandom) { self.random = random }

    func next() -> Double { random.fraction() }
}
