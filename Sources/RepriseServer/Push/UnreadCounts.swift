import RepriseCore
package import RepriseWire
import Synchronization

/// What users have not read of all their channels: counted once, then kept right by counting anew
/// what has changed.
///
/// A message costs nothing here, however many members its channel has: the log notes that the
/// channel has changed, and whoever is pushed next has this one channel counted again. What moves
/// for one user alone (a position, a membership) is noted for the users that are kept. All of it is
/// in memory, so nothing can be behind the disk: a new process, a restored log or a new epoch
/// begins with nothing and counts.
///
/// ```swift
/// let counts = UnreadCounts(accounts: accounts, log: log)
/// await counts.prepare(users)  // together, when many are about to be asked for
/// let badge = try await counts.count(of: user)
/// ```
package actor UnreadCounts {
    /// One user's.
    private struct Kept {
        /// Of every channel of which the user is a member.
        var counts: [ChannelName: Int64]
        var sum: Int64
        /// The log's change up to which they are right.
        var through: Int64
        /// For finding out who was not asked for the longest.
        var used: Int64
    }

    /// What is to be counted for one user; nil is everything.
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
    /// Counts that are under way, one for a user: what two of them found at different moments could
    /// not be put together.
    private var counting: [UserID: Task<[UserID: Int64], any Error>] = [:]
    /// What has moved for the users that are kept or being counted.
    private let moved = Mutex<[UserID: Set<ChannelName>]>([:])
    /// How often a user was counted from nothing, for tests and figures.
    package private(set) var recounts = 0

    /// - Parameters:
    ///   - accounts: say where users stand, and tell when that changes.
    ///   - log: the messages.
    ///   - limit: how many channels are kept, of all users together.
    ///   - readAtOnce: beyond so many channels no further user is begun with in one read.
    package init(
        accounts: Accounts, log: any MessageLog, limit: Int = PushLimits.badgeKept,
        readAtOnce: Int = PushLimits.badgeStarts
    ) {
        self.accounts = accounts
        self.log = log
        self.limit = limit
        self.readAtOnce = readAtOnce
        accounts.onStandingMoved { [weak self] user, channel in self?.note(user, channel) }
    }

    private nonisolated func note(_ user: UserID, _ channel: ChannelName) {
        // Nothing is noted for users that nobody has asked about.
        moved.withLock { _ = $0[user]?.insert(channel) }
    }

    /// How many messages a user has not read, at most ``RepriseWire/WireLimits/unreadCounted``.
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
            // The second one that was waited for began after the call.
            if waited > 1, let count = counts?[user] { return count }
        }
        return try await start([user]).value[user] ?? 0
    }

    /// Counts for many users together, as far as that is necessary; what fails is counted when it
    /// is asked for.
    package func prepare(_ users: Set<UserID>) async {
        var rest = users
        while true {
            rest = rest.filter { counting[$0] == nil && current($0) == nil }
            let some = Array(rest.prefix(PushLimits.badgeUsers))
            guard !some.isEmpty, let counted = try? await start(some).value else { return }
            rest.subtract(counted.keys)
        }
    }

    /// Nil if it has to be counted.
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
        // What changes from here on is noted, and what had changed before is in what is read.
        let jobs = users.map(job)
        do {
            let (accounts, log) = (accounts, log)
            let starts = try await accounts.unreadStarts(
                jobs.map { ($0.user, $0.channels) }, atMost: readAtOnce)
            // Those for whom there was no room; what had moved for them is not noted any more.
            for job in jobs.dropFirst(starts.count) { forget(job.user) }
            let asked = zip(jobs, starts).flatMap { job, starts in
                starts.map { UnreadQuestion(user: job.user, channel: $0.0, after: $0.after) }
            }
            var answers = try await log.unread(asked).makeIterator()
            var sums: [UserID: Int64] = [:]
            for (job, starts) in zip(jobs, starts) {
                let counts = starts.map { ($0.0, answers.next() ?? 0) }
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
            // Asked before reading: the number is of no use where the log does not number its
            // changes.
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

    /// Forgets those that were not asked for the longest, until half of the room is free.
    private func makeRoom() {
        guard room > limit else { return }
        let oldest = kept.filter { counting[$0.key] == nil }
            .sorted { $0.value.used < $1.value.used }
        for (user, _) in oldest where room > limit / 2 { forget(user) }
    }

    /// What is kept takes the room of so many channels.
    private var room: Int { size + kept.count * PushLimits.badgeUserRoom }

    /// How many channels are kept, of all users together.
    package var keptChannels: Int { size }
}
