/// How an entry ended.
public enum Outcome: String, Hashable, Sendable, CaseIterable {
    /// Its handler succeeded.
    case applied
    /// Its time was up before its gate opened.
    case expired
    /// Something newer with the same identity replaced it.
    case superseded
    /// Its handler failed for good, or it was refused: a dead letter, kept with its reason.
    case dead
    /// The process died between effect and record, and the kind forbids a second try.
    case unconfirmed
}

/// How far an entry is on its way to its outcome.
public enum EntryState: Hashable, Sendable {
    /// Recorded; waits for its gate, its turn or its next attempt.
    case pending
    /// Dispatched to a handler by this incarnation of the journal.
    case dispatched(incarnation: Int64)
    /// Ended for good, unless a dead letter is retried.
    case finished(Outcome)
}

/// A new entry, as its producer records it.
public struct NewEntry: Sendable {
    /// The identity by which arrivals merge.
    public var id: EntryID
    /// The name of an ``EntryKind``.
    public var kind: String
    /// Its producer: `push`, `socket`, `app`, …; at most 64 bytes.
    public var source: String
    /// The content, opaque to the journal, at most 262,144 bytes.
    public var payload: [UInt8]
    /// Entries of one partition key are dispatched in the order recorded, each after the previous
    /// one has ended; nil: in no order.
    public var partitionKey: String?
    /// Dispatched no earlier than this long from now; nil: at once.
    public var delay: Duration?

    /// Makes an entry to record.
    ///
    /// - Parameters:
    ///   - id: the identity by which arrivals merge.
    ///   - kind: the name of a declared kind.
    ///   - source: its producer.
    ///   - payload: the content, at most 262,144 bytes.
    ///   - partitionKey: the partition key that keeps entries in order.
    ///   - delay: how long to hold it at least.
    public init(
        id: EntryID = .random(), kind: String, source: String = "app", payload: [UInt8],
        partitionKey: String? = nil, delay: Duration? = nil
    ) {
        self.id = id
        self.kind = kind
        self.source = source
        self.payload = payload
        self.partitionKey = partitionKey
        self.delay = delay
    }
}

/// A recorded entry, as the journal stores it.
public struct Entry: Identifiable, Sendable {
    /// The identity by which arrivals merge.
    public let id: EntryID
    /// The name of its ``EntryKind``.
    public let kind: String
    /// Its producer: `push`, `socket`, `app`, ….
    public let source: String
    /// The content, opaque to the journal.
    public let payload: [UInt8]
    /// Entries of one key are dispatched in order; nil: in no order.
    public let partitionKey: String?
    /// When it was recorded, by the device's calendar.
    public let recordedAt: WallTime
    /// How often it has been dispatched, this time included.
    public let attempt: Int
    /// Whether it waits, is in flight or has ended.
    public let state: EntryState
    /// Why it ended as it did, or why the last attempt failed.
    public let reason: String?
    /// The entry before it of the same partition key that had not ended at dispatch, where several
    /// may be in flight.
    package let predecessor: EntryID?

    package init(
        id: EntryID, kind: String, source: String, payload: [UInt8], partitionKey: String?,
        recordedAt: WallTime, attempt: Int, state: EntryState, reason: String?,
        predecessor: EntryID? = nil
    ) {
        self.id = id
        self.kind = kind
        self.source = source
        self.payload = payload
        self.partitionKey = partitionKey
        self.recordedAt = recordedAt
        self.attempt = attempt
        self.state = state
        self.reason = reason
        self.predecessor = predecessor
    }
}
