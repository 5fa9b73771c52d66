/// How an entry ended.
public enum Outcome: String, Hashable, Sendable, CaseIterable {
    /// Its handler has succeeded.
    case applied
    /// Its time was up before its gate opened.
    case expired
    /// Something newer of the same identity has taken its place.
    case superseded
    /// Its handler failed for good, or it was refused: a dead letter, kept with its reason.
    case dead
    /// The process died between effect and record, and the kind forbids a second try.
    case unconfirmed
}

/// Where an entry stands.
public enum EntryState: Hashable, Sendable {
    /// Recorded; waits for its gate, its turn or its next attempt.
    case pending
    /// With a handler, by this incarnation of the journal.
    case handedOver(incarnation: Int64)
    /// Ended; nothing will happen to it any more, unless a dead letter is retried.
    case finished(Outcome)
}

/// What a producer gives to the journal.
public struct NewEntry: Sendable {
    /// The identity by which arrivals merge.
    public var id: EntryID
    /// The name of an ``EntryKind``.
    public var kind: String
    /// Who produced it: `push`, `socket`, `app`, …; at most 64 bytes.
    public var source: String
    /// The content, opaque to the journal, at most 262,144 bytes.
    public var payload: [UInt8]
    /// Entries of one lane are handed over in the order recorded, each after the one before has
    /// ended; nil: in no order.
    public var lane: String?
    /// Not to be handed over before this long from now; nil: at once.
    public var delay: Duration?

    /// Makes an entry to record.
    ///
    /// - Parameters:
    ///   - id: the identity by which arrivals merge.
    ///   - kind: the name of a declared kind.
    ///   - source: who produced it.
    ///   - payload: the content, at most 262,144 bytes.
    ///   - lane: what it must stay in order with.
    ///   - delay: how long to hold it at least.
    public init(
        id: EntryID = .random(), kind: String, source: String = "app", payload: [UInt8],
        lane: String? = nil, delay: Duration? = nil
    ) {
        self.id = id
        self.kind = kind
        self.source = source
        self.payload = payload
        self.lane = lane
        self.delay = delay
    }
}

/// One recorded thing, as the journal has it.
public struct Entry: Identifiable, Sendable {
    /// The identity by which arrivals merge.
    public let id: EntryID
    /// The name of its ``EntryKind``.
    public let kind: String
    /// Who produced it.
    public let source: String
    /// The content.
    public let payload: [UInt8]
    /// What it stays in order with.
    public let lane: String?
    /// When it was recorded, by the device's calendar.
    public let recordedAt: WallTime
    /// How often it has been handed over, this time included.
    public let attempt: Int
    /// Where it stands.
    public let state: EntryState
    /// Why it ended as it did, or why the last attempt failed.
    public let reason: String?
    /// The one before it in its lane that had not ended when this one was handed over, where
    /// several of a lane may be in hand.
    package let predecessor: EntryID?

    package init(
        id: EntryID, kind: String, source: String, payload: [UInt8], lane: String?,
        recordedAt: WallTime, attempt: Int, state: EntryState, reason: String?,
        predecessor: EntryID? = nil
    ) {
        self.id = id
        self.kind = kind
        self.source = source
        self.payload = payload
        self.lane = lane
        self.recordedAt = recordedAt
        self.attempt = attempt
        self.state = state
        self.reason = reason
        self.predecessor = predecessor
    }
}
