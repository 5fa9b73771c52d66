package import RepriseCore
package import RepriseWire

/// The durable order of each channel's messages.
///
/// Invariant: each sequence up to a channel's head lies in exactly one stored message's (prev,
/// seq], or at or below the floor. `prev` is fixed when the message is stored; trimming moves the
/// floor and changes neither the head nor any `prev`.
///
/// Ids are unique over the whole log, not per channel: a device merges all paths of a message by
/// its id, so two messages with one id would become one there. The log remembers an id for max(the
/// message's own life, 30 days).
///
/// Every failure is a ``RepriseCore/RepriseError``; a cancelled trim may throw `CancellationError`.
package protocol MessageLog: Sendable {
    /// Stores a batch in one durable transaction and returns, in order, one result per message once
    /// all of it is durable.
    ///
    /// Called by one task at a time: `Committer`. If it throws, no message of the batch is known to
    /// be stored, and the log discards its cached heads.
    func append(_ batch: [NewMessage]) async throws -> [AppendResult]

    /// As ``append(_:)``, for what a server took at a moment of its uptime; nil is now.
    ///
    /// A cluster counts the time for its answer from then.
    func append(_ batch: [NewMessage], since taken: Duration?) async throws -> [AppendResult]

    /// The executor to append from, so that no thread is woken between two batches; nil for any.
    var executor: (any TaskExecutor)? { get }

    /// Verifies that the log is writable, by a durable write that no reader sees.
    func probe() async throws

    /// A channel's head and floor: 0 and 0 if it has no messages yet; reading creates nothing.
    func state(of channel: ChannelName) async throws -> LogChannelState

    /// A channel's newest durable sequence, read on the caller's thread; 0 if it has no messages.
    func head(of channel: ChannelName) throws -> Int64

    /// Returns the beginning of `missing` (sorted, disjoint), as far as one page goes.
    ///
    /// Invariant: each sequence of `missing` up to `LogPage/through` lies in exactly one event's
    /// (prev, seq] or one `gone`. An event that covers more than was requested is sent unchanged,
    /// because readers never change `prev`. At most `limit` messages with `byteLimit` bytes of
    /// bodies, but at least one message of any size. Floor, head and rows are of one snapshot.
    func page(
        of channel: ChannelName, missing: [SequenceRange], limit: Int, byteLimit: Int
    ) async throws -> LogPage

    /// A user's unread messages in a channel, counted at its head; see `Unread`.
    ///
    /// - Parameters:
    ///   - user: whose own messages are not counted.
    ///   - channel: the channel.
    ///   - after: the result of `Unread/start(read:joined:floor:)`; the floor may be 0, since the
    ///     log knows it.
    /// - Returns: the count, and its head.
    /// - Throws: ``RepriseCore/RepriseError``.
    func unread(of user: UserID, in channel: ChannelName, after: Int64) async throws -> Unread

    /// The unread messages of several users, each counted as by ``unread(of:in:after:)``.
    ///
    /// - Parameter asked: the users, their channels and the sequences behind which to count.
    /// - Returns: a count for each.
    /// - Throws: ``RepriseCore/RepriseError``.
    func unread(_ asked: [UnreadQuestion]) async throws -> [Unread]

    /// Those of some channels whose counts may have changed.
    ///
    /// A change is recorded when it is durable, and before anybody is notified of it.
    ///
    /// - Parameters:
    ///   - number: the last known change.
    ///   - names: the channels.
    /// - Returns: the last change, and the channels; of a log that does not number its changes, a
    ///   useless number.
    func changes(
        since number: Int64, among names: Dictionary<ChannelName, Int64>.Keys
    ) -> LogChanges

    /// Removes the messages up to and including `through` and returns the channel's state.
    ///
    /// Beyond the head it removes everything and leaves the head. A large trim takes minutes: a
    /// cancelled one ends with its transaction.
    func trim(_ channel: ChannelName, through: Int64) async throws -> LogChannelState

    /// Removes what `policy`, or a channel's own policy, no longer keeps, and forgets expired ids;
    /// `now` is the wall clock as far as the caller trusts it. Without `overrides` no channel has
    /// its own policy.
    func trim(
        _ policy: RetentionPolicy, now: WallTime, overrides: RetentionOverrides?
    ) async throws

    /// Erases deleted and trimmed content from the files.
    func eraseDeleted() async throws

    /// Closes the log: waits for running calls, then releases the files. Later calls throw
    /// `closed`.
    func close() async
}

extension MessageLog {
    /// A log of one's own answers when it has stored.
    package func append(
        _ batch: [NewMessage], since taken: Duration?
    ) async throws -> [AppendResult] {
        try await append(batch)
    }

    /// Does nothing: a log without a file has nothing to erase.
    package func eraseDeleted() async throws {}

    /// Nil: any executor.
    package var executor: (any TaskExecutor)? { nil }

    /// ``trim(_:now:overrides:)`` without channels' own policies.
    package func trim(_ policy: RetentionPolicy, now: WallTime) async throws {
        try await trim(policy, now: now, overrides: nil)
    }

    /// Counts one after the other.
    package func unread(_ asked: [UnreadQuestion]) async throws -> [Unread] {
        var counts: [Unread] = []
        for one in asked {
            counts.append(try await unread(of: one.user, in: one.channel, after: one.after))
        }
        return counts
    }

    /// For a log that does not number its changes.
    package func changes(
        since number: Int64, among names: Dictionary<ChannelName, Int64>.Keys
    ) -> LogChanges {
        LogChanges(through: 0, channels: nil)
    }

    /// The number of the last change over all channels.
    package func changes(since number: Int64) -> LogChanges {
        changes(since: number, among: [:].keys)
    }

    /// The messages after `after`, for people and tools; none beyond the head.
    package func history(
        of channel: ChannelName, after: Int64, limit: Int
    ) async throws -> LogPage {
        let rest = SequenceRange(after: after, through: WireLimits.greatestSequence)
        let missing = rest.map { [$0] } ?? []
        return try await page(
            of: channel, missing: missing, limit: limit, byteLimit: HTTPLimits.historyBytes)
    }
}

/// A user's unread messages in one channel, to be counted.
package struct UnreadQuestion: Hashable, Sendable {
    package var user: UserID
    package var channel: ChannelName
    /// The last message before the first that can be unread: see
    /// `Unread/start(read:joined:floor:)`.
    package var after: Int64
}
