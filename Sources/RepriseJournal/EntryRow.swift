import Foundation
import GRDB
package import RepriseCore

/// An entry as read for a dispatch, with the columns that only the journal needs.
struct EntryRow: Sendable {
    let seq: Int64
    let entry: Entry
    let failures: Int
    let interrupted: Bool
    /// Whether any attempt was interrupted: whether that one had its effect is unknown, however
    /// later ones ended.
    let wasInterrupted: Bool
    /// Its bound dispatches it whatever the state of its gate.
    let released: Bool
    let bound: WallTime?

    static let columns = """
        seq, id, kind, source, lane, recordedAt, state, incarnation, attempt, failures, interrupted, \
        bound, reason, payload, released, interruptions > 0
        """

    /// The reason why a row is unreadable.
    struct Broken: Error {
        let seq: Int64
        let why: String
    }

    /// Trusts nothing on the disk: no value of the wrong type traps.
    init(_ row: Row) throws(Broken) {
        let seq = Int64.fromDatabaseValue(row[0]) ?? 0
        func value<T: DatabaseValueConvertible>(_ column: Int) throws(Broken) -> T {
            let stored: DatabaseValue = row[column]
            guard let value = T.fromDatabaseValue(stored) else {
                throw Broken(seq: seq, why: "column \(column) cannot be read")
            }
            return value
        }
        let text: String = try value(1)
        guard let id = try? EntryID(text) else {
            throw Broken(seq: seq, why: "the id is not one")
        }
        guard let code = StateCode(rawValue: try value(6)) else {
            throw Broken(seq: seq, why: "the state is unknown")
        }
        let payload: Data = try value(13)
        let attempt: Int = try value(8)
        failures = try value(9)
        let counts = 0...Int(Int32.max)
        guard payload.count <= JournalLimits.payloadBytes, counts.contains(attempt),
            counts.contains(failures)
        else {
            throw Broken(seq: seq, why: "a number is out of its bounds")
        }
        self.seq = seq
        interrupted = try value(10)
        wasInterrupted = try value(15)
        released = try value(14)
        bound = Int64.fromDatabaseValue(row[11]).map { WallTime(milliseconds: $0) }
        entry = Entry(
            id: id, kind: try value(2), source: try value(3),
            payload: [UInt8](payload), partitionKey: String.fromDatabaseValue(row[4]),
            recordedAt: WallTime(milliseconds: try value(5)), attempt: attempt,
            state: Self.state(code, incarnation: Int64.fromDatabaseValue(row[7])),
            reason: String.fromDatabaseValue(row[12]))
    }

    private static func state(_ code: StateCode, incarnation: Int64?) -> EntryState {
        if let outcome = code.outcome { return .finished(outcome) }
        return code == .inFlight ? .dispatched(incarnation: incarnation ?? 0) : .pending
    }
}

extension EntryRow {
    private init(dispatching row: EntryRow, incarnation: Int64, predecessor: EntryID?) {
        let old = row.entry
        seq = row.seq
        failures = row.failures
        interrupted = row.interrupted
        wasInterrupted = row.wasInterrupted
        released = row.released
        bound = row.bound
        entry = Entry(
            id: old.id, kind: old.kind, source: old.source, payload: old.payload,
            partitionKey: old.partitionKey,
            recordedAt: old.recordedAt, attempt: old.attempt + 1,
            state: .dispatched(incarnation: incarnation), reason: old.reason,
            predecessor: predecessor)
    }

    /// The entry as a handler sees it.
    func dispatched(by incarnation: Int64, predecessor: EntryID? = nil) -> EntryRow {
        EntryRow(dispatching: self, incarnation: incarnation, predecessor: predecessor)
    }
}

extension Entry {
    /// Every dispatch but the first: a failed or interrupted one may have had its effect.
    package var mayHaveTakenEffect: Bool { attempt > 1 }
}
