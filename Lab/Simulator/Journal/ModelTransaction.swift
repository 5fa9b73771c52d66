package import RepriseCore
import RepriseJournal

/// All that a device keeps on its disk, as values: a copy is a snapshot.
package struct DeviceState {
    @CopyOnWrite package var entries = EntryModel()
    package var effects: [String] = []
    @CopyOnWrite package var channels = ChannelsModel()
    @CopyOnWrite package var forms = FormsModel()
    @CopyOnWrite package var reminders = RemindersModel()

    package init() {}
}

/// What holds for all transactions of one opening.
package final class ModelRules {
    let kinds: [String: EntryKind]
    /// Their names, sorted.
    let names: [String]
    let families: KindFamilies
    let clock: any Timekeeper
    let retention: Duration
    let pendingLimit: Int
    let jitter: () -> Double
    let mutation: Mutation?
    var incarnation: Int64 = 0

    package init(
        kinds: [EntryKind], clock: any Timekeeper, settings: StoreSettings, mutation: Mutation?,
        jitter: @escaping () -> Double
    ) {
        self.kinds = Dictionary(kinds.map { ($0.name, $0) }) { first, _ in first }
        names = kinds.map(\.name).sorted()
        families = KindFamilies(kinds)
        self.clock = clock
        retention = settings.retention
        pendingLimit = settings.pendingLimit
        self.mutation = mutation
        self.jitter = jitter
    }
}

/// A transaction on the model; `ModelStore` keeps the state if it commits.
///
/// Each feature extends it in a file of its own.
package final class ModelTransaction {
    package var state: DeviceState
    package var writerState: ModelWriterState
    let rules: ModelRules

    package init(state: DeviceState, writerState: ModelWriterState, rules: ModelRules) {
        self.state = state
        self.writerState = writerState
        self.rules = rules
    }

    /// A savepoint: what `body` wrote is undone when it throws.
    package func inSavepoint<T>(_ body: () throws -> T) throws -> T {
        let before = (state, writerState)
        do {
            return try body()
        } catch {
            (state, writerState) = before
            throw error
        }
    }
}

extension ModelTransaction: AppTransaction {
    package func addEffect(_ text: String) { state.effects.append(text) }
    package func effects() -> [String] { state.effects }
}

extension ModelTransaction: DeviceTransaction {}
