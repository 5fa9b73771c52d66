/// A day of the Gregorian calendar, wherever; written as `2026-11-21`.
public struct LocalDate: Hashable, Sendable {
    package static let lastYear = 9_999

    /// 1 to 9999.
    public var year: Int
    /// 1 to 12.
    public var month: Int
    /// 1 to 31.
    public var day: Int

    /// Names a day, which need not exist: ``Schedule/check()`` looks.
    public init(_ year: Int, _ month: Int, _ day: Int) {
        self.year = year
        self.month = month
        self.day = day
    }

    /// Parses a day such as `2026-11-21`, which may not exist; nil for any other format.
    ///
    /// - Parameter text: four digits, two and two, with hyphens between them.
    public init?(_ text: some StringProtocol) {
        let bytes = Array(text.utf8)
        guard bytes.count == 10, bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"),
            let year = Digits.number(bytes[0..<4]), let month = Digits.number(bytes[5..<7]),
            let day = Digits.number(bytes[8..<10])
        else { return nil }
        self.init(year, month, day)
    }

    /// Whether the calendar has this day.
    public var exists: Bool {
        (1...Self.lastYear).contains(year) && (1...12).contains(month)
            && (1...Self.days(ofMonth: month, year)).contains(day)
    }

    /// The length of a month, 1 to 12.
    static func days(ofMonth month: Int, _ year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

extension LocalDate: Comparable {
    /// Earlier is less.
    public static func < (left: Self, right: Self) -> Bool {
        (left.year, left.month, left.day) < (right.year, right.month, right.day)
    }
}

extension LocalDate: CustomStringConvertible {
    /// As in `2026-11-21`.
    public var description: String {
        "\(Digits.text(year, 4))-\(Digits.text(month, 2))-\(Digits.text(day, 2))"
    }
}

extension LocalDate: Codable {
    /// Reads a text as in `2026-11-21`; that the day exists is for ``Schedule/check()`` to see.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let date = LocalDate(text) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "A day is written as 2026-11-21.")
        }
        self = date
    }

    /// Writes a text as in `2026-11-21`; a day that cannot be written so is an error.
    public func encode(to encoder: any Encoder) throws {
        guard LocalDate(description) == self else {
            throw EncodingError.invalidValue(
                self,
                .init(codingPath: encoder.codingPath, debugDescription: "There is no such day."))
        }
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

// MARK: Arithmetic

extension LocalDate {
    /// The day's number, counted from 1970-01-01, which is 0; for a day that exists.
    ///
    /// Years begin in March here, so that the leap day is the last of a year: then the months
    /// before a day have as many days in every year.
    package var number: Int64 {
        let shifted = Int64(month <= 2 ? year - 1 : year)
        let era = shifted.floored(by: 400)
        let yearOfEra = shifted - era * 400
        let dayOfYear = Int64((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1)
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    /// As the raw value of a ``Weekday``; for a day that exists.
    var weekday: Int {
        // 1970-01-01 was a Thursday, the fourth.
        let days = number + 3
        return Int(days - days.floored(by: 7) * 7) + 1
    }

    /// The day of a number.
    package init(number: Int64) {
        let shifted = number + 719_468
        let era = shifted.floored(by: 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let month = (5 * dayOfYear + 2) / 153
        let isNextYear = month >= 10
        self.init(
            Int(yearOfEra + era * 400) + (isNextYear ? 1 : 0),
            Int(isNextYear ? month - 9 : month + 3), Int(dayOfYear - (153 * month + 2) / 5) + 1)
    }
}

extension Int64 {
    /// Divided and rounded down, also below zero.
    package func floored(by divisor: Int64) -> Int64 {
        let quotient = self / divisor
        return self % divisor < 0 ? quotient - 1 : quotient
    }
}

/// Numbers of a fixed width, without a formatter.
enum Digits {
    static func number(_ bytes: ArraySlice<UInt8>) -> Int? {
        var number = 0
        for byte in bytes {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
            number = number * 10 + Int(byte - UInt8(ascii: "0"))
        }
        return number
    }

    static func text(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
}
