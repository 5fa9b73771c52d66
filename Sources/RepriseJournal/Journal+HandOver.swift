public import GRDB
public import RepriseCore

/// Readiness and handlers.
extension Journal {
    /// Says that a condition holds now.
    ///
    /// Entries whose kind waited only for it are handed over.
    public func open(_ readiness: Readiness) async { driver.open(readiness) }

    /// Says that a condition holds no longer.
    ///
    /// What is in hand stays in hand.
    public func close(_ readiness: Readiness) async { driver.close(readiness) }

    /// Sets the handler of a kind.
    ///
    /// An entry is finished when it returns; when it throws the entry comes again.
    ///
    /// Throw a ``RepriseCore/HandOverFailure`` to say more than "try again".
    ///
    /// - Parameters:
    ///   - kind: the name of a kind declared at opening.
    ///   - isApplied: whether the effect of an entry has taken place, for an app that stores the
    ///     entry's id with its own effect; asked before every hand-over but the first. With it the
    ///     effect is exactly once.
    ///   - handler: is called for at most `parallel` entries at the same time.
    public func handle(
        _ kind: String, isApplied: (@Sendable (EntryID) async throws -> Bool)? = nil,
        _ handler: @escaping @Sendable (Entry) async throws -> Void
    ) async {
        guard let rules = store.kinds[kind] else { preconditionFailure(Self.undeclared(kind)) }
        if rules.onInterruption == .never, isApplied == nil {
            // Where it cannot be written now, the turn that meets such an entry does the same.
            try? await writer.write { [store] db in try store.endInterrupted(kind: kind, in: db) }
        }
        driver.handle(kind, by: .effect(isApplied: isApplied, body: handler))
    }

    /// Sets a handler whose effect is in the journal's own transaction: the effect is exactly once.
    ///
    /// Several entries may share a commit, each in a savepoint of its own. The handler must not
    /// wait for anything.
    ///
    /// - Parameters:
    ///   - kind: the name of a kind declared at opening.
    ///   - handler: writes the effect; what it wrote is undone when it throws, and the entry comes
    ///     again.
    public func handle(
        _ kind: String, inTransaction handler: @escaping @Sendable (Database, Entry) throws -> Void
    ) async {
        precondition(store.kinds[kind] != nil, Self.undeclared(kind))
        driver.handle(kind, by: .transaction(handler))
    }

    /// Sets a handler that is given what was taken together, in the order recorded.
    ///
    /// For a kind with a wide ``RepriseCore/EntryKind/laneWindow``: handlers of their own for each
    /// entry would run in no order.
    ///
    /// - Parameters:
    ///   - kind: the name of a kind declared at opening, which does not forbid a second try.
    ///   - handler: must not wait; it ends each entry later, with ``Lent/end(_:alongside:)``.
    package func handleBatches(
        of kind: String, _ handler: @escaping @Sendable ([Lent]) -> Void
    ) {
        precondition(store.kinds[kind] != nil, Self.undeclared(kind))
        driver.handle(kind, by: .batch(handler))
    }

    private static func undeclared(_ kind: String) -> String {
        "Journal.handle: declare the kind \(kind) in Journal.open first"
    }
}
