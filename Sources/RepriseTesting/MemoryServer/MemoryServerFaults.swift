/// How a ``MemoryServer`` misbehaves; by default it does not.
public struct MemoryServerFaults: Hashable, Sendable {
    /// In which order the events of a catch-up come.
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

    /// When `sync_complete` comes.
    public enum Completion: Hashable, Sendable {
        /// After the last event.
        case after
        /// Before the first event.
        case before
        /// Never.
        case never
    }

    /// In which order the events of a catch-up come.
    public var order = Order.sequence
    /// How often each event comes.
    public var repeats = 1
    /// When `sync_complete` comes.
    public var completion = Completion.after
    /// What is added to every head that is told: the server lies.
    public var headOffset: Int64 = 0
    /// After so many events of a catch-up the connection is closed with ``closeCode``; once.
    public var closesAfter: Int?
    /// What it is closed with; nil: it is cut without a word.
    public var closeCode: UInt16?
    /// After so many events of a catch-up the connection stays open and nothing comes any more;
    /// once.
    public var silentAfter: Int?
    /// Every so many events of a catch-up one is left out.
    public var skipsEach: Int?

    /// A server that does everything right.
    public init() {}
}
