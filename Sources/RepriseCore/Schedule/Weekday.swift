/// A day of the week, as ISO 8601 numbers them.
public enum Weekday: Int, Hashable, Sendable, Codable, CaseIterable {
    case monday = 1
    case tuesday, wednesday, thursday, friday, saturday, sunday
}

extension Weekday: Comparable {
    /// Monday is least.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
