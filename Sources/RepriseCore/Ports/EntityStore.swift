/// The app's own store, as far as routes need it.
public protocol EntityStore: Sendable {
    /// Returns when the store is loaded and can be queried.
    ///
    /// Dependent work waits until then. If it throws, it is called again, with a backoff, until it
    /// succeeds.
    func load() async throws

    /// Looks an entity up, whatever its state; called only after ``load()`` has returned.
    ///
    /// - Parameter route: the destination. Its part can be ignored.
    /// - Returns: the store's finding.
    /// - Throws: whatever the store throws; then it is called again, with a backoff.
    func find(_ route: Route) async throws -> EntityFinding
}

/// The store's finding for an id.
public enum EntityFinding: Hashable, Sendable {
    /// The entity exists.
    case found(Entity)
    /// It was deleted: the store keeps a tombstone.
    case deleted(when: WallTime?)
    /// Another entity has replaced it.
    case replaced(by: Entity)
    /// The store has never known it.
    case unknown
}
