package import RepriseCore
import RepriseJournal

/// A device's disk in memory: what is written, what is synced, and what nobody knows.
package final class ModelStore: DeviceStore {
    /// What a new process finds.
    package private(set) var disk = DeviceState()
    /// What a machine finds that lost its power.
    private var synced = DeviceState()
    /// A commit whose sync failed: there or not, after a crash.
    private var limbo: DeviceState?

    private let simulation: Simulation
    private let settings: StoreSettings
    private let fate: () -> SimulatedDisk.Fate
    private let keepsUnsynced: () -> Bool

    package convenience init(
        _ simulation: Simulation, disk: SimulatedDisk, settings: StoreSettings = StoreSettings()
    ) {
        self.init(
            simulation, settings: settings, fate: { disk.commit() },
            keepsUnsynced: { disk.keepsUnsynced() })
    }

    init(
        _ simulation: Simulation, settings: StoreSettings,
        fate: @escaping () -> SimulatedDisk.Fate, keepsUnsynced: @escaping () -> Bool
    ) {
        self.simulation = simulation
        self.settings = settings
        self.fate = fate
        self.keepsUnsynced = keepsUnsynced
        disk.channels.readsBeyondHoles = simulation.mutation == .orderedBeyondHoles
    }

    package func open(by process: SimulatedProcess, kinds: [EntryKind]) throws -> any OpenStore {
        try openModel(by: process, kinds: kinds)
    }

    func openModel(by process: SimulatedProcess, kinds: [EntryKind]) throws -> OpenModel {
        var jitter = simulation.random("jitter of \(process.name) \(process.life)")
        let rules = ModelRules(
            kinds: kinds, clock: process.clock, settings: settings, mutation: simulation.mutation,
            jitter: { jitter.fraction() })
        let clockReading = process.clock.clockReading()
        let stored = disk.entries.clockReading
        let writerState = ModelWriterState(
            clock: WallClockGuard(
                stored: stored, doubt: disk.entries.doubt, now: stored ?? clockReading),
            sighted: clockReading.uptime, pending: disk.entries.pending, now: clockReading.wall)
        let transaction = ModelTransaction(state: disk, writerState: writerState, rules: rules)
        try transaction.becomeOwner()
        try keep(transaction)
        return OpenModel(self, rules: rules, writerState: transaction.writerState)
    }

    package func crash(losingPower: Bool) {
        let found = limbo.flatMap { keepsUnsynced() ? $0 : nil }
        limbo = nil
        disk = found ?? (losingPower ? synced : disk)
        if losingPower { synced = disk }
    }

    package func dump() -> [String] { disk.dump }

    /// Commits, if the disk lets it.
    func keep(_ transaction: ModelTransaction) throws {
        switch fate() {
        case .done:
            disk = transaction.state
            limbo = nil
            if simulation.mutation != .skipSync { synced = disk }
        case .full:
            throw RepriseError(.diskFull, "The disk is full.")
        case .syncFailed:
            limbo = transaction.state
            throw RepriseError(.diskFailed, "The disk failed under the journal.")
        }
    }
}

/// The model as one process has it open.
package final class OpenModel: OpenStore {
    private let store: ModelStore
    private let rules: ModelRules
    package private(set) var writerState: ModelWriterState
    /// What the mutation `acceptedApart` has not counted yet.
    private var uncounted: (accepted: Int64, duplicates: Int64) = (0, 0)

    init(_ store: ModelStore, rules: ModelRules, writerState: ModelWriterState) {
        self.store = store
        self.rules = rules
        self.writerState = writerState
    }

    package var incarnation: Int64 { rules.incarnation }
    package var now: WallTime { writerState.now }

    package func commit(_ jobs: [StoreJob]) throws -> GroupResult {
        let transaction = try begin()
        let results = jobs.map { job in
            Result { try transaction.inSavepoint { try job(transaction) } }
        }
        return try end(transaction, results)
    }

    func begin() throws -> ModelTransaction {
        let transaction = ModelTransaction(
            state: store.disk, writerState: writerState, rules: rules)
        try transaction.begin()
        if rules.mutation == .acceptedApart {
            transaction.addCounters(accepted: uncounted.accepted, duplicates: uncounted.duplicates)
        }
        return transaction
    }

    func end(_ transaction: ModelTransaction, _ results: [Result<Void, any Error>]) throws
        -> GroupResult
    {
        transaction.finish()
        do {
            try store.keep(transaction)
        } catch {
            if rules.mutation == .keepCountersAfterFailedCommit {
                writerState = transaction.writerState
            }
            throw error
        }
        writerState = transaction.writerState
        uncounted = (writerState.accepted, writerState.duplicates)
        var news = CommitEvents(kinds: writerState.kinds, soonest: writerState.soonest)
        (news.recorded, news.moved) = (writerState.recorded, writerState.moved)
        return GroupResult(results: results, news: news)
    }

    package func read<T>(_ body: (any DeviceTransaction) throws -> T) throws -> T {
        try body(ModelTransaction(state: store.disk, writerState: writerState, rules: rules))
    }
}

extension DeviceState {
    /// Every row, as `GRDBStore` writes it.
    var dump: [String] {
        entries.dump + effects.map { "effect|\($0)" } + channels.dump + forms.dump
            + reminders.dump
    }
}
