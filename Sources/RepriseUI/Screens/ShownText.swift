import Foundation
import Reprise

/// How a row stands out.
public enum RowTone: Hashable, Sendable, CaseIterable {
    /// Nothing to see.
    case plain
    /// It goes on, or went well.
    case good
    /// It waits for something, or somebody.
    case waiting
    /// It has failed.
    case bad
}

extension WallTime {
    /// `2026-11-21 23:00:07`.
    func shown(in zone: TimeZone) -> String {
        // A damaged row may hold any number; a calendar cannot.
        let ends: ClosedRange<Int64> = -62_135_596_800_000...253_402_300_799_000
        let milliseconds = min(max(milliseconds, ends.lowerBound), ends.upperBound)
        return Date(timeIntervalSince1970: Double(milliseconds / 1_000)).formatted(
            Date.ISO8601FormatStyle(
                dateSeparator: .dash, dateTimeSeparator: .space, timeSeparator: .colon,
                timeZone: zone
            ).year().month().day().time(includingFractionalSeconds: false))
    }
}

extension Duration {
    /// `5 s`, `3 min`, `2 h`, `4 d`: rounded down.
    var shown: String {
        let seconds = max(components.seconds, 0)
        return switch seconds {
        case ..<120: "\(seconds) s"
        case ..<7_200: "\(seconds / 60) min"
        case ..<172_800: "\(seconds / 3_600) h"
        default: "\(seconds / 86_400) d"
        }
    }
}

extension Int64 {
    /// `1 message`, `2 messages`.
    func counted(_ noun: String) -> String { "\(self) \(noun)\(self == 1 ? "" : "s")" }
}
