import GRDB
import Logging
package import RepriseCore
import RepriseJournal
package import RepriseWire
import Synchronization

/// What the client knows of the channels that it follows by itself.
struct FollowedChannels {
    /// The channel that the server named last.
    var directory: ChannelName?
    /// The directory that has a reader.
    var reading: ChannelName?
    /// The channels that were subscribed to for the directory's sake alone.
    var channels: Set<ChannelName> = []
    /// The channels that the app does not want in this run.
    var declined: Set<ChannelName> = []
}

extension Channels {
    /// The user's conversations with the newest messages, newest first.
    ///
    /// Every channel of which the user is a member, as far as this device knows: the server tells
    /// them in a channel of the user's own, the directory.
    ///
    /// - Parameter limit: the most conversations, 1 to 1,000.
    /// - Returns: the conversations.
    /// - Throws: the journal's errors.
    public func conversations(newest limit: Int = 100) async throws -> [Conversation] {
        let now = configuration.timekeeper.wall()
        return try await journal.read { try ConversationRows.newest(limit, now: now, $0) }
    }

    /// The same as a list that updates itself: the current list first, then one after each change.
    ///
    /// A list is read only on demand: a slow consumer gets the newest, and skips those between. It
    /// ends with its task, or when the journal is closed.
    ///
    /// - Parameter limit: the most conversations, 1 to 1,000.
    /// - Returns: the lists.
    public func observeConversations(newest limit: Int = 100) -> AsyncStream<[Conversation]> {
        let watch = ListWatch(
            nil, changeNotifier: readers.changeNotifier, timekeeper: configuration.timekeeper
        ) { [weak self] in
            guard let self else { throw RepriseError(.closed, "The channels are gone.") }
            return try await conversations(newest: limit)
        }
        return AsyncStream { await watch.next() }
    }

    /// Follows the directory, and every channel that it names, until the task is cancelled; after a
    /// failure of the disk again.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.closed`, `.ownershipLost`.
    func followConversations() async throws {
        while !Task.isCancelled {
            do {
                try await followOnce()
                await directoryChanged.wait()
            } catch let error as RepriseError where ![.closed, .ownershipLost].contains(error.code)
            {
                configuration.logger.tell(
                    .error, "Conversations cannot be followed.", ["error": "\(error)"])
                try? await configuration.timekeeper.sleep(for: ConversationLimits.retry)
            }
        }
    }

    private func followOnce() async throws {
        let named = followed.withLock(\.directory)
        let known = try await journal.read { try ConversationRows.directory($0) }
        if let named, named != known {
            try await journal.write { try ConversationRows.set(directory: named, $0) }
        }
        if let directory = named ?? known { try await read(directory: directory) }
        try await followChannels()
    }

    /// The server has welcomed the user.
    func welcomed(directory: ChannelName?) {
        guard configuration.followsConversations, let directory, directory.isDirectory else {
            return
        }
        let isNew = followed.withLock { followed in
            defer { followed.directory = directory }
            return followed.directory != directory
        }
        if isNew { directoryChanged.raise() }
    }

    private func read(directory: ChannelName) async throws {
        let former = followed.withLock(\.reading)
        guard former != directory else { return }
        if let former { try await forget(Self.directoryReader, in: former) }
        try await readers.add(
            .init(channel: directory, name: Self.directoryReader),
            options: ReaderOptions(order: .ordered),
            effect: .inside { [directoryChanged] db, messages in
                try ConversationRows.apply(messages, db)
                db.afterNextTransaction { _ in directoryChanged.raise() }
            })
        followed.withLock { $0.reading = directory }
        try await driver.subscribe(directory, states: broadcaster(of: directory))
    }

    /// The name of the reader that keeps the list of conversations.
    static let directoryReader = "reprise.directory"

