package import GRDB
package import RepriseCore

/// An entry that is in flight at a batch handler.
package struct EntryDelivery: Sendable {
    /// The acknowledgement of a batch handler.
    package enum Ending: Sendable {
        /// It was handled.
        case applied
        /// The error that a handler would have thrown.
        case failed(any Error)
        /// It ended with this outcome, for this reason, which is kept.
        case ended(Outcome, reason: String)
        /// Requeued, because its receiver is gone: it is dispatched again as soon as its gate is
        /// open, before those recorded after it.
        ///
        /// In doubt is one whose effect may have taken place, as when its process had ended: if its
        /// bound comes before its next dispatch, it ends as `unconfirmed`.
        case back(reason: String, isInDoubt: Bool = false)
        /// The feature counts its attempts itself: it is dispatched again after this time, and the
        /// writes alongside are committed.
        case again(after: Duration, reason: String)
        /// Its time has not come: it is dispatched again after this time, even if the process ends
        /// meanwhile, and counts no failure. The writes alongside are committed.
        case postponed(by: Duration, reason: String)
    }

    package let entry: Entry
    /// Asked when the receiver looks at it, which may be a while after its dispatch.
    private let overtakes: @Sendable () -> Bool
    private let returned:
        @Sendable (Ending, (@Sendable (Database) throws -> Void)?, (@Sendable () -> Void)?) -> Void

    init(
        entry: Entry, mayOvertake: @escaping @Sendable () -> Bool,
        returned:
            @escaping @Sendable (
                Ending, (@Sendable (Database) throws -> Void)?, (@Sendable () -> Void)?
            ) -> Void
    ) {
        self.entry = entry
        overtakes = mayOvertake
        self.returned = returned
    }

    /// Whether entries recorded before it may still wait: its bound released it behind a closed
    /// gate, or its gate has closed since it was dispatched.
    ///
    /// A receiver that needs the order of recording requeues it behind a closed gate.
    package var mayOvertake: Bool { overtakes() }

    /// Acknowledges the entry; only the first acknowledgement counts.
    ///
    /// - Parameters:
    ///   - error: nil if it was handled; otherwise the error that a handler would throw.
    ///   - alongside: written in the transaction that ends it, if this ends it. It must fail only
    ///     with the disk.
    package func end(
        _ error: (any Error)? = nil, alongside: (@Sendable (Database) throws -> Void)? = nil
    ) {
        end(as: error.map { .failed($0) } ?? .applied, alongside: alongside)
    }

    /// Acknowledges the entry; only the first acknowledgement counts.
    ///
    /// - Parameters:
    ///   - ending: how it ended, or that it did not.
    ///   - alongside: written in the transaction that ends it, if this ends it. It must fail only
    ///     with the disk.
    ///   - written: called once that is durable; never, if the journal is closed or lost before.
    package func end(
        as ending: Ending, alongside: (@Sendable (Database) throws -> Void)? = nil,
        written: (@Sendable () -> Void)? = nil
    ) {
        returned(ending, alongside, written)
    }
}
