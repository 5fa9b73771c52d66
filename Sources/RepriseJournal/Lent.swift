package import GRDB
package import RepriseCore

/// An entry that is with a handler of batches.
package struct Lent: Sendable {
    package let entry: Entry
    private let returned: @Sendable ((any Error)?, (@Sendable (Database) throws -> Void)?) -> Void

    init(
        entry: Entry,
        returned: @escaping @Sendable ((any Error)?, (@Sendable (Database) throws -> Void)?) -> Void
    ) {
        self.entry = entry
        self.returned = returned
    }

    /// Says what became of it; only the first word counts.
    ///
    /// - Parameters:
    ///   - error: nil if it was handled; else what a handler would throw.
    ///   - alongside: written in the transaction that ends it, if that ends it. It must not fail but for the disk.
    package func end(
        _ error: (any Error)? = nil, alongside: (@Sendable (Database) throws -> Void)? = nil
    ) {
        returned(error, alongside)
    }
}
