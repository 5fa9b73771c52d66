import RepriseCore

/// The journal's entries as values: what the tables hold, without a database.
///
/// The rules are written a second time, independently of the SQL; tier (c) compares the two.
package struct EntryModel {
    enum State: Int {
        case ready = 0
        case queued, delayed, inFlight
        case applied = 10
        case expired, superseded, dead, unconfirmed, discarded

        /// It waits for something; nobody has it.
        var waits: Bool { rawValue < State.inFlight.rawValue }
        var hasEnded: Bool { rawValue >= State.applied.rawValue }

        var outcome: Outcome? {
            switch self {
            case .ready, .queued, .delayed, .inFlight: nil
            case .applied: .applied
            case .expired: .expired
            case .superseded: .superseded
            case .dead, .discarded: .dead
            case .unconfirmed: .unconfirmed
            }
        }

        init(_ outcome: Outcome) {
            switch outcome {
            case .applied: self = .applied
            case .expired: self = .expired
            case .superseded: self = .superseded
            case .dead: self = .dead
            case .unconfirmed: self = .unconfirmed
            }
        }
    }

    /// What of an entry never changes; shared by all copies of its row.
    final class Content {
        let new: NewEntry
        let recordedAt: WallTime

        init(_ new: NewEntry, recordedAt: WallTime) {
            self.new = new
            self.recordedAt = recordedAt
        }
    }

    struct Row {
        let seq: Int64
        let content: Content
        var state: State
        var incarnation: Int64?
        var attempt = 0
        var failures = 0
        var interruptions = 0
        var interrupted = false
        var released = false
        var due: Int64?
        var bound: Int64?
        var reason: String?
        /// How far the calendar was moved since it was recorded, in milliseconds.
        var moved: Int64 = 0

        var recordedAt: WallTime {
            WallTime(milliseconds: content.recordedAt.milliseconds + moved)
        }
        var kind: String { content.new.kind }
        var partitionKey: String? { content.new.partitionKey }
    }

    var incarnation: Int64 = 0
    var accepted: Int64 = 0
    var duplicates: Int64 = 0
    var clockReading: ClockReading?
    var doubt: Duration?
    /// What was removed for its age, by outcome in the order of `Outcome.allCases`.
    var retired = [Int64](repeating: 0, count: Outcome.allCases.count)
    /// By rising `seq`.
    var rows: [Row] = []

    package init() {}

    func index(of id: EntryID) -> Int? { rows.firstIndex { $0.content.new.id == id } }

    func index(of seq: Int64) -> Int? {
        var (low, high) = (0, rows.count)
        while low < high {
            let middle = (low + high) / 2
            if rows[middle].seq < seq { low = middle + 1 } else { high = middle }
        }
        return low < rows.count && rows[low].seq == seq ? low : nil
    }

    /// How many have not ended.
    var pending: Int { rows.reduce(0) { $0 + ($1.state.hasEnded ? 0 : 1) } }

    var ledger: LedgerSum {
        var sum = LedgerSum()
        (sum.accepted, sum.duplicates) = (accepted, duplicates)
        for (outcome, count) in zip(Outcome.allCases, retired) { sum.outcomes[outcome] = count }
        for row in rows {
            if let outcome = row.state.outcome {
                sum.outcomes[outcome, default: 0] += 1
            } else {
                sum.pending += 1
            }
        }
        return sum
    }

    func entry(_ row: Row, after predecessor: EntryID? = nil) -> Entry {
        let state: EntryState =
            row.state.outcome.map { .finished($0) }
            ?? (row.state == .inFlight ? .dispatched(incarnation: row.incarnation ?? 0) : .pending)
        let new = row.content.new
        return Entry(
            id: new.id, kind: new.kind, source: new.source, payload: new.payload,
            partitionKey: new.partitionKey,
            recordedAt: row.recordedAt, attempt: row.attempt, state: state,
            reason: row.reason, predecessor: predecessor)
    }

    /// Every row as `GRDBStore` writes it.
    var dump: [String] {
        var lines = [
            "journal|\(incarnation)|\(accepted)|\(duplicates)|"
                + "\(Self.text(clockReading?.wall.milliseconds))|"
                + "\(Self.text(clockReading?.uptime.milliseconds))|\(clockReading?.boot ?? "-")|"
                + "\(doubt == nil ? 0 : 1)|\(doubt?.milliseconds ?? 0)"
        ]
        for (outcome, count) in zip(Outcome.allCases, retired) where count > 0 {
            lines.append("retired|\(outcome.rawValue)|\(count)")
        }
        for row in rows {
            lines.append(
                "entry|\(row.seq)|\(row.content.new.id)|\(row.kind)|\(row.content.new.source)|"
                    + "\(row.partitionKey ?? "-")|\(row.recordedAt.milliseconds)|"
                    + "\(row.state.rawValue)|\(Self.text(row.incarnation))|\(row.attempt)|"
                    + "\(row.failures)|\(row.interruptions)|\(row.interrupted ? 1 : 0)|"
                    + "\(row.released ? 1 : 0)|\(Self.text(row.due))|\(Self.text(row.bound))|"
                    + "\(row.reason ?? "-")|\(row.content.new.payload)")
        }
        return lines
    }

    private static func text(_ number: Int64?) -> String { number.map { "\($0)" } ?? "-" }
}

/// What the process that has the model open knows without asking the disk; goes back when a commit
/// fails.
package struct ModelWriterState {
    var clock: WallClockGuard
    var sighted: Duration
    var pending: Int
    var now: WallTime
    // Of this transaction alone:
    var accepted: Int64 = 0
    var duplicates: Int64 = 0
    var kinds: Set<String> = []
    var soonest: WallTime?
    /// As in `CommitEvents`.
    var recorded: [String: Int64] = [:]
    var moved: Duration = .zero

    mutating func beginTransaction() {
        (accepted, duplicates, soonest, moved) = (0, 0, nil, .zero)
        if !recorded.isEmpty { recorded = [:] }
        if !kinds.isEmpty { kinds = [] }
    }

    mutating func due(_ moment: WallTime) { soonest = min(soonest ?? moment, moment) }
}
