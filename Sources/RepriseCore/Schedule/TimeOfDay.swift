/// A time of day to the minute, wherever; written as `07:30`.
public struct TimeOfDay: Hashable, Sendable {
    /// 0 to 23.
    public var hour: Int
    /// 0 to 59.
    public var minute: Int

    /// Names a time, which need not exist: ``Schedule/check()`` looks.
    public init(_ hour: Int, _ minute: Int) {
        self.hour = hour
        self.minute = minute
    }

    /// Parses a time such as `07:30`, which may not exist; nil for any other format.
    ///
    /// - Parameter text: two digits and two, with a colon between them.
    public init?(_ text: some StringProtocol) {
        let bytes = Array(text.utf8)
        guard bytes.count == 5, bytes[2] == UInt8(ascii: ":"),
            let hour = Digits.number(bytes[0..<2]), let minute = Digits.number(bytes[3..<5])
        else { return nil }
        self.init(hour, minute)
    }

    /// Whether the day has this time.
    public var exists: Bool { (0...23).contains(hour) && (0...59).contains(minute) }

    /// Minutes since midnight.
    package var minutes: Int64 { Int64(hour * 60 + minute) }
}

extension TimeOfDay: Comparable {
    /// Earlier is less.
    public static func < (left: Self, right: Self) -> Bool {
        (left.hour, left.minute) < (right.hour, right.minute)
    }
}

extension TimeOfDay: CustomStringConvertible {
    /// As in `07:30`.
    public var description: String { "\(Digits.text(hour, 2)):\(Digits.text(minute, 2))" }
}

extension TimeOfDay: Codable {
    /// Reads a text as in `07:30`; that the time exists is for ``Schedule/check()`` to see.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let time = TimeOfDay(text) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "A time of day is written as 07:30.")
        }
        self = time
    }

    /// Writes a text as in `07:30`; a time that cannot be written so is an error.
    public func encode(to encoder: any Encoder) throws {
        guard TimeOfDay(description) == self else {
            throw EncodingError.invalidValue(
                self,
                .init(codingPath: encoder.codingPath, debugDescription: "There is no such time."))
        }
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
