import Synchronization

/// Sets the app's notification categories and keeps those of others: of the app's own code, of
/// other libraries.
///
/// The system's call replaces all categories, so those present are read before. Reprise's are those
/// that the last call has set, and any of the same id: a push names a category by its id alone, so
/// an id cannot have a prefix of ours.
package final class CategoryRegistry: Sendable {
    private struct State {
        /// The ids that the last call has set.
        var ours: Set<String> = []
        var last: Task<Void, Never>?
    }

    private let state = Mutex(State())

    package init() {}

    /// What stays of the present categories, and what is set.
    ///
    /// - Parameters:
    ///   - present: the ids of the system's.
    ///   - former: the ids that the last call has set.
    ///   - new: what is to be set; of several with one id the last counts.
    /// - Returns: the ids of present ones that stay, and the categories to add, in their order.
    package static func merge(
        _ present: [String], former: Set<String>, new: [NotificationCategory]
    ) -> (kept: [String], set: [NotificationCategory]) {
        var places: [String: Int] = [:]
        for (place, category) in new.enumerated() { places[category.id] = place }
        let set = new.enumerated().filter { places[$1.id] == $0 }.map(\.element)
        let kept = present.filter { places[$0] == nil && !former.contains($0) }
        return (kept, set)
    }

    /// Sets them; calls of the same registry follow each other.
    ///
    /// - Parameters:
    ///   - categories: replace those that the last call has set.
    ///   - read: the system's categories.
    ///   - id: the id of one.
    ///   - write: replaces the system's with those that stay and those that are set.
    package func set<Category>(
        _ categories: [NotificationCategory],
        read: @escaping @Sendable () async -> sending [Category],
        id: @escaping @Sendable (Category) -> String,
        write: @escaping @Sendable (_ kept: [Category], _ set: [NotificationCategory]) -> Void
    ) async {
        let turn = state.withLock { state in
            let task = Task { [before = state.last] in
                await before?.value
                let present = await read()
                let former = self.state.withLock { $0.ours }
                let (kept, set) = Self.merge(present.map(id), former: former, new: categories)
                self.state.withLock { $0.ours = Set(set.map(\.id)) }
                write(present.filter { kept.contains(id($0)) }, set)
            }
            state.last = task
            return task
        }
        await turn.value
    }
}
