import Foundation
public import RepriseCore

/// The hours of each day in which a person must not be disturbed, by a wall clock in a zone of
/// their own.
///
/// From `start` up to and without `end`; if `end` is the earlier one they pass midnight. In the
/// night of a clock change they begin and end by the wall clock, so they may last an hour more or
/// less.
public struct QuietHours: Hashable, Sendable {
    /// Minutes after midnight: 0 to 1,439.
    public let start: Int
    /// Minutes after midnight: 0 to 1,439, another one than ``start``.
    public let end: Int
    /// The name of a time zone: `Europe/Berlin`.
    public let zone: String

    /// Makes quiet hours.
    ///
    /// - Parameters:
    ///   - start: minutes after midnight.
    ///   - end: minutes after midnight.
    ///   - zone: a name of the IANA time zone database, at most 64 bytes.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed` for minutes outside a day, for hours of
    ///   no length, for an unknown zone.
    public init(start: Int, end: Int, zone: String) throws {
        guard (0..<1_440).contains(start), (0..<1_440).contains(end), start != end else {
            throw RepriseError(
                .malformed, "Quiet hours begin and end at two different minutes of a day.",
                remedy: "They look like 22:00 and 07:00.")
        }
        guard zone.utf8.count <= 64, TimeZone(identifier: zone) != nil else {
            throw RepriseError(
                .malformed, "The time zone of quiet hours is not known.",
                remedy: "It looks like Europe/Berlin.")
        }
        self.start = start
        self.end = end
        self.zone = zone
    }

    /// Makes quiet hours that were checked before, perhaps on a machine that knows other zones.
    package init(unchecked start: Int, to end: Int, zone: String) {
        (self.start, self.end, self.zone) = (start, end, zone)
    }

    /// Makes quiet hours from wall clock times: `22:00`, `07:00`.
    ///
    /// - Parameters:
    ///   - start: hours and minutes, two digits each.
    ///   - end: hours and minutes, two digits each.
    ///   - zone: a name of the IANA time zone database.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed`.
    public init(from start: String, to end: String, zone: String) throws {
        guard let start = Self.minutes(start), let end = Self.minutes(end) else {
            throw RepriseError(
                .malformed, "A time of day has two digits for the hour and two for the minute.",
                remedy: "It looks like 22:00.")
        }
        try self.init(start: start, end: end, zone: zone)
    }

    /// Whether a moment is within them; never, if this machine no longer knows the zone.
    public func contains(_ moment: WallTime) -> Bool {
        guard let zone = TimeZone(identifier: zone) else { return false }
        let seconds = Double(moment.milliseconds) / 1_000
        let offset = zone.secondsFromGMT(for: Date(timeIntervalSince1970: seconds))
        let local = (moment.milliseconds / 1_000 + Int64(offset)) % 86_400
        let minute = Int((local + 86_400) % 86_400) / 60
        return start < end
            ? (start..<end).contains(minute) : minute >= start || minute < end
    }

    /// When they are over that a moment is within; nil for one that is not within them.
    ///
    /// By the clock rules of reminders: an end that the clock skips is as much later as the clock
    /// is set forward; of one that it shows twice the first counts.
    package func end(after moment: WallTime) -> WallTime? {
        guard contains(moment), let zone = TimeZone(identifier: zone) else { return nil }
        let clock = ZoneClock(zone)
        let seconds = moment.milliseconds / 1_000
        let offset = clock.offset(at: seconds)
        let wall = seconds + offset
        var reading = wall - (wall % 86_400 + 86_400) % 86_400 + Int64(end) * 60
        if reading <= wall { reading += 86_400 }
        var end = clock.moment(reading).at
        // Within the repeated hour the first of both is over already.
        if end <= seconds { end = reading - offset }
        return moment.advanced(
            by: .milliseconds((end - seconds) * 1_000 - moment.milliseconds % 1_000))
    }

    /// The start, as a wall clock time.
    public var startText: String { Self.text(start) }

    /// The end, as a wall clock time.
    public var endText: String { Self.text(end) }

    /// A wall clock time as minutes after midnight; nil for one that is not `HH:MM`.
    package static func minutes(_ text: String) -> Int? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ $0.utf8.count == 2 }),
            parts.allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }),
            let hours = Int(parts[0]), let minutes = Int(parts[1]), hours < 24, minutes < 60
        else { return nil }
        return hours * 60 + minutes
    }

    private static func text(_ minutes: Int) -> String {
        let (hours, rest) = (minutes / 60, minutes % 60)
        return (hours < 10 ? "0" : "") + "\(hours)" + (rest < 10 ? ":0" : ":") + "\(rest)"
    }
}
