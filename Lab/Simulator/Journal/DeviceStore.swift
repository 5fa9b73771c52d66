package import RepriseCore
package import RepriseJournal

/// What a device keeps on its disk, whichever process has it open.
///
/// Three implementations: `ModelStore` (memory), `GRDBStore` (the shipping journal),
/// `ComparedStore` (both, compared after every transaction).
package protocol DeviceStore: AnyObject {
    /// Opens it for a process: a new incarnation; what was in flight is pending again. It is closed
    /// when the process is killed.
    ///
    /// Nobody is kept out: a process that opened it before finds at its next commit that it owns it
    /// no longer.
    func open(by process: SimulatedProcess, kinds: [EntryKind]) throws -> any OpenStore
    /// The process that had it open last has died; with the power goes what was not synced.
    func crash(losingPower: Bool)
    /// Every row in a canonical form, sorted: for tier (c) and for traces.
    func dump() throws -> [String]
}

/// What a transaction is made of: each in a savepoint of its own.
package typealias StoreJob = (any DeviceTransaction) throws -> Void

/// What one commit brought.
package struct GroupResult {
    package var results: [Result<Void, any Error>]
    package var news: CommitEvents
}

/// What can be set about a store: bounds that a run can reach.
package struct StoreSettings {
    package var retention: Duration = .seconds(7 * 86_400)
    package var pendingLimit = 100_000

    package init() {}
}

/// A store as one process has it open.
package protocol OpenStore: AnyObject {
    var incarnation: Int64 { get }
    /// One transaction, each job in a savepoint of its own; durable when it returns.
    ///
    /// - Returns: how each job went, and what the hand-over has to hear of.
    /// - Throws: the `RepriseError` of the shipping journal; then nothing of it is there (after
    ///   `.diskFailed`, perhaps).
    func commit(_ jobs: [StoreJob]) throws -> GroupResult
    /// Reads what is committed.
    func read<T>(_ body: (any DeviceTransaction) throws -> T) throws -> T
}

/// What one transaction on a device's store can do: a part for each feature.
///
/// - `EntryTransaction`, `AppTransaction`: Journal/
/// - `ChannelsTransaction`: Device/
/// - `FormsTransaction`: Forms/
/// - `RemindersTransaction`: Reminders/
package protocol DeviceTransaction: EntryTransaction, AppTransaction, ChannelsTransaction,
    FormsTransaction, RemindersTransaction
{}

/// The app's own table in the journal's database, for effects that share a transaction with the
/// record of them.
package protocol AppTransaction: AnyObject {
    /// Writes down an effect; the same text twice is written twice.
    func addEffect(_ text: String) throws
    /// All effects, in the order written.
    func effects() throws -> [String]
}

/// The entries of the journal.
package protocol EntryTransaction: AnyObject {
    /// The calendar as of this transaction.
    var now: WallTime { get }
    func record(_ entry: NewEntry) throws -> Recorded
    /// Performs a turn of the hand-over.
    ///
    /// Handlers in the transaction may be called again for the same attempt, if the commit fails:
    /// they change nothing but what they write through the transaction.
    func perform(_ work: SimulatedBatch) throws -> SimulatedBatch.Outcome
    /// Ends what was interrupted of a kind that forbids a second try.
    func endInterrupted(kind: String) throws
    /// What is in flight goes back: at the end of `close`.
    func putBackInterrupted() throws
    func serverTimeReceived(_ time: WallTime) throws
    /// Ends an entry that waits, for the feature that it belongs to.
    func end(_ id: EntryID, as outcome: Outcome, reason: String?) throws -> Bool
    /// Ends all entries of some kinds and their families, in flight or not.
    func endAll(of kinds: [String], as outcome: Outcome, reason: String) throws
    /// Gives a dead letter a new start.
    func retry(_ id: EntryID) throws
    func entry(_ id: EntryID) throws -> Entry?
    func ledger() throws -> LedgerSum
}

/// A turn with all that performing it takes.
package struct SimulatedBatch {
    package typealias Transaction = (any DeviceTransaction, Entry) throws -> Void

    package struct Outcome {
        package var result = DispatchBatchResult()
        package var taken: [Taken] = []
    }

    /// An entry whose handler can start.
    package struct Taken {
        package var seq: Int64
        package var entry: Entry
        package var failures: Int
        package var isReleased: Bool
    }

    package var turn: DispatchBatch
    /// As it is when the turn is performed.
    package var gate: GateMachine
    package var transactions: [String: Transaction]
    package var asking: Set<String>
    /// What is written with the end of an entry, by its row.
    package var alongside: [Int64: StoreJob] = [:]
}
