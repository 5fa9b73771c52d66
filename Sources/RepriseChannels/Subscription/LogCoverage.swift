package import RepriseWire

/// What the device has of a channel's log, and how much of that is durable.
package struct LogCoverage: Sendable {
    package private(set) var epoch: Epoch?
    package private(set) var coverage: Coverage
    /// The newest sequence known.
    package private(set) var head: Int64
    /// Counts the changes that must become durable.
    package private(set) var revision = 0
    package private(set) var durableRevision = 0

    package init(epoch: Epoch?, coverage: Coverage, head: Int64) {
        (self.epoch, self.coverage) = (epoch, coverage)
        self.head = max(head, coverage.top)
    }

    // MARK: Holes

    /// How many sequences are known to be missing.
    package var missing: Int64 { missing(through: max(head, coverage.top)) }

    package var hasHole: Bool { !coverage.isComplete(through: max(head, coverage.top)) }

    package func missing(through head: Int64) -> Int64 {
        coverage.complement(through: head).reduce(0) { $0 + $1.count }
    }

    /// The missing part of a range.
    package func missing(in range: SequenceRange) -> [SequenceRange] {
        coverage.complement(through: range.through).compactMap {
            SequenceRange(after: max($0.after, range.after), through: $0.through)
        }
    }

    // MARK: Changes

    /// An event that continues the only range is applied in constant time and without an
    /// allocation.
    package mutating func received(after prev: Int64, seq: Int64)
        -> SubscriptionMachine.Disposition
    {
        if seq <= coverage.top, coverage.contains(seq) { return .ignoreDuplicate }
        head = max(head, seq)
        switch coverage.insert(after: prev, through: seq) {
        case .added:
            revision += 1
            return .store
        case .duplicate: return .ignoreDuplicate
        case .full: return .leave  // at the bound of ranges; the hole stays visible
        }
    }

    /// These never arrive.
    ///
    /// - Returns: the missing part of them; empty if nothing was, or at the bound of ranges.
    package mutating func gone(_ range: SequenceRange) -> [SequenceRange] {
        let news = missing(in: range)
        guard !news.isEmpty, coverage.insert(range) == .added else { return [] }
        revision += 1
        head = max(head, range.through)
        return news
    }

    /// Nothing below the position is missing any more.
    ///
    /// - Returns: what was, as far as the bound of ranges allows.
    package mutating func give(upThrough position: Int64) -> [SequenceRange] {
        coverage.complement(through: position).filter { coverage.insert($0) == .added }
    }

    /// A snapshot holds everything up to here.
    package mutating func loaded(through position: Int64) {
        coverage.insert(after: 0, through: position)
        head = max(head, coverage.top)
        revision += 1
    }

    /// Something else has changed that must become durable.
    package mutating func revise() { revision += 1 }

    /// The server names a head that comes after all events it counts.
    package mutating func learned(head newer: Int64) { head = max(head, newer) }

    /// The server answers from here.
    package mutating func attached(head: Int64) { self.head = max(head, coverage.top) }

    /// Positions of another epoch mean nothing in this one.
    ///
    /// - Returns: the known missing part of the former log; nil without one.
    package mutating func start(_ newEpoch: Epoch) -> [SequenceRange]? {
        let former = epoch.map { _ in coverage.complement(through: max(head, coverage.top)) }
        (epoch, coverage, head) = (newEpoch, Coverage(), 0)
        revision += 1
        return former
    }

    // MARK: The disk

    /// Everything up to this revision is on the disk.
    package mutating func committed(_ revision: Int) {
        durableRevision = max(durableRevision, revision)
    }

    /// A commit has failed and nothing later was written: the disk is the truth.
    package mutating func restore(epoch: Epoch?, coverage: Coverage, head: Int64) {
        (self.epoch, self.coverage) = (epoch, coverage)
        self.head = max(head, coverage.top)
        durableRevision = revision
    }
}
