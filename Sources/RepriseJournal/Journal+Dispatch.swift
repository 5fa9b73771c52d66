public import GRDB
public import RepriseCore

/// Readiness and handlers.
extension Journal {
    /// Sets a condition: it holds now.
    ///
    /// Entries whose kind waited only for it are dispatched.
    public func setReady(_ readiness: Readiness) async { driver.setReady(readiness) }

    /// Clears a condition: it holds no longer.
    ///
    /// Entries in flight stay in flight.
    public func setNotReady(_ readiness: Readiness) async { driver.setNotReady(readiness) }

    /// Sets the handler of a kind.
    ///
    /// An entry is finished when the handler returns; when it throws, the entry is dispatched
    /// again.
    ///
    /// Throw a ``RepriseCore/DispatchFailure`` for anything but "try again".
    ///
    /// - Parameters:
    ///   - kind: the name of a kind declared at opening.
    ///   - isApplied: whether the effect of an entry has taken place, for an app that stores the
    ///     entry's id with its own effect; called before every dispatch but the first. It makes the
    ///     effect exactly once.
    ///   - handler: called for at most `parallel` entries at once.
    public func handle(
        _ kind: String, isApplied: (@Sendable (EntryID) async throws -> Bool)? = nil,
        _ handler: @escaping @Sendable (Entry) async throws -> Void
    ) async {
        guard let rules = store.kinds[kind] else { preconditionFailure(Self.undeclared(kind)) }
        if rules.onInterruption == .never, isApplied == nil {
            // If it cannot be written now, the batch that meets such an entry does the same.
            try? await writer.write { [store] db in try store.endInterrupted(kind: kind, in: db) }
        }
        driver.handle(kind, by: .effect(isApplied: isApplied, body: handler))
    }

    /// Sets a handler whose effect is in the journal's own transaction: the effect is exactly once.
    ///
    /// Several entries may share a commit, each in a savepoint of its own. The handler must not
    /// wait.
    ///
    /// - Parameters:
    ///   - kind: the name of a kind declared at opening.
    ///   - handler: writes the effect; when it throws, its writes are rolled back and the entry is
    ///     dispatched again.
    public func handle(
        _ kind: String, inTransaction handler: @escaping @Sendable (Database, Entry) throws -> Void
    ) async {
        precondition(store.kinds[kind] != nil, Self.undeclared(kind))
        driver.handle(kind, by: .transaction(handler))
    }

    /// Sets a handler that gets entries in batches, in the order recorded.
    ///
    /// For a kind with a wide ``RepriseCore/EntryKind/partitionWindow``: separate handlers for each
    /// entry would run in no order.
    ///
    /// - Parameters:
    ///   - kind: the name of a kind declared at opening, which does not forbid a second try.
    ///   - handler: must not wait; it ends each entry later, with
    ///     ``EntryDelivery/end(_:alongside:)``.
    package func handleBatches(
        of kind: String, _ handler: @escaping @Sendable ([EntryDelivery]) -> Void
    ) {
        precondition(store.kinds[kind] != nil, Self.undeclared(kind))
        driver.handle(kind, by: .batch(handler))
    }

    private static func undeclared(_ kind: String) -> String {
        "Journal.handle: declare the kind \(kind) in Journal.open first"
    }
}
