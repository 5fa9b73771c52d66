import RepriseCore

/// The sequences of a channel that a device has accounted for: a sorted set of merged ranges,
/// nearly always one.
///
/// ```swift
/// var coverage = Coverage()
/// coverage.insert(after: 0, through: 180)
/// coverage.insert(after: 199, through: 200)
/// coverage.complement(through: 210)  // (180, 199], (200, 210]: exactly what is missing
/// ```
///
/// At most ``WireLimits/coverageRanges`` ranges. At that bound a separate range is refused with
/// ``Insertion/full``; covered ranges are never dropped to make room.
public struct Coverage: Hashable, Sendable {
    /// The result of an insertion.
    public enum Insertion: Hashable, Sendable {
        /// All or part of it was missing, and is covered now.
        case added
        /// It was already covered.
        case duplicate
        /// It would be one range too many; nothing has changed.
        case full
    }

    /// Sorted, not empty, and neither overlapping nor touching.
    public private(set) var ranges: [SequenceRange]

    /// Covers nothing.
    public init() { ranges = [] }

    /// Covers a single range from the beginning.
    public init(through sequence: Int64) {
        ranges = SequenceRange(after: 0, through: sequence).map { [$0] } ?? []
    }

    /// The end of the covered range that starts at the beginning of the channel; 0 if its beginning
    /// is missing.
    public var watermark: Int64 {
        guard let first = ranges.first, first.after == 0 else { return 0 }
        return first.through
    }

    /// The greatest covered sequence; 0 without any.
    public var top: Int64 { ranges.last?.through ?? 0 }

    /// How many sequences are covered.
    public var count: Int64 { ranges.reduce(0) { $0 + $1.count } }

    /// Whether it covers nothing.
    public var isEmpty: Bool { ranges.isEmpty }

    /// Whether `sequence` is covered.
    public func contains(_ sequence: Int64) -> Bool {
        let index = firstIndex(endingAtOrAfter: sequence)
        return index < ranges.count && ranges[index].after < sequence
    }

    /// Whether all of the range is covered.
    public func contains(_ range: SequenceRange) -> Bool {
        let index = firstIndex(endingAtOrAfter: range.through)
        return index < ranges.count && ranges[index].after <= range.after
    }

    /// Covers (after, through].
    ///
    /// The live path is one range that ends within the new one: it is widened in place, in constant
    /// time and without an allocation.
    ///
    /// - Returns: the result; an empty or impossible range is a `duplicate`.
    @discardableResult
    public mutating func insert(after: Int64, through: Int64) -> Insertion {
        if ranges.count == 1, ranges[0].after <= after, after <= ranges[0].through,
            through > ranges[0].through, through <= WireLimits.greatestSequence
        {
            ranges[0] = SequenceRange(uncheckedAfter: ranges[0].after, through: through)
            return .added
        }
        guard let range = SequenceRange(after: after, through: through) else { return .duplicate }
        return insert(range)
    }

    /// Covers `range`.
    ///
    /// - Returns: the result.
    @discardableResult
    public mutating func insert(_ range: SequenceRange) -> Insertion {
        // The ranges from `low` up to, not including, `high` overlap or touch the new one.
        let low = firstIndex(endingAtOrAfter: range.after)
        var high = low
        while high < ranges.count, ranges[high].after <= range.through { high += 1 }
        guard low < high else {
            guard ranges.count < WireLimits.coverageRanges else { return .full }
            ranges.insert(range, at: low)
            return .added
        }
        let first = ranges[low]
        if first.after <= range.after, range.through <= first.through { return .duplicate }
        let merged = SequenceRange(
            uncheckedAfter: min(first.after, range.after),
            through: max(ranges[high - 1].through, range.through))
        ranges.replaceSubrange(low..<high, with: CollectionOfOne(merged))
        return .added
    }

    /// The missing ranges up to `head`: those of (0, head] that are not covered, in order.
    public func complement(through head: Int64) -> [SequenceRange] {
        var missing: [SequenceRange] = []
        var position: Int64 = 0
        for range in ranges where position < head {
            if let hole = SequenceRange(after: position, through: min(range.after, head)) {
                missing.append(hole)
            }
            position = range.through
        }
        if let tail = SequenceRange(after: position, through: head) { missing.append(tail) }
        return missing
    }

    /// Whether everything up to `head` is covered.
    public func isComplete(through head: Int64) -> Bool {
        head <= 0 || watermark >= head
    }

    /// Covers all that `other` covers.
    ///
    /// - Returns: false at the bound; then some of `other` is not covered, and nothing else has
    ///   changed.
    public mutating func merge(_ other: Coverage) -> Bool {
        other.ranges.reduce(true) { all, range in insert(range) != .full && all }
    }

    /// The index of the first range that ends at or after `sequence`.
    private func firstIndex(endingAtOrAfter sequence: Int64) -> Int {
        var low = 0
        var high = ranges.count
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].through < sequence { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

extension Coverage: CustomStringConvertible {
    /// The JSON form on the wire and in the journal: `[[0,180],[199,200]]`.
    public var description: String {
        "[" + ranges.map { "[\($0.after),\($0.through)]" }.joined(separator: ",") + "]"
    }

    /// Reads the form of ``description``.
    ///
    /// - Parameter text: JSON; ranges sorted, at most ``WireLimits/coverageRanges``, neither
    ///   overlapping nor touching.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed`.
    public init(parsing text: String) throws {
        let bytes = Array(text.utf8)
        self = try bytes.withUnsafeBufferPointer { bytes in
            var scanner = JSONScanner(bytes)
            let coverage = try Coverage(from: &scanner)
            try scanner.end()
            return coverage
        }
    }

    init(from scanner: inout JSONScanner) throws {
        var ranges: [SequenceRange] = []
        let bytes = scanner.bytes
        try scanner.array { value in
            guard ranges.count < WireLimits.coverageRanges else {
                throw RepriseError(
                    .malformed,
                    "A coverage has at most \(WireLimits.coverageRanges) ranges.")
            }
            var bounds: [Int64] = []
            let start = JSONScanner(bytes, from: value.range.lowerBound)
            var inner = start
            try inner.array { bound in
                guard bounds.count < 2 else { throw start.malformed("a range has two bounds") }
                bounds.append(try start.integer(bound))
            }
            guard bounds.count == 2, let range = SequenceRange(after: bounds[0], through: bounds[1])
            else { throw start.malformed("a range is [after, through] with 0 ≤ after < through") }
            if let last = ranges.last, last.through >= range.after {
                throw start.malformed("ranges must be sorted and apart")
            }
            ranges.append(range)
        }
        self.ranges = ranges
    }
}
