package import RepriseCore

/// Collects the store's changes while one look-up is under way.
package struct LookUpWatch: Sendable {
    private let id: String
    private var changed: Set<String> = []
    private var isAnything = false

    /// - Parameter id: of the entity that is looked up.
    package init(_ id: String) { self.id = id }

    /// These have changed; nil: anything may have.
    package mutating func changed(_ ids: Set<String>?) {
        guard let ids, changed.count + ids.count <= ReminderEngineLimits.changed else {
            isAnything = true
            return
        }
        changed.formUnion(ids)
    }

    /// Whether the answer may be older than a change of the entity or of its replacement.
    package func hasChanged(_ finding: EntityFinding) -> Bool {
        if isAnything || changed.contains(id) { return true }
        guard case .replaced(let successor) = finding else { return false }
        return changed.contains(successor.id)
    }
}
