import Foundation
package import Logging
package import RepriseCore
import RepriseWire

/// Publishes what has changed of users' conversations into their directories.
///
/// A change of the accounts and the row that says whom to tell of it are one transaction. Here the
/// rows become messages, and are removed when these are durable: after a crash a row is told
/// again, under the same id, which the log knows. An entry says how things stand when it is
/// written, so that changes that follow each other quickly become one.
package struct DirectoryPublisher: Sendable {
    private let accounts: Accounts
    private let log: any MessageLog
    private let committer: Committer
    private let clock: any Timekeeper
    private let logger: Logger
    private let changed = Signal()
    private static let retry = Backoff(base: .milliseconds(100), longest: .seconds(30))

    package init(
        accounts: Accounts, log: any MessageLog, committer: Committer, clock: any Timekeeper,
        logger: Logger
    ) {
        self.accounts = accounts
        self.log = log
        self.committer = committer
        self.clock = clock
        self.logger = logger
        let changed = changed
        accounts.onDirectoryChanged { changed.raise() }
    }

    /// Publishes until it is cancelled; a failure is tried again.
    package func run() async {
        var failures = 0
        var hasBegun = false
        var tellings = Tellings()
        while !Task.isCancelled {
            do {
                if !hasBegun, !accounts.isInCluster { try await accounts.directories.begin() }
                hasBegun = true
                while try await publishNext() {}
                let next = try await tellMany(&tellings)
                failures = 0
                if let next {
                    await changed.wait(until: next, by: clock)
                } else {
                    await changed.wait()
                }
            } catch let error as RepriseError where error.code == .closed {
                return  // The server ends.
            } catch {
                guard !Task.isCancelled else { return }
                failures += 1
                logger.warning(
                    "directory entries could not be published", metadata: ["error": "\(error)"])
                let pause = Self.retry.delay(failures: failures, jitter: 0.5)
                try? await clock.sleep(for: pause)
            }
        }
    }

    /// When many were told of something last.
    package struct Tellings {
        fileprivate var last: [DirectoryStore.Telling.Subject: Duration] = [:]

        package init() {}
    }

    /// Tells many of what is due: of each channel, and of each user's profile, once a minute.
    ///
    /// - Returns: the uptime at which the next is due; nil: none waits.
    package func tellMany(_ tellings: inout Tellings) async throws -> Duration? {
        let now = clock.uptime()
        tellings.last = tellings.last.filter { $0.value + DirectoryLimits.betweenTellings > now }
        var next: Duration?
        for telling in try await accounts.directories.tellings() {
            if let last = tellings.last[telling.subject] {
                let due = last + DirectoryLimits.betweenTellings
                next = min(next ?? due, due)
                continue
            }
            tellings.last[telling.subject] = now
            switch telling.subject {
            case .channel(let channel):
                var after: UserID?
                while true {
                    let page = try await accounts.members(
                        of: channel, after: after, limit: DirectoryLimits.entriesPerCommit)
                    guard !page.isEmpty else { break }
                    try await tell(page.map { ($0.user, channel) }, telling.number)
                    after = page.last?.user
                }
            case .profile(let user):
                var rest = try await accounts.directories.fellows(of: user)[...]
                while !rest.isEmpty {
                    try await tell(
                        Array(rest.prefix(DirectoryLimits.entriesPerCommit)), telling.number)
                    rest = rest.dropFirst(DirectoryLimits.entriesPerCommit)
                }
            }
            try await accounts.perform(NoteTold([telling.number]))
        }
        return next
    }

    /// Tells a page of many, and then all other changes: they do not wait for the next pages.
    private func tell(
        _ page: [(user: UserID, channel: ChannelName)], _ number: Int64
    ) async throws {
        try await tell(page.map { .init(number: number, user: $0.user, channel: $0.channel) })
        for user in Set(page.map(\.user)) { try await compact(user) }
        while try await publishNext() {}
    }

    /// Publishes the next changes, as many as one commit holds.
    ///
    /// - Returns: whether there were any.
    package func publishNext() async throws -> Bool {
        let directories = accounts.directories
        let changes = try await directories.changes(limit: DirectoryLimits.entriesPerCommit)
        guard let first = changes.first else { return false }
        if first.channel == nil {
            try await tellAll(first)
            return true
        }
        let single = Array(changes.prefix { $0.channel != nil })
        try await tell(single)
        try await accounts.perform(
            NoteTold(single.map(\.number), of: Set(single.map(\.user))))
        for user in Set(single.map(\.user)).sorted(by: { $0.text < $1.text }) {
            try await compact(user)
        }
        return true
    }

    /// Tells every conversation of a user, and removes what was told before.
    private func tellAll(_ change: DirectoryStore.Change) async throws {
        let directories = accounts.directories
        let begin = try await mark(.begin, change)
        var last: ChannelName?
        while true {
            let page = try await directories.conversations(
                of: change.user, after: last, limit: DirectoryLimits.entriesPerCommit)
            guard !page.isEmpty else { break }
            try await tell(
                page.map { .init(number: change.number, user: change.user, channel: $0) })
            last = page.last
        }
        try await mark(.end, change)
        if begin > 1 {
            _ = try await log.trim(.directory(of: change.user), through: begin - 1)
        }
        try await accounts.perform(NoteTold([change.number], of: [change.user]))
    }

    /// Tells a directory anew that has many entries which later ones have replaced.
    private func compact(_ user: UserID) async throws {
        let state = try await log.state(of: .directory(of: user))
        let count = state.head - state.floor
        guard count > DirectoryLimits.superseded,
            count > DirectoryLimits.superseded + 2
                * (try await accounts.directories.count(of: user))
        else { return }
        try await accounts.perform(TellAnew(user))
    }

    /// Stores an entry for each change.
    private func tell(_ changes: [DirectoryStore.Change]) async throws {
        let entries = try await accounts.directories.entries(changes)
        guard !entries.isEmpty else { return }
        _ = try await store(
            try zip(changes, entries).map { try Self.message($1.entry, $1.id, to: $0.user) })
    }

    /// - Returns: the sequence.
    @discardableResult
    private func mark(
        _ marker: DirectoryEntry.Marker, _ change: DirectoryStore.Change
    ) async throws -> Int64 {
        let entry = DirectoryEntry(marker)
        let id = try await accounts.directories.id(entry, change)
        return try await store([try Self.message(entry, id, to: change.user)])[0]
    }

    /// - Returns: the sequences.
    private func store(_ messages: [NewMessage]) async throws -> [Int64] {
        try await committer.commit(messages).map { result in
            switch result {
            case .stored(let event): return event.seq
            case .duplicate(let seq): return seq
            case .buried, .refused:
                throw RepriseError(.internal, "A directory's entry was refused: \(result)")
            }
        }
    }

    private static func message(
        _ entry: DirectoryEntry, _ id: EntryID, to user: UserID
    ) throws -> NewMessage {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return NewMessage(
            channel: .directory(of: user), id: id, body: Array(try encoder.encode(entry)))
    }
}
