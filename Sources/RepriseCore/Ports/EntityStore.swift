/// The app's own store, as far as routes need it.
public protocol EntityStore: Sendable {
    /// Returns when the store is loaded and can be asked.
    ///
    /// What waits for it waits until then; if this throws it is called again, with a backoff, until
    /// it succeeds.
    func load() async throws

    /// Looks an entity up, whatever its state; called only after ``load()`` has returned.
    ///
    /// - Parameter route: where it should lead. Its part need not be looked at.
    /// - Returns: what is known of it.
    /// - Throws: whatever the store throws; then it is asked again, with a backoff.
    func find(_ route: Route) async throws -> EntityFinding
}

/// What a store knows about an id.
public enum EntityFinding: Hashable, Sendable {
    /// It is there.
    case found(Entity)
    /// It was there: the store has kept a tombstone.
    case deleted(when: WallTime?)
    /// Another one has taken its place.
    case replaced(by: Entity)
    /// The store has never heard of it.
    case unknown
}
