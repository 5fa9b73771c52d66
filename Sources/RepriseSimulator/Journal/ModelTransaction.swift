package import RepriseCore
package import RepriseJournal

/// All that a device keeps on its disk, as values: a copy is a snapshot.
package struct DeviceState {
    package var entries = EntryModel()
    package var effects: [String] = []
    package var channels = ChannelsModel()
}

/// A transaction on the model; `ModelStore` keeps the state if it commits.
///
/// Each door extends it in a file of its own.
package final class ModelTransaction {
    package var state: DeviceState
    /// What the process that opened the store knows without asking the disk.
    package var books: ModelBooks

    package init(state: DeviceState, books: ModelBooks) {
        self.state = state
        self.books = books
    }

    /// A savepoint: what `body` wrote is undone when it throws.
    package func inSavepoint<T>(_ body: () throws -> T) throws -> T {
        let before = (state, books)
        do {
            return try body()
        } catch {
            (state, books) = before
            throw error
        }
    }
}

extension ModelTransaction: AppTransaction {
    package func addEffect(_ text: String) { state.effects.append(text) }
    package func effects() -> [String] { state.effects }
}

extension ModelTransaction: DeviceTransaction {}
