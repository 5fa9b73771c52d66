package import RepriseCore

/// A chain's rows in a journal, for diagnostics.
///
/// Unreadable fields of a damaged row are nil, empty or 0, so that the rest can still be shown.
package struct ChainRecord: Sendable {
    package var seq: Int64
    package var id: String
    package var definition: String
    package var version: Int64
    package var hash: String
    package var name: String?
    /// Nil: a number that this version does not know.
    package var state: ChainState?
    package var reason: String?
    /// The beginning of it, as JSON, and its length.
    package var input: StoredContent
    package var taskCount: Int64
    package var doneCount: Int64
    /// What the first waiting task waits for: paused, parked, conditions, readiness:NAME,
    /// entry:KIND.
    package var hold: String?
    /// 1 network, 2 unmetered, 4 charging.
    package var needs: Int64
    package var needsBytes: Int64
    package var startedAt: WallTime?
    package var due: WallTime?
    package var deadline: WallTime?
    package var endedAt: WallTime?
    package var leaves: WallTime?
}

/// A task of a chain, as ``ChainRecord``.
package struct ChainTaskRecord: Sendable {
    package var place: Int64
    package var step: Int64
    package var name: String
    package var worker: String?
    package var state: TaskState?
    package var compensation: CompensationState?
    package var hold: String?
    /// Of all intents, the one under way included.
    package var attempts: Int64
    package var failures: Int64
    /// In flight to its worker.
    package var isInFlight: Bool
    /// When the next attempt is made.
    package var nextAttempt: WallTime?
    package var startedAt: WallTime?
    package var endedAt: WallTime?
    package var deadline: WallTime?
    package var input: StoredContent
    /// The input of its compensation.
    package var compensationInput: StoredContent
    package var output: StoredContent
    package var checkpoint: StoredContent
    package var progress: Double?
    package var note: String?
    /// Why it failed, or its last attempt did.
    package var error: String?
}

/// A line of a chain's log.
package struct ChainLogRecord: Sendable {
    package var at: WallTime?
    package var task: String?
    package var line: String
}

/// Bytes of a row, or of a file that it names.
package struct StoredContent: Sendable {
    /// The requested part of the bytes; nil: none, or in ``file``.
    package var bytes: [UInt8]?
    /// The full length.
    package var count: Int64 = 0
    /// The name of the file in `outputs/`, and the SHA-256 that it should have.
    package var file: String?
    package var hash: [UInt8]?
    /// Why the file could not be read.
    package var fault: String?

    package init() {}
}

/// The chains, and their number in each state.
package struct ChainOverview: Sendable {
    package var chains: [ChainRecord] = []
    package var counts: [(state: ChainState?, count: Int64)] = []

    package init() {}
}
