public import Foundation

/// The occurrences of a schedule in ascending order, computed lazily.
///
/// A schedule without an end has them until the year 9999: use `prefix`.
public struct Occurrences: Sequence, Sendable {
    fileprivate let cursor: OccurrenceCursor?

    /// Starts at the first.
    public func makeIterator() -> Iterator { Iterator(cursor: cursor) }

    /// Finds one after the other.
    public struct Iterator: IteratorProtocol, Sendable {
        fileprivate var cursor: OccurrenceCursor?

        /// The next; nil: the schedule ends there.
        public mutating func next() -> Occurrence? { cursor?.ring()?.occurrence }
    }
}

extension Schedule {
    /// The occurrences after a moment.
    ///
    /// - Parameters:
    ///   - moment: occurrences up to this moment are skipped.
    ///   - device: the zone of ``Zone/device``.
    /// - Returns: none for a schedule that ``check()`` refuses.
    public func occurrences(after moment: WallTime, in device: TimeZone) -> Occurrences {
        guard (try? check()) != nil, let zone = zone(on: device) else {
            return Occurrences(cursor: nil)
        }
        return Occurrences(
            cursor: OccurrenceCursor(ScheduleRule(self), clock: ZoneClock(zone), after: moment))
    }

    /// The zone of its wall clock; nil: unknown name.
    package func zone(on device: TimeZone) -> TimeZone? {
        switch zone {
        case .device: device
        case .fixed(let name): TimeZone(identifier: name)
        }
    }
}
