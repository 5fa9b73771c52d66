/// A moment on the calendar, in whole milliseconds since 1970-01-01T00:00:00Z.
///
/// The journal stores it unchanged. It may be wrong: see `WallClockGuard`.
public struct WallTime: Hashable, Comparable, Sendable, Codable {
    /// Milliseconds since 1970.
    public let milliseconds: Int64

    /// Makes a moment from milliseconds since 1970.
    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// The moment `duration` later (earlier if negative), saturating.
    public func advanced(by duration: Duration) -> WallTime {
        let later = duration.milliseconds
        let (sum, overflow) = milliseconds.addingReportingOverflow(later)
        guard overflow else { return WallTime(milliseconds: sum) }
        return WallTime(milliseconds: later < 0 ? .min : .max)
    }

    /// How much later `other` is.
    public func duration(to other: WallTime) -> Duration {
        let (difference, overflow) = other.milliseconds.subtractingReportingOverflow(milliseconds)
        guard overflow else { return .milliseconds(difference) }
        return .milliseconds(other.milliseconds < milliseconds ? Int64.min / 2 : Int64.max / 2)
    }

    /// Earlier comes first.
    public static func < (left: Self, right: Self) -> Bool {
        left.milliseconds < right.milliseconds
    }
}

extension Duration {
    /// Whole milliseconds, rounded towards zero and saturating.
    package var milliseconds: Int64 {
        Int64(clamping: attoseconds / 1_000_000_000_000_000)
    }

    /// Seconds, for people and for rates.
    package var inSeconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}

extension WallTime {
    /// Reads the number of milliseconds.
    public init(from decoder: any Decoder) throws {
        milliseconds = try decoder.singleValueContainer().decode(Int64.self)
    }

    /// Writes the number of milliseconds.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(milliseconds)
    }
}
