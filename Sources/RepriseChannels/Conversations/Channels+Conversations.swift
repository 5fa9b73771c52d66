import Foundation
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
    /// Whether that was read to its end once.
    var isRead = false
    /// The channels that wait for that.
    var held: Set<ChannelName> = []
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
    /// - Parameters:
    ///   - limit: the most conversations, 1 to 1,000.
    ///   - isArchived: whether only the archived ones; else all others.
    /// - Returns: the conversations.
    /// - Throws: the journal's errors.
    public func conversations(
        newest limit: Int = 100, isArchived: Bool = false
    ) async throws -> [Conversation] {
        let now = configuration.timekeeper.wall()
        return try await journal.read {
            try ConversationRows.newest(limit, isArchived: isArchived, now: now, $0)
        }
    }

    /// The same as a list that updates itself: the current list first, then one after each change.
    ///
    /// A list is read only on demand: a slow consumer gets the newest, and skips those between. It
    /// ends with its task, or when the journal is closed.
    ///
    /// - Parameters:
    ///   - limit: the most conversations, 1 to 1,000.
    ///   - isArchived: whether only the archived ones; else all others.
    /// - Returns: the lists.
    public func observeConversations(
        newest limit: Int = 100, isArchived: Bool = false
    ) -> AsyncStream<[Conversation]> {
        let watch = ListWatch(
            nil, changeNotifier: readers.changeNotifier, timekeeper: configuration.timekeeper
        ) { [weak self] in
            guard let self else { throw RepriseError(.closed, "The channels are gone.") }
            return try await conversations(newest: limit, isArchived: isArchived)
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
        (isNew ? directoryChanged : mayHaveUnfollowed).raise()
    }

    private func read(directory: ChannelName) async throws {
        let former = followed.withLock(\.reading)
        guard former != directory else { return }
        if let former { try await forget(Self.directoryReader, in: former) }
        try await readers.add(
            .init(channel: directory, name: Self.directoryReader),
            options: ReaderOptions(order: .ordered),
            effect: .inside { [directoryChanged, readers] db, messages in
                let told = try ConversationRows.apply(messages, db)
                db.afterNextTransaction { _ in
                    directoryChanged.raise()
                    // A banner may wait for its name.
                    for channel in told { readers.changeNotifier.ring(channel) }
                }
            })
        followed.withLock { ($0.reading, $0.isRead) = (directory, false) }
        try await driver.subscribe(directory, states: broadcaster(of: directory))
    }

    /// The channels that the directory may be about to tell for the first time: until it is read to
    /// its end, when their observers hear of it.
    package func untold(of names: [ChannelName]) async throws -> Set<ChannelName> {
        guard let directory = followed.withLock({ $0.isRead ? nil : $0.directory }),
            try await !isRead(directory)
        else { return [] }
        let untold = try await journal.read { db in
            try Set(names.filter { try !ConversationRows.isKnown($0, db) })
        }
        if !untold.isEmpty { hold(untold) }
        return untold
    }

    private func isRead(_ directory: ChannelName) async throws -> Bool {
        guard let end = await driver.flows(of: [directory])[directory]?.liveAfter,
            let cursor = readers.lines(of: directory).first?.through.value
        else { return false }
        let store = readers.store(
            .init(channel: directory, name: Self.directoryReader), order: .ordered)
        let isRead = try await journal.read { db in
            try Self.isWhole(directory, through: end, db) && store.rows.newest(db) <= cursor
        }
        if isRead { followed.withLock { $0.isRead = $0.directory == directory } }
        return isRead
    }

    /// Looks for a while whether the directory is read: it may have nothing new to tell.
    private func hold(_ names: Set<ChannelName>) {
        let isFirst = followed.withLock { followed in
            defer { followed.held.formUnion(names) }
            return followed.held.isEmpty
        }
        guard isFirst else { return }
        Task { [weak self] in
            for _ in 0..<ConversationLimits.looks {
                try? await Task.sleep(for: ConversationLimits.look)
                guard let self, let directory = followed.withLock(\.directory) else { break }
                if (try? await isRead(directory)) == true { break }
            }
            guard let self else { return }
            let held = followed.withLock { followed in
                defer { followed.held = [] }
                return followed.held
            }
            for name in held {
                readers.changeNotifier.ring(name)
            }
        }
    }

    /// Whether the journal has all of a channel up to a sequence.
    private static func isWhole(
        _ channel: ChannelName, through end: Int64, _ db: Database
    ) throws -> Bool {
        guard end > 0 else { return true }
        guard let standing = try ChannelReading.standing(of: channel, db) else { return false }
        return standing.isComplete && standing.head >= end
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
        mayHaveUnfollowed.raise()
    }

    /// The conversations of which this device gets no messages, and those whose unread messages the
    /// server has counted because of that.
    package func unfollowed() async throws -> Set<ChannelName> {
        let names = try await journal.read {
            Set(try ConversationRows.channels($0) + ReceiptRows.elsewhere($0))
        }
        return await driver.notSubscribed(of: names)
    }

    /// Takes the server's counts of what is unread in channels that this device does not follow.
    ///
    /// - Parameters:
    ///   - counts: of all channels with unread messages.
    ///   - epoch: of the server's log.
    /// - Throws: as ``RepriseJournal/Journal/write(_:)``.
    package func counted(_ counts: [ChannelName: Unread], epoch: Epoch) async throws {
        let names = try await unfollowed()
        let taken = try await journal.write { [readers] db in
            let counted = names.intersection(
                Set(counts.keys).union(try ReceiptRows.elsewhere(db)))
            let changed = try counted.filter {
                try ReceiptRows.count(counts[$0], of: $0, epoch, db)
            }
            db.afterNextTransaction { _ in
                for channel in changed { readers.changeNotifier.ring(channel) }
            }
            return counted
        }
        // One that is followed meanwhile counts by itself.
        let followed = await taken.subtracting(driver.notSubscribed(of: taken))
        guard !followed.isEmpty else { return }
        try await journal.write { [readers] db in
            for channel in followed { try ReceiptRows.follow(channel, db) }
            db.afterNextTransaction { _ in
                for channel in followed { readers.changeNotifier.ring(channel) }
            }
        }
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
        case make, direct, join, leave, invite, remove, rename, profile, archive, unarchive
        case presence
    }

    package var verb: Verb
    package var channel: String
    /// Of a new channel, or the new one; nil: none.
    package var title: String?
    /// The title that the server told last, if it refuses the new one.
    package var former: String?
    /// Since when the list has it archived, for the verbs `archive` and `unarchive`; nil: not.
    package var archived: Int64?
    /// The same as the server told it last.
    package var formerArchived: Int64?
    /// The user's own, for the verb `profile`.
    package var profile: Profile?
    /// Whether the user hides, for the verb `presence`.
    package var isHidden: Bool?
    /// Whom it is about.
    package var users: [String] = []

    package init(
        _ verb: Verb, _ channel: ChannelName, title: String? = nil, users: [UserID] = []
    ) {
        (self.verb, self.channel, self.title) = (verb, channel.text, title)
        self.users = users.map(\.text)
    }

    /// Whether the list has it archived, or not, by this change.
    ///
    /// A former version did not note since when it had archived one that was not.
    fileprivate func mayHaveArchived(_ shown: Int64?) -> Bool {
        archived == shown || verb == .archive && archived == nil
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
            case .leave: try ConversationRows.leave(channel, db)
            case .rename:
                let shown = try ConversationRows.title(of: channel, db)
                let last = try Self.lastWaiting([.rename], in: channel, db)
                change.former = last?.title == shown ? last?.former : shown
                try ConversationRows.set(title: change.title, of: channel, db)
            case .archive, .unarchive:
                change.archived = change.verb == .archive ? now.milliseconds : nil
                let shown = try ConversationRows.archived(channel, db)
                let last = try Self.lastWaiting([.archive, .unarchive], in: channel, db)
                change.formerArchived =
                    last?.mayHaveArchived(shown) ?? false ? last?.formerArchived : shown
                try ConversationRows.set(archived: change.archived, of: channel, db)
            case .join, .invite, .remove, .profile, .presence: break
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

    /// The last change of these verbs that waits.
    ///
    /// As long as the list shows what that made of it, its former value is what the server told.
    private static func lastWaiting(
        _ verbs: Set<ConversationChange.Verb>, in channel: ChannelName, _ db: Database
    ) throws -> ConversationChange? {
        let payloads = try Data.fetchCursor(
            db,
            sql: """
                SELECT payload FROM entry
                WHERE kind = ? AND lane = ? AND lane IS NOT NULL AND state < 10 ORDER BY seq DESC
                """, arguments: [conversationKind.name, channel.text])
        while let payload = try payloads.next() {
            let change = try? ForeignJSON.decode(ConversationChange.self, from: Array(payload))
            if let change, verbs.contains(change.verb) { return change }
        }
        return nil
    }

    /// The changes of a conversation: how many wait for the server, and those that it has refused
    /// for good last, oldest first.
    ///
    /// - Parameter channel: the conversation's channel.
    /// - Returns: at most ``OutboxLimits/listed`` refused ones, each with the server's words.
    /// - Throws: the journal's errors.
    package func changes(
        of channel: ChannelName
    ) async throws -> (waiting: Int, refused: [Entry]) {
        try await journal.read { db -> (waiting: Int, refused: [Entry]) in
            let those: StatementArguments = [Self.conversationKind.name, channel.text]
            let waiting = try Int.fetchOne(
                db,
                sql: """
                    SELECT COUNT(*) FROM entry
                    WHERE kind = ? AND lane = ? AND lane IS NOT NULL AND state < 10
                    """, arguments: those)
            let refused = try String.fetchAll(
                db,
                sql: """
                    SELECT id FROM entry WHERE state = 13 AND kind = ? AND lane = ?
                    ORDER BY due DESC, seq DESC LIMIT \(OutboxLimits.listed)
                    """, arguments: those)
            return (
                waiting: waiting ?? 0,
                refused: try refused.reversed().compactMap {
                    try Journal.entry(EntryID($0), in: db)
                }
            )
        }
    }

    /// Asks the server again for a change that it has refused.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.noSuchEntry`, and the journal's errors.
    package func retry(refused id: EntryID) async throws { try await journal.retry(id) }

    /// Gives a refused change up.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.noSuchEntry`, and the journal's errors.
    package func discard(refused id: EntryID) async throws { try await journal.discard(id) }

    /// The server has done a change.
    package func done(_ change: ConversationChange) async throws {
        guard [.make, .direct, .leave].contains(change.verb) else { return }
        let channel = try ChannelName(change.channel)
        try await journal.write { db in
            if change.verb == .leave {
                try ConversationRows.end(channel, .left, db)
                try ConversationRows.ended(channel, db)
            } else {
                try ConversationRows.stay(channel, .begun, .begunAgain, in: db)
            }
        }
        directoryChanged.raise()
    }

    /// The server has refused a change for good: the list is as the server told it last, if it
    /// still has what this change made of it.
    package func refused(_ change: ConversationChange) async throws {
        let channel = try ChannelName(change.channel)
        try await journal.write { db in
            switch change.verb {
            case .make, .direct:
                try ConversationRows.end(channel, .begun, db)
                try ConversationRows.stay(channel, .begunAgain, in: db)
            case .leave: try ConversationRows.stay(channel, .left, .begunAgain, in: db)
            case .rename:
                guard try ConversationRows.title(of: channel, db) == change.title else { break }
                try ConversationRows.set(title: change.former, of: channel, db)
            case .archive, .unarchive:
                let shown = try ConversationRows.archived(channel, db)
                guard change.mayHaveArchived(shown) else { break }
                try ConversationRows.set(archived: change.formerArchived, of: channel, db)
            case .join, .invite, .remove, .profile, .presence: break
            }
        }
        directoryChanged.raise()
    }

    /// Keeps what the user has begun to write in a conversation, on this device alone.
    ///
    /// - Parameters:
    ///   - text: at most 16,384 bytes; nil or empty: nothing.
    ///   - name: the conversation's channel.
    /// - Throws: ``RepriseCore/RepriseError`` `.tooLarge`, `.badChannelName`; `.noSuchEntry` if
    ///   this device knows no such conversation; `.full` beyond 1,000 drafts; the journal's errors.
    public func setDraft(_ text: String?, in name: String) async throws {
        let channel = try ChannelName(name)
        let draft = text?.isEmpty == true ? nil : text
        guard (draft?.utf8.count ?? 0) <= ConversationLimits.draftBytes else {
            throw RepriseError(
                .tooLarge, "A draft has at most \(ConversationLimits.draftBytes) bytes.",
                remedy: "Shorten it.")
        }
        try await journal.write { db in
            if draft != nil {
                guard try ConversationRows.isKnown(channel, db) else {
                    throw RepriseError(
                        .noSuchEntry, "This device knows no conversation \(channel).",
                        remedy: "Join it, or wait until client.conversations has it.")
                }
                let others = try ConversationRows.drafts(besides: channel, db)
                guard others < ConversationLimits.drafts else {
                    throw RepriseError(
                        .full, "A device keeps at most \(ConversationLimits.drafts) drafts.",
                        remedy: "Send one, or remove it.")
                }
            }
            try ConversationRows.set(draft: draft, in: channel, db)
        }
        readers.changeNotifier.ringAll()
    }
}
