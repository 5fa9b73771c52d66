import Foundation
import RepriseCore

/// A place and its clock: the rules of its zone as they are written, not as a database has them.
struct SimulatedPlace {
    let name: String
    let zone: TimeZone
    /// Its two offsets in seconds, or the one.
    private let offsets: [Int64]
    /// When the clock is set, in seconds since 1970, and the offset from then on.
    private let changes: [(at: Int64, offset: Int64)]

    /// - Returns: nil where the system does not know the place.
    init?(_ name: String, always offset: Int64) {
        self.init(name, [offset], [])
    }

    private init?(_ name: String, _ offsets: [Int64], _ changes: [(at: Int64, offset: Int64)]) {
        guard let zone = TimeZone(identifier: name) else { return nil }
        (self.name, self.zone, self.offsets, self.changes) = (name, zone, offsets, changes)
    }

    /// Those whose clock is set: in Europe, in America, and by half an hour on Lord Howe Island.
    static let changing: [SimulatedPlace] = [
        rule("Europe/Berlin", 3_600, 7_200) { year in
            // At 01:00 UTC.
            (sunday(-1, of: 3, year) * 86_400 + 3_600, sunday(-1, of: 10, year) * 86_400 + 3_600)
        },
        rule("America/New_York", -18_000, -14_400) { year in
            // At 02:00 of the clock before.
            (sunday(2, of: 3, year) * 86_400 + 25_200, sunday(1, of: 11, year) * 86_400 + 21_600)
        },
        rule("Australia/Lord_Howe", 37_800, 39_600) { year in
            // At 02:00 of the clock before.
            (sunday(1, of: 10, year) * 86_400 - 30_600, sunday(1, of: 4, year) * 86_400 - 32_400)
        },
    ].compactMap(\.self)

    /// `changes`: when summer begins and when it ends, in seconds since 1970.
    private static func rule(
        _ name: String, _ winter: Int64, _ summer: Int64,
        _ changes: (_ year: Int) -> (begins: Int64, ends: Int64)
    ) -> SimulatedPlace? {
        // By the rules of 2008; no calendar is set farther.
        let all = (2_008...2_080).flatMap { year -> [(at: Int64, offset: Int64)] in
            let (begins, ends) = changes(year)
            return [(at: begins, offset: summer), (at: ends, offset: winter)]
        }
        return SimulatedPlace(name, [winter, summer], all.sorted { $0.at < $1.at })
    }

    /// The nth Sunday of a month before December; -1: the last one.
    private static func sunday(_ number: Int64, of month: Int, _ year: Int) -> Int64 {
        let first = SimulatedCalendar.day(year, month, 1)
        let after = SimulatedCalendar.day(year, month + 1, 1)
        return number > 0
            ? first + Int64(7 - SimulatedCalendar.weekday(first)) + (number - 1) * 7
            : after - 1 - Int64(SimulatedCalendar.weekday(after - 1) % 7)
    }

    /// When the clock is set in a year.
    func changes(in year: Int) -> [Int64] {
        let (from, to) = (SimulatedCalendar.day(year, 1, 1), SimulatedCalendar.day(year + 1, 1, 1))
        return changes.map(\.at).filter { (from * 86_400..<to * 86_400).contains($0) }
    }

    /// How far the clock is ahead of UTC.
    func offset(at seconds: Int64) -> Int64 {
        var (low, high) = (0, changes.count)
        while low < high {
            let middle = (low + high) / 2
            if changes[middle].at <= seconds { low = middle + 1 } else { high = middle }
        }
        return low == 0 ? offsets[0] : changes[low - 1].offset
    }

    /// When the clock shows this for the first time; what it passes over comes as much later as it
    /// is set forward.
    func moment(_ wall: Int64) -> Int64 {
        let shown = offsets.map { wall - $0 }.filter { $0 + offset(at: $0) == wall }
        return shown.min() ?? offsets.map { wall - $0 }.max() ?? wall
    }

    /// When it rings by quiet hours; nil: not at all.
    func audible(_ wall: Int64, _ quiet: RepriseCore.Schedule.QuietHours?) -> Int64? {
        var at = moment(wall)
        guard let quiet else { return at }
        func since(_ time: TimeOfDay, _ minute: Int64) -> Int64 {
            (minute - Int64(time.hour * 60 + time.minute) + 1_440) % 1_440
        }
        let length = since(quiet.from, Int64(quiet.to.hour * 60 + quiet.to.minute))
        for _ in 0..<3 {
            let shown = at + offset(at: at)
            let minute = SimulatedCalendar.floor(shown, by: 60) % 1_440
            guard since(quiet.from, minute) < length else { return at }
            guard quiet.then == .postpone else { return nil }
            let passed = since(quiet.to, minute)
            at = moment(SimulatedCalendar.floor(shown, by: 60) * 60 + (1_440 - passed) * 60)
        }
        return nil
    }
}
