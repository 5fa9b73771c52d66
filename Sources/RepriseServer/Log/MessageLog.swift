package import RepriseCore
package import RepriseWire

/// A message that somebody wants stored.
package struct NewMessage: Hashable, Sendable {
    package var channel: ChannelName
    /// The idempotency key, unique over the whole log: see ``AppendResult/duplicate(seq:)``.
    package var id: EntryID
    /// The message of the same channel that must be stored before this one, if there is one.
    package var after: EntryID?
    /// JSON that has been validated and is within ``WireLimits/bodyBytes``; the log stores the bytes and never looks at them.
    package var body: [UInt8]

    package init(channel: ChannelName, id: EntryID, after: EntryID? = nil, body: [UInt8]) {
        self.channel = channel
        self.id = id
        self.after = after
        self.body = body
    }
}

/// What became of one message of a batch, once the batch is durable.
package enum AppendResult: Hashable, Sendable {
    /// It is stored; the event is what subscribers get.
    case stored(ServerFrame.Event)
    /// Its id was stored in this channel before, with this sequence. The body is not compared: the first one stands.
    case duplicate(seq: Int64)
    /// It is not stored, and the rest of the batch is not touched by that: `conflict` for an id that belongs to another
    /// channel, `predecessorMissing` for an `after` that is not stored.
    case refused(RefusalCode, String)
}

/// Where a channel stands.
package struct ChannelState: Hashable, Sendable {
    package var epoch: Epoch
    /// The newest sequence; 0 before the first message.
    package var head: Int64
    /// The newest sequence that retention has taken away; 0 if it took none.
    package var floor: Int64

    package init(epoch: Epoch, head: Int64, floor: Int64) {
        self.epoch = epoch
        self.head = head
        self.floor = floor
    }
}

/// A part of a channel, with the floor and the head that were true when it was read.
package struct LogPage: Hashable, Sendable {
    package var events: [ServerFrame.Event]
    package var gone: [Gone]
    package var state: ChannelState
    /// Everything that was asked for up to and including this sequence is answered by this page.
    package var through: Int64

    package init(
        events: [ServerFrame.Event], gone: [Gone], state: ChannelState, through: Int64
    ) {
        self.events = events
        self.gone = gone
        self.state = state
        self.through = through
    }
}

/// The durable order of every channel's messages: what the whole server trusts.
///
/// Every sequence up to a channel's head lies in exactly one stored message's (prev, seq] or at or below the floor. `prev` is
/// fixed when the message is stored; trimming moves the floor and touches neither the head nor any `prev`.
package protocol MessageLog: Sendable {
    /// Stores a batch in one durable transaction.
    ///
    /// Called by one task at a time: ``Committer``. The call may block its thread.
    ///
    /// - Returns: one result for each message, in order, once all of it is durable.
    /// - Throws: ``RepriseError``; then nothing of the batch is known to be stored, and what the log remembered of the heads
    ///   has been discarded.
    func append(_ batch: [NewMessage]) async throws -> [AppendResult]

    /// Proves that the log can be written, by a durable write that no reader sees.
    ///
    /// - Throws: ``RepriseError``, as ``append(_:)`` would.
    func probe() async throws

    /// Where a channel stands. A channel that has no messages yet stands at head 0 and floor 0; asking creates nothing.
    func state(of channel: ChannelName) async throws -> ChannelState

    /// Answers `missing` from its beginning on, as far as one page goes.
    ///
    /// Each sequence in `missing` up to ``LogPage/through`` lies in exactly one event's (prev, seq] or one `gone`. An event may
    /// account for more than was asked; it is still sent whole, because readers never change `prev`.
    ///
    /// - Parameters:
    ///   - missing: in order, apart, none beyond the head.
    ///   - limit: the most messages.
    ///   - byteLimit: the most bytes of bodies; one message is returned whatever its size.
    /// - Returns: floor, head and rows of one and the same moment.
    func page(
        of channel: ChannelName, missing: [SequenceRange], limit: Int, byteLimit: Int
    ) async throws -> LogPage

    /// The messages behind `after`, for people and tools.
    ///
    /// - Parameters:
    ///   - after: 0 or more; beyond the head there is nothing.
    ///   - limit: the most messages.
    func history(of channel: ChannelName, after: Int64, limit: Int) async throws -> LogPage

    /// Takes the messages up to and including `through` away. Idempotency outlives it.
    ///
    /// - Returns: where the channel stands now; `through` beyond the head takes all there is and leaves the head.
    func trim(_ channel: ChannelName, through: Int64) async throws -> ChannelState

    /// Takes away what `policy` no longer keeps.
    ///
    /// - Parameter now: the calendar, as far as the caller believes it.
    func trim(_ policy: RetentionPolicy, now: WallTime) async throws

    /// Ends the log: waits for what runs, then lets go of the files. Later calls throw `closed`.
    func close() async
}

extension MessageLog {
    /// The messages behind `after`, for people and tools.
    package func history(
        of channel: ChannelName, after: Int64, limit: Int
    ) async throws -> LogPage {
        let head = try await state(of: channel).head
        let missing = SequenceRange(after: after, through: head).map { [$0] } ?? []
        return try await page(of: channel, missing: missing, limit: limit, byteLimit: 1 << 22)
    }
}

/// What the log keeps. Nil keeps everything.
package struct RetentionPolicy: Hashable, Sendable {
    /// The most messages of a channel.
    package var count: Int64?
    /// The greatest age of a message.
    package var age: Duration?

    package init(count: Int64? = nil, age: Duration? = nil) {
        self.count = count
        self.age = age
    }
}
