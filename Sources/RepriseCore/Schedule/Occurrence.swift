/// One time that a schedule rings.
public struct Occurrence: Hashable, Sendable {
    /// The wall clock's time that the rule names, before quiet hours and a clock that is set move
    /// it: its identity, as in `2026-11-21T07:30`.
    public var local: String
    /// When it rings.
    public var at: WallTime
    /// The wall clock's date when it rings.
    public var date: LocalDate
    /// The wall clock's time when it rings.
    public var time: TimeOfDay

    /// Describes an occurrence.
    public init(local: String, at: WallTime, date: LocalDate, time: TimeOfDay) {
        self.local = local
        self.at = at
        self.date = date
        self.time = time
    }
}

extension Occurrence {
    /// Minutes of a wall clock as they are written.
    package static func text(minutes: Int64) -> String {
        let day = minutes.floored(by: 1_440)
        let rest = Int(minutes - day * 1_440)
        return "\(LocalDate(number: day))T\(TimeOfDay(rest / 60, rest % 60))"
    }

    /// The minutes of a wall clock that ``local`` names; nil if it names none.
    package static func minutes(_ local: String) -> Int64? {
        guard local.utf8.count == 16, local.utf8.dropFirst(10).first == UInt8(ascii: "T"),
            let date = LocalDate(local.prefix(10)), date.exists,
            let time = TimeOfDay(local.suffix(5)), time.exists
        else { return nil }
        return date.number * 1_440 + time.minutes
    }
}
