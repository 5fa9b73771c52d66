import RepriseWire

/// How a ``MemoryServer`` misbehaves; by default it does not.
public struct MemoryServerFaults: Hashable, Sendable {
    /// The order of a catch-up's events.
    public enum Order: Hashable, Sendable {
        /// By sequence.
        case sequence
        /// Newest first.
        case backwards
        /// At random.
        case shuffled(seed: UInt64)
        /// In so many streams, each by sequence, that overtake each other at random.
        case streams(Int, seed: UInt64)
    }

    /// When `sync_complete` is sent.
    public enum Completion: Hashable, Sendable {
        /// After the last event.
        case after
        /// Before the first event.
        case before
        /// Never.
        case never
    }

    /// The order of a catch-up's events.
    public var order = Order.sequence
    /// How often each event is sent.
    public var repeats = 1
    /// When `sync_complete` is sent.
    public var completion = Completion.after
    /// Added to every reported head: the server lies.
    public var headOffset: Int64 = 0
    /// After so many events of a catch-up the connection is closed with ``closeCode``; once.
    public var closesAfter: Int?
    /// The close code; nil: it is cut without a close frame.
    public var closeCode: UInt16?
    /// After so many events of a catch-up the connection stays open and silent; once.
    public var silentAfter: Int?
    /// The interval of heartbeats that is promised when a client connects: 1 s to 1 h.
    ///
    /// A client ends a connection that was silent for two of them, and none comes but by
    /// ``MemoryServer/heartbeat()``.
    public var heartbeat: Duration = .seconds(3_600)
    /// Every so many events of a catch-up one is left out.
    public var skipsEach: Int?
    /// Receipts are lost: no position moves, and nobody is told.
    public var losesReceipts = false

    /// A server without faults.
    public init() {}
}

extension MemoryServerFaults.Order {
    func arranged(_ events: [ServerFrame.Event]) -> [ServerFrame.Event] {
        switch self {
        case .sequence: return events
        case .backwards: return events.reversed()
        case .shuffled(let seed):
            var random = SeededGenerator(seed: seed)
            return events.shuffled(using: &random)
        case .streams(let count, let seed):
            var random = SeededGenerator(seed: seed)
            let size = max(1, (events.count + max(1, count) - 1) / max(1, count))
            var streams = stride(from: 0, to: events.count, by: size).map {
                events[$0..<min($0 + size, events.count)]
            }
            var arranged: [ServerFrame.Event] = []
            while let place = streams.indices.randomElement(using: &random) {
                if let event = streams[place].popFirst() { arranged.append(event) }
                if streams[place].isEmpty { streams.remove(at: place) }
            }
            return arranged
        }
    }
}
