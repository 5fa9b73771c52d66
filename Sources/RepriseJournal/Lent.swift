package import GRDB
package import RepriseCore

/// An entry that is with a handler of batches.
package struct Lent: Sendable {
    /// What a handler of batches can say of an entry.
    package enum Ending: Sendable {
        /// It was handled.
        case applied
        /// A handler would have thrown this.
        case failed(any Error)
        /// It ended in this way, for this reason, which is kept.
        case ended(Outcome, reason: String)
        /// What it was handed to is gone: it is handed over again as soon as its gate is open, and
        /// before those recorded after it.
        ///
        /// In doubt is one whose effect may have taken place, as when its process had ended: if its
        /// time is up before it comes again, it ends as `unconfirmed`.
        case back(reason: String, isInDoubt: Bool = false)
        /// The door counts its attempts itself: it is handed over again after this time, and what
        /// was to be written alongside is written.
        case again(after: Duration, reason: String)
        /// Its time has not come: it is handed over again after this time, whatever happens to the
        /// process, and that was no failure.
        case postponed(by: Duration, reason: String)
    }

    package let entry: Entry
    /// Its gate is closed: it comes because its time is up, and before others that were recorded
    /// before it.
    package let isReleased: Bool
    private let returned:
        @Sendable (Ending, (@Sendable (Database) throws -> Void)?, (@Sendable () -> Void)?) -> Void

    init(
        entry: Entry, isReleased: Bool,
        returned:
            @escaping @Sendable (
                Ending, (@Sendable (Database) throws -> Void)?, (@Sendable () -> Void)?
            ) -> Void
    ) {
        self.entry = entry
        self.isReleased = isReleased
        self.returned = returned
    }

    /// Says what became of it; only the first word counts.
    ///
    /// - Parameters:
    ///   - error: nil if it was handled; else what a handler would throw.
    ///   - alongside: written in the transaction that ends it, if that ends it. It must not fail
    ///     but for the disk.
    package func end(
        _ error: (any Error)? = nil, alongside: (@Sendable (Database) throws -> Void)? = nil
    ) {
        end(as: error.map { .failed($0) } ?? .applied, alongside: alongside)
    }

    /// Says what became of it; only the first word counts.
    ///
    /// - Parameters:
    ///   - ending: how it ended, or that it did not.
    ///   - alongside: written in the transaction that ends it, if that ends it. It must not fail
    ///     but for the disk.
    ///   - written: called once that is durable; never, if the journal is closed or lost before.
    package func end(
        as ending: Ending, alongside: (@Sendable (Database) throws -> Void)? = nil,
        written: (@Sendable () -> Void)? = nil
    ) {
        returned(ending, alongside, written)
    }
}
