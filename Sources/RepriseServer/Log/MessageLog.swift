package import RepriseCore
package import RepriseWire

/// The durable order of every channel's messages: what the whole server trusts.
///
/// Every sequence up to a channel's head lies in exactly one stored message's (prev, seq] or at or below the floor. `prev`
/// is fixed when the message is stored; trimming moves the floor and touches neither the head nor any `prev`.
///
/// Ids are unique over the whole log, not per channel: a device merges all paths of a message by its id, so two messages
/// with one id would become one there. The log remembers an id for max(the message's own life, 30 days).
///
/// Every failure is a ``RepriseCore/RepriseError``.
package protocol MessageLog: Sendable {
    /// Stores a batch in one durable transaction and returns, in order, one result a message once all of it is durable.
    ///
    /// Called by one task at a time: `Committer`. When it throws, nothing of the batch is known to be stored, and
    /// what the log remembered of the heads is discarded.
    func append(_ batch: [NewMessage]) async throws -> [AppendResult]

    /// Proves that the log can be written, by a durable write that no reader sees.
    func probe() async throws

    /// Where a channel stands: head 0 and floor 0 if it has no messages yet; asking creates nothing.
    func state(of channel: ChannelName) async throws -> ChannelState

    /// Answers `missing` (in order, apart) from its beginning on, as far as one page goes.
    ///
    /// Each sequence of `missing` up to `LogPage/through` lies in exactly one event's (prev, seq] or one `gone`. An
    /// event that accounts for more than was asked is sent as it is, because readers never change `prev`. At most
    /// `limit` messages with `byteLimit` bytes of bodies, but one message whatever its size. Floor, head and rows
    /// are of one and the same moment.
    func page(
        of channel: ChannelName, missing: [SequenceRange], limit: Int, byteLimit: Int
    ) async throws -> LogPage

    /// What a user has not read of a channel, counted at its head; see `Unread`.
    ///
    /// - Parameters:
    ///   - user: whose own messages do not count.
    ///   - channel: the channel.
    ///   - after: what `Unread/start(read:joined:floor:)` says; the log knows the floor itself, so 0 will do for it.
    /// - Returns: the count, and the head it is of.
    /// - Throws: ``RepriseCore/RepriseError``.
    func unread(of user: UserID, in channel: ChannelName, after: Int64) async throws -> Unread

    /// What a user has not read of several channels together, counted up to ``RepriseWire/WireLimits/unreadCounted``.
    ///
    /// - Parameters:
    ///   - user: whose own messages do not count.
    ///   - channels: each with what `Unread/start(read:joined:floor:)` says.
    /// - Returns: the sum.
    /// - Throws: ``RepriseCore/RepriseError``.
    func unread(of user: UserID, in channels: [(ChannelName, after: Int64)]) async throws -> Int64

    /// Takes the messages up to and including `through` away and says where the channel stands then.
    ///
    /// Beyond the head it takes all there is and leaves the head.
    func trim(_ channel: ChannelName, through: Int64) async throws -> ChannelState

    /// Takes away what `policy`, or a channel's own over it, no longer keeps, and forgets ids whose time is over; `now` is the calendar
    /// as far as the caller believes it. Without `overrides` no channel has a policy of its own.
    func trim(
        _ policy: RetentionPolicy, now: WallTime, overrides: RetentionOverrides?
    ) async throws

    /// Ends the log: waits for what runs, then lets go of the files. Later calls throw `closed`.
    func close() async
}

extension MessageLog {
    /// ``trim(_:now:overrides:)`` where no channel has a policy of its own.
    package func trim(_ policy: RetentionPolicy, now: WallTime) async throws {
        try await trim(policy, now: now, overrides: nil)
    }

    /// One channel after the other.
    package func unread(
        of user: UserID, in channels: [(ChannelName, after: Int64)]
    ) async throws -> Int64 {
        var sum: Int64 = 0
        for (channel, after) in channels where sum < WireLimits.unreadCounted {
            sum += try await unread(of: user, in: channel, after: after).count
        }
        return min(sum, WireLimits.unreadCounted)
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
