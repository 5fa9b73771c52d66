import RepriseCore
package import RepriseWire
import Synchronization

/// The unread count of users over all their channels: counted once, then updated by recounting the
/// channels that changed.
///
/// A message costs nothing here, however many members its channel has: the log records that the
/// channel changed, and the next push to a member recounts that one channel. A change of one user
/// alone (a position, a membership) is noted for cached users. Everything is in memory, so nothing
/// lags behind the disk: a new process, a restored log or a new epoch begins empty and counts.
///
/// ```swift
/// let counts = UnreadCounts(accounts: accounts, log: log)
/// await counts.prepare(users)  // one batch, before many users are counted
/// let badge = try await counts.count(of: user)
/// ```
package actor UnreadCounts {
    /// The cached counts of one user.
    private struct Kept {
        /// The count of each channel of which the user is a member.
        var counts: [ChannelName: Int64]
        var sum: Int64
        /// The log's change number up to which the counts are correct.
        var through: Int64
        /// The logical time of the last use, for LRU eviction.
        var used: Int64
    }

    /// The channels to count for one user; nil for all of them.
    private struct Job {
        let user: UserID
        let channels: [ChannelName]?
        let through: Int64
    }

    private let accounts: Accounts
    private let log: any MessageLog
    private let limit: Int
    private let readAtOnce: Int
    private var kept: [UserID: Kept] = [:]
    private var size = 0
    private var clock: Int64 = 0
    /// Counts in flight, one per user: two that read at different moments could not be merged.
    private var counting: [UserID: Task<[UserID: Int64], any Error>] = [:]
    /// Channels that changed for cached users or users being counted.
    private let moved = Mutex<[UserID: Set<ChannelName>]>([:])
    /// How often a user was counted from scratch, for tests and statistics.
    package private(set) var recounts = 0

    /// - Parameters:
    ///   - accounts: the users' positions, and events when they change.
    ///   - log: the messages.
    ///   - limit: the most channels cached, of all users together.
    ///   - readAtOnce: the number of channels beyond which one read takes no further user.
    package init(
        accounts: Accounts, log: any MessageLog, limit: Int = PushLimits.badgeKept,
        readAtOnce: Int = PushLimits.badgeStarts
    ) {
        self.accounts = accounts
        self.log = log
        self.limit = limit
        self.readAtOnce = readAtOnce
        accounts.onUnreadMoved { [weak self] user, channel in self?.note(user, channel) }
    }

    private nonisolated func note(_ user: UserID, _ channel: ChannelName) {
        // Changes are noted only for users whose count was requested.
        moved.withLock { _ = $0[user]?.insert(channel) }
    }

    /// The number of a user's unread messages, at most ``RepriseWire/WireLimits/unreadCounted``.
    ///
    /// - Parameter user: the user.
    /// - Returns: a count of a moment after the call.
    /// - Throws: ``RepriseCore/RepriseError``.
    package func count(of user: UserID) async throws -> Int64 {
        var waited = 0
        while true {
            if let count = current(user) { return count }
            guard let running = counting[user] else { break }
            let counts = try? await running.value
            waited += 1
            // The second count awaited began after the call.
            if waited > 1, let count = counts?[user] { return count }
        }
        return try await start([user]).value[user] ?? 0
    }

    /// Counts many users in one batch, where necessary; a failed count is repeated by
    /// ``count(of:)``.
    package func prepare(_ users: Set<UserID>) async {
        var rest = users
        while true {
            rest = rest.filter { counting[$0] == nil && current($0) == nil }
            let some = Array(rest.prefix(PushLimits.badgeUsers))
            guard !some.isEmpty, let counted = try? await start(some).value else { return }
            rest.subtract(counted.keys)
        }
    }

    /// The current count; nil if it must be recounted.
    private func current(_ user: UserID) -> Int64? {
        guard let own = kept[user], moved.withLock({ $0[user]?.isEmpty ?? false }) else {
            return nil
        }
        let changes = log.changes(since: own.through, among: own.counts.keys)
        guard changes.channels?.isEmpty == true else { return nil }
        clock += 1
        kept[user]?.through = changes.through
        kept[user]?.used = clock
        return min(own.sum, WireLimits.unreadCounted)
    }

    private func start(_ users: [UserID]) -> Task<[UserID: Int64], any Error> {
        let task = Task { try await self.recount(users) }
        for user in users { counting[user] = task }
        return task
    }

    private func recount(_ users: [UserID]) async throws -> [UserID: Int64] {
        defer { for user in users { counting[user] = nil } }
        // Later changes are noted; earlier ones are in what is read.
        let jobs = users.map(job)
        do {
            let starts = try await accounts.positions.unreadStarts(
                jobs.map { ($0.user, $0.channels) }, atMost: readAtOnce)
            // Users beyond the limit; their changes are no longer noted.
            for job in jobs.dropFirst(starts.count) { forget(job.user) }
            let asked = zip(jobs, starts).flatMap { job, starts in
                starts.map { UnreadQuestion(user: job.user, channel: $0.0, after: $0.after) }
            }
            var answers = try await log.unread(asked).makeIterator()
            var sums: [UserID: Int64] = [:]
            for (job, starts) in zip(jobs, starts) {
                let counts = starts.map { ($0.0, answers.next()?.count ?? 0) }
                sums[job.user] = take(counts, job)
            }
            makeRoom()
            return sums
        } catch {
            for user in users { forget(user) }
            throw error
        }
    }

    private func job(_ user: UserID) -> Job {
        let moved = moved.withLock { moved in
            defer { moved[user] = [] }
            return moved[user]
        }
        guard let own = kept[user], let moved else {
            // Before the read: the number is meaningless where the log does not number its changes.
            return Job(user: user, channels: nil, through: log.changes(since: .max).through)
        }
        let changes = log.changes(since: own.through, among: own.counts.keys)
        let channels = changes.channels.map { moved.union($0) }
        return Job(user: user, channels: channels.map(Array.init), through: changes.through)
    }

    /// - Returns: the user's sum.
    private func take(_ counts: [(ChannelName, Int64)], _ job: Job) -> Int64 {
        clock += 1
        var own = kept[job.user] ?? Kept(counts: [:], sum: 0, through: 0, used: 0)
        size -= own.counts.count
        if let channels = job.channels {
            for channel in channels { own.sum -= own.counts.removeValue(forKey: channel) ?? 0 }
        } else {
            recounts += 1
            own.counts = [:]
            own.sum = 0
        }
        for (channel, count) in counts where own.counts.count < PushLimits.badgeChannels {
            own.counts[channel] = count
            own.sum += count
        }
        own.through = job.through
        own.used = clock
        size += own.counts.count
        kept[job.user] = own
        return min(own.sum, WireLimits.unreadCounted)
    }

    private func forget(_ user: UserID) {
        size -= kept.removeValue(forKey: user)?.counts.count ?? 0
        moved.withLock { $0[user] = nil }
    }

    /// Evicts the least recently used users until half of the capacity is free.
    private func makeRoom() {
        guard room > limit else { return }
        let oldest = kept.filter { counting[$0.key] == nil }
            .sorted { $0.value.used < $1.value.used }
        for (user, _) in oldest where room > limit / 2 { forget(user) }
    }

    /// The used capacity, in channels.
    private var room: Int { size + kept.count * PushLimits.badgeUserRoom }

    /// The number of cached channels, of all users together.
    package var keptChannels: Int { size }
}
