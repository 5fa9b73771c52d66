import Foundation
import RepriseCore
import RepriseWire

/// Coverage, as text and as a set that grows.
enum CoverageProperties {
    static func text(_ bytes: [UInt8]) throws {
        let text = String(decoding: bytes, as: UTF8.self)
        let coverage: Coverage
        do {
            coverage = try Coverage(parsing: text)
        } catch let error as RepriseError {
            return try hold(error.code == .malformed, "refused with \(error)")
        }
        try check(coverage)
        let theirs = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [[Int64]]
        try hold(
            theirs == coverage.ranges.map { [$0.after, $0.through] },
            "another reader sees \(String(describing: theirs))")
    }

    /// What holds for every coverage.
    static func check(_ coverage: Coverage) throws {
        let ranges = coverage.ranges
        try hold(ranges.count <= WireLimits.coverageRanges, "\(ranges.count) ranges")
        try hold(zip(ranges, ranges.dropFirst()).allSatisfy { $0.through < $1.after }, "not apart")
        for range in ranges {
            try hold(
                range.after >= 0 && range.through > range.after
                    && range.through <= WireLimits.greatestSequence, "\(range)")
            try hold(
                coverage.contains(range) && coverage.contains(range.through)
                    && !coverage.contains(range.after), "\(range) and contains")
        }
        try hold(try Coverage(parsing: coverage.description) == coverage, "description, parsed")
        for head in [coverage.top, WireLimits.greatestSequence] {
            let missing = coverage.complement(through: head)
            let all = (missing + ranges).sorted { $0.after < $1.after }
            try hold(all.first?.after ?? 0 == 0 && all.last?.through ?? 0 == head, "the ends")
            try hold(zip(all, all.dropFirst()).allSatisfy { $0.through == $1.after }, "no tiling")
            try hold(coverage.isComplete(through: head) == missing.isEmpty, "isComplete")
        }
        var copy = Coverage()
        try hold(copy.merge(coverage) && copy == coverage, "merged into nothing")
    }

    /// Interprets the bytes as insertions, four bytes each, and compares with a list that knows no
    /// cleverness.
    static func operations(_ bytes: [UInt8]) throws {
        var coverage = Coverage()
        var model: [(after: Int64, through: Int64)] = []
        var rest = bytes[...]
        while rest.count >= 4 {
            let (kind, value, length) = (
                rest[rest.startIndex], rest[rest.startIndex + 1...rest.startIndex + 2],
                rest[rest.startIndex + 3]
            )
            rest = rest.dropFirst(4)
            let after = start(kind, value.reduce(0) { $0 << 8 | Int64($1) })
            let (through, overflow) = after.addingReportingOverflow(Int64(length))
            let before = coverage
            let outcome = coverage.insert(after: after, through: overflow ? .max : through)
            let isRange =
                after >= 0 && length > 0 && !overflow && through <= WireLimits.greatestSequence
            guard isRange else {
                try hold(outcome == .duplicate && coverage == before, "no range, but \(outcome)")
                continue
            }
            let next = joined(model, after, through)
            let isKnown = model.contains { $0.after <= after && through <= $0.through }
            if isKnown {
                try hold(outcome == .duplicate && coverage == before, "known, but \(outcome)")
            } else if next.count > WireLimits.coverageRanges {
                try hold(outcome == .full && coverage == before, "full, but \(outcome)")
                continue
            } else {
                try hold(outcome == .added, "new, but \(outcome)")
            }
            model = next
            try hold(
                coverage.ranges.elementsEqual(model) { $0.after == $1.0 && $0.through == $1.1 },
                "\(coverage), not \(model)")
        }
        try check(coverage)
    }

    private static func start(_ kind: UInt8, _ value: Int64) -> Int64 {
        switch kind & 0x7 {
        case 0: WireLimits.greatestSequence - value
        case 1: Int64.max - value
        case 2: -value
        case 3: Int64.min + value
        case 4: value << 32
        default: value
        }
    }

    private static func joined(
        _ ranges: [(after: Int64, through: Int64)], _ after: Int64, _ through: Int64
    ) -> [(after: Int64, through: Int64)] {
        var result: [(after: Int64, through: Int64)] = []
        for range in (ranges + [(after, through)]).sorted(by: { $0.after < $1.after }) {
            if let last = result.last, range.after <= last.through {
                result[result.count - 1].through = max(last.through, range.through)
            } else {
                result.append(range)
            }
        }
        return result
    }
}
