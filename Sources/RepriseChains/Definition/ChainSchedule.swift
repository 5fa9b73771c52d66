public import RepriseCore

/// When a chain runs again and again.
///
/// ```swift
/// let oftener = ChainSchedule.every(.seconds(6 * 3_600))
/// let nightly = ChainSchedule.calendar(Schedule(.daily, at: [TimeOfDay(3, 0)]))
/// ```
///
/// - SeeAlso: docs/chains/periodic.md.
public enum ChainSchedule: Hashable, Sendable {
    /// After so long, from the beginning of one run to that of the next: 15 minutes to 3,650 days.
    ///
    /// The first run begins one interval after the schedule was added. It counts time that passes:
    /// a calendar that is set changes nothing.
    case every(Duration)
    /// At times of the wall clock: at most 24 of a day.
    case calendar(Schedule)

    /// Looks whether it makes sense.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed`, with the remedy.
    public func check() throws {
        switch self {
        case .every(let interval):
            guard (ChainsLimits.shortestInterval...ChainsLimits.longestInterval).contains(interval)
            else {
                throw RepriseError(
                    .malformed, "A chain cannot run every \(interval).",
                    remedy: "Let it run every 15 minutes (900 seconds) to 3,650 days.")
            }
        case .calendar(let schedule): try schedule.check()
        }
    }
}

extension ChainSchedule: Codable {
    private enum Key: String, CodingKey { case every, calendar }

    /// Reads `{"every": MILLISECONDS}` or `{"calendar": …}`, a ``RepriseCore/Schedule``.
    ///
    /// - Throws: `DecodingError`.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Key.self)
        if let milliseconds = try fields.decodeIfPresent(Int64.self, forKey: .every) {
            self = .every(.milliseconds(milliseconds))
        } else {
            self = .calendar(try fields.decode(Schedule.self, forKey: .calendar))
        }
    }

    /// Writes what ``init(from:)`` reads; an interval to the millisecond.
    public func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Key.self)
        switch self {
        case .every(let interval): try fields.encode(interval.milliseconds, forKey: .every)
        case .calendar(let schedule): try fields.encode(schedule, forKey: .calendar)
        }
    }
}
