extension Schedule {
    /// A day of a month, whatever the month; ``Schedule/check()`` refuses what no month has.
    ///
    /// ```swift
    /// Schedule(.monthly(on: [.day(15), .last]), at: [TimeOfDay(9, 0)])
    /// Schedule(.monthly(on: [.nth(-1, .friday)]), at: [TimeOfDay(16, 0)])
    /// Schedule(.yearly(months: [2], on: [.dayOrLast(29)]), at: [TimeOfDay(9, 0)])
    /// ```
    public enum MonthDay: Hashable, Sendable {
        /// The day of this number: 1 to 31 from the month's start, -1 to -31 from its end.
        ///
        /// A shorter month has none, as in RFC 5545: the 31st rings in seven months of a year.
        case day(Int)
        /// The day of this number, 29 to 31, or a shorter month's last one.
        ///
        /// As `SKIP=BACKWARD` of RFC 7529.
        case dayOrLast(Int)
        /// The nth of its weekdays: 1 to 5 from the month's start, -1 to -5 from its end.
        ///
        /// A month with four of them has no fifth.
        case nth(Int, Weekday)

        /// The last day of the month.
        public static let last = MonthDay.day(-1)
    }
}

extension Schedule.MonthDay {
    /// Whether any month has it.
    var exists: Bool {
        switch self {
        case .day(let number): (1...31).contains(number) || (-31 ... -1).contains(number)
        case .dayOrLast(let number): (29...31).contains(number)
        case .nth(let number, _): (1...5).contains(number) || (-5 ... -1).contains(number)
        }
    }

    /// Whether this month has it in some year.
    func fits(_ month: Int) -> Bool {
        switch self {
        // A leap year.
        case .day: day(of: month, 2_000) != nil
        // Also the fifth in February: in a leap year that begins with it.
        case .dayOrLast, .nth: true
        }
    }

    /// Its number in a month, 1 to 31; nil if the month has no such day.
    func day(of month: Int, _ year: Int) -> Int? {
        let length = LocalDate.days(ofMonth: month, year)
        let found: Int
        switch self {
        case .day(let number): found = number > 0 ? number : length + 1 + number
        case .dayOrLast(let number): found = min(number, length)
        case .nth(let number, let weekday):
            let first = 1 + (weekday.rawValue - LocalDate(year, month, 1).weekday + 7) % 7
            let last = first + (length - first) / 7 * 7
            found = number > 0 ? first + (number - 1) * 7 : last + (number + 1) * 7
        }
        return (1...length).contains(found) ? found : nil
    }
}

extension Schedule.MonthDay: Comparable {
    /// Days before weekdays, each by its number.
    public static func < (left: Self, right: Self) -> Bool { left.order < right.order }

    private var order: (Int, Int, Int) {
        switch self {
        case .day(let number): (0, number, 0)
        case .dayOrLast(let number): (1, number, 0)
        case .nth(let number, let weekday): (2, number, weekday.rawValue)
        }
    }
}

extension Schedule.MonthDay: Codable {
    private enum Key: String, CodingKey { case day, dayOrLast, nth, weekday }

    /// Reads the format of any version.
    ///
    /// - Throws: `DecodingError`.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Key.self)
        if let number = try fields.decodeIfPresent(Int.self, forKey: .day) {
            self = .day(number)
        } else if let number = try fields.decodeIfPresent(Int.self, forKey: .dayOrLast) {
            self = .dayOrLast(number)
        } else {
            self = .nth(
                try fields.decode(Int.self, forKey: .nth),
                try fields.decode(Weekday.self, forKey: .weekday))
        }
    }

    /// Writes `{"day": …}`, `{"dayOrLast": …}` or `{"nth": …, "weekday": …}`.
    public func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Key.self)
        switch self {
        case .day(let number): try fields.encode(number, forKey: .day)
        case .dayOrLast(let number): try fields.encode(number, forKey: .dayOrLast)
        case .nth(let number, let weekday):
            try fields.encode(number, forKey: .nth)
            try fields.encode(weekday, forKey: .weekday)
        }
    }
}
