package import RepriseCore
package import RepriseWire

/// The durable order of every channel's messages: what the whole server trusts.
///
/// Every sequence up to a channel's head lies in exactly one stored message's (prev, seq] or at or
/// below the floor. `prev` is fixed when the message is stored; trimming moves the floor and
/// touches neither the head nor any `prev`.
///
/// Ids are unique over the whole log, not per channel: a device merges all paths of a message by
/// its id, so two messages with one id would become one there. The log remembers an id for max(the
/// message's own life, 30 days).
///
/// Every failure is a ``RepriseCore/RepriseError``.
package protocol MessageLog: Sendable {
    /// Stores a batch in one durable transaction and returns, in order, one result a message once
    /// all of it is durable.
    ///
    /// Called by one task at a time: `Committer`. When it throws, nothing of the batch is known to
    /// be stored, and what the log remembered of the heads is discarded.
    func append(_ batch: [NewMessage]) async throws -> [AppendResult]

    /// Where to append from, so that no thread is woken between one batch and the next; nil for
    /// anywhere.
    var executor: (any TaskExecutor)? { get }

    /// Proves that the log can be written, by a durable write that no reader sees.
    func probe() async throws

    /// Where a channel stands: head 0 and floor 0 if it has no messages yet; asking creates
    /// nothing.
    func state(of channel: ChannelName) async throws -> ChannelState

    /// Answers `missing` (in order, apart) from its beginning on, as far as one page goes.
    ///
    /// Each sequence of `missing` up to `LogPage/through` lies in exactly one event's (prev, seq]
    /// or one `gone`. An event that accounts for more than was asked is sent as it is, because
    /// readers never change `prev`. At most `limit` messages with `byteLimit` bytes of bodies, but
    /// one message whatever its size. Floor, head and rows are of one and the same moment.
    func page(
        of channel: ChannelName, missing: [SequenceRange], limit: Int, byteLimit: Int
    ) async throws -> LogPage

    /// What a user has not read of a channel, counted at its head; see `Unread`.
    ///
    /// - Parameters:
    ///   - user: whose own messages do not count.
    ///   - channel: the channel.
    ///   - after: what `Unread/start(read:joined:floor:)` says; the log knows the floor itself, so
    ///     0 will do for it.
    /// - Returns: the count, and the head it is of.
    /// - Throws: ``RepriseCore/RepriseError``.
    func unread(of user: UserID, in channel: ChannelName, after: Int64) async throws -> Unread

    /// What several users have not read of channels, each counted as ``unread(of:in:after:)`` does,
    /// at one moment.
    ///
    /// - Parameter asked: who, where, and behind which message.
    /// - Returns: a count for each.
    /// - Throws: ``RepriseCore/RepriseError``.
    func unread(_ asked: [UnreadQuestion]) async throws -> [Int64]

    /// Which of some channels may count otherwise than before.
    ///
    /// A change is noted when it is durable, and before anybody is told of it.
    ///
    /// - Parameters:
    ///   - number: of the last change that is known.
    ///   - names: the channels.
    /// - Returns: the last change, and the channels; of a log that does not number its changes none
    ///   that could be told.
    func changes(
        since number: Int64, among names: Dictionary<ChannelName, Int64>.Keys
    ) -> LogChanges

    /// Takes the messages up to and including `through` away and says where the channel stands
    /// then.
    ///
    /// Beyond the head it takes all there is and leaves the head.
    func trim(_ channel: ChannelName, through: Int64) async throws -> ChannelState

    /// Takes away what `policy`, or a channel's own over it, no longer keeps, and forgets ids whose
    /// time is over; `now` is the calendar as far as the caller believes it. Without `overrides` no
    /// channel has a policy of its own.
    func trim(
        _ policy: RetentionPolicy, now: WallTime, overrides: RetentionOverrides?
    ) async throws

    /// Takes what was deleted or trimmed, and still lies in a file, out of it.
    func eraseDeleted() async throws

    /// Ends the log: waits for what runs, then lets go of the files. Later calls throw `closed`.
    func close() async
}

extension MessageLog {
    /// Nothing: where there is no file, nothing is left in one.
    package func eraseDeleted() async throws {}

    /// Anywhere.
    package var executor: (any TaskExecutor)? { nil }

    /// ``trim(_:now:overrides:)`` where no channel has a policy of its own.
    package func trim(_ policy: RetentionPolicy, now: WallTime) async throws {
        try await trim(policy, now: now, overrides: nil)
    }

    /// One after the other.
    package func unread(_ asked: [UnreadQuestion]) async throws -> [Int64] {
        var counts: [Int64] = []
        for one in asked {
            counts.append(try await unread(of: one.user, in: one.channel, after: one.after).count)
        }
        return counts
    }

    /// Of a log that does not number its changes.
    package func changes(
        since number: Int64, among names: Dictionary<ChannelName, Int64>.Keys
    ) -> LogChanges {
        LogChanges(through: 0, channels: nil)
    }

    /// The number of the last change, of all channels.
    package func changes(since number: Int64) -> LogChanges {
        changes(since: number, among: [:].keys)
    }

    /// The messages behind `after`, for people and tools; beyond the head there are none.
    package func history(
        of channel: ChannelName, after: Int64, limit: Int
    ) async throws -> LogPage {
        let head = try await state(of: channel).head
        let missing = SequenceRange(after: after, through: head).map { [$0] } ?? []
        return try await page(of: channel, missing: missing, limit: limit, byteLimit: 4 << 20)
    }
}

/// What a user has not read of one channel, to be counted.
package struct UnreadQuestion: Hashable, Sendable {
    package var user: UserID
    package var channel: ChannelName
    /// The last message before those that can be unread: what `Unread/start(read:joined:floor:)`
    /// says.
    package var after: Int64

    package init(user: UserID, channel: ChannelName, after: Int64) {
        self.user = user
        self.channel = channel
        self.after = after
    }
}
