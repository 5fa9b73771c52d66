public import Foundation
public import RepriseCore

/// The times that a schedule rings, in ascending order; each is found when it is asked for.
///
/// A schedule without an end has them until the year 9999: take as many as you need, with `prefix`.
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
    /// When it rings, from a moment on.
    ///
    /// - Parameters:
    ///   - moment: what rings then or before is passed over.
    ///   - device: what ``Zone/device`` means.
    /// - Returns: none for a schedule that ``check()`` refuses.
    public func occurrences(after moment: WallTime, in device: TimeZone) -> Occurrences {
        guard (try? check()) != nil, let zone = zone(on: device) else {
            return Occurrences(cursor: nil)
        }
        return Occurrences(
            cursor: OccurrenceCursor(ScheduleRule(self), clock: ZoneClock(zone), after: moment))
    }

    /// Whose wall clock it goes by; nil: nobody knows the place.
    func zone(on device: TimeZone) -> TimeZone? {
        switch zone {
        case .device: device
        case .fixed(let name): TimeZone(identifier: name)
        }
    }
}
