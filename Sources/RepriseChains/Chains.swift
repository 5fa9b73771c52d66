public import RepriseCore
package import RepriseJournal

/// The door for chains: durable work in steps, which goes on where it was when the process died.
///
/// The facade makes one; see `Reprise`.
public final class Chains: Sendable {
    let journal: Journal
    let configuration: Configuration

    /// What can be set about chains.
    public struct Configuration: Sendable {
        package var timekeeper: any Timekeeper = SystemTimekeeper()
        /// Draws from 0..<1.
        package var jitter: @Sendable () -> Double = { Double.random(in: 0..<1) }

        /// The defaults.
        public init() {}

        /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration`.
        package func check() throws {}
    }

    /// The kinds of entries that this door records, for `Journal.open`.
    package static func kinds(_ configuration: Configuration = Configuration()) -> [EntryKind] {
        [EntryKind(kind, attemptLimit: .max, parallel: 8)]
    }

    /// The kind of entry that stands for one task that should run.
    package static let kind = "chains"

    /// Makes the door over a journal that was opened with ``kinds(_:)`` and ``schema``.
    package init(journal: Journal, configuration: Configuration = Configuration()) {
        self.journal = journal
        self.configuration = configuration
    }
}