    private func followChannels() async throws {
        let (wanted, pending) = try await journal.read {
            (try ConversationRows.followed($0), try ConversationRows.pending($0))
        }
        driver.outbox.awaits(pending)
        let (new, ended) = followed.withLock { followed in
            let ended = followed.channels.subtracting(wanted)
            let new = wanted.filter {
                !followed.declined.contains($0)
                    && (!followed.channels.contains($0) || isRefused($0))
            }
            followed.channels.subtract(ended)
            return (new, ended)
        }
        // One that the app reads stays, as far as the server allows.
        for channel in ended.sorted() where readers.lines(of: channel).isEmpty {
            await driver.unsubscribe(channel)
            readers.changeNotifier.observerList.tell(.left(channel))
        }
        try await withThrowingDiscardingTaskGroup { group in
            for channel in new {
                group.addTask { try await self.follow(channel) }
            }
        }
        // Names, members and mutes may have changed.
        readers.changeNotifier.ringAll()
    }

    private func isRefused(_ channel: ChannelName) -> Bool {
        if case .refused = state(of: channel) { true } else { false }
    }

    /// Subscribes to a channel; to one that was refused again, because the user is a member now.
    private func follow(_ channel: ChannelName) async throws {
        let isOwn = await driver.isSubscribed(channel)
        try await driver.subscribe(channel, states: broadcaster(of: channel))
        if !isOwn { _ = followed.withLock { $0.channels.insert(channel) } }
    }
}

// MARK: - Changes

/// A change of conversations, as it waits in the journal for the server.
package struct ConversationChange: Codable, Hashable, Sendable {
    package enum Verb: String, Codable, Sendable {
        case make, direct, join, leave, invite, remove, rename, profile
    }

    package var verb: Verb
    package var channel: String
    /// Of a new channel, or the new one; nil: none.
    package var title: String?
    /// The former title, if the server refuses the new one.
    package var former: String?
    /// The user's own, for the verb `profile`.
    package var profile: Profile?
    /// Whom it is about.
    package var users: [String] = []

    package init(
        _ verb: Verb, _ channel: ChannelName, title: String? = nil, users: [UserID] = []
    ) {
        (self.verb, self.channel, self.title) = (verb, channel.text, title)
        self.users = users.map(\.text)
    }
}

extension Channels {
    /// The kind of a change of conversations; those of one channel keep their order.
    package static let conversationKind = EntryKind(
        "channels.conversation", requires: [.session],
        backoff: Backoff(base: .milliseconds(500), longest: .seconds(60)), beforeSignIn: .expire,
        parallel: 4)

    /// Records a change; the list shows it at once.
    ///
    /// - Returns: the id of the entry.
    /// - Throws: ``RepriseCore/RepriseError`` `.full`, and the journal's errors.
    package func record(_ change: ConversationChange) async throws -> EntryID {
        let channel = try ChannelName(change.channel)
        let now = configuration.timekeeper.wall()
        let id = try await journal.write { [journal] db in
            var change = change
            switch change.verb {
            case .make, .direct:
                try ConversationRows.begin(
                    channel, title: change.title, role: change.verb == .make ? .owner : .member,
                    others: change.users.compactMap { try? UserID($0) }, at: now, db)
            case .leave: try ConversationRows.end(channel, onlyPending: false, db)
            case .rename:
                change.former = try ConversationRows.title(of: channel, db)
                try ConversationRows.set(title: change.title, of: channel, db)
            case .join, .invite, .remove, .profile: break
            }
            let entry = NewEntry(
                kind: Self.conversationKind.name, payload: try ForeignJSON.encode(change),
                partitionKey: channel.text)
            try journal.record(entry, in: db)
            return entry.id
        }
        let pending = try await journal.read { try ConversationRows.pending($0) }
        driver.outbox.awaits(pending)
        directoryChanged.raise()
        return id
    }

    /// The server has done a change.
    package func done(_ change: ConversationChange) async throws {
        guard [.make, .direct].contains(change.verb) else { return }
        let channel = try ChannelName(change.channel)
        try await journal.write { try ConversationRows.begun(channel, $0) }
        directoryChanged.raise()
    }

    /// The server has refused a change for good: the list is as before.
    package func refused(_ change: ConversationChange) async throws {
        let channel = try ChannelName(change.channel)
        try await journal.write { db in
            switch change.verb {
            case .make, .direct: try ConversationRows.end(channel, onlyPending: true, db)
            case .rename: try ConversationRows.set(title: change.former, of: channel, db)
            case .join, .leave, .invite, .remove, .profile: break
            }
        }
        directoryChanged.raise()
    }
}
