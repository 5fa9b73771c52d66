import Foundation
import GRDB
package import RepriseCore
import RepriseJournal
package import RepriseWire

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
            nil, in: journal, changeNotifier: readers.changeNotifier,
            timekeeper: configuration.timekeeper
        ) { [weak self] in
            guard let self else { throw RepriseError(.closed, "The channels are gone.") }
            return try await conversations(newest: limit, isArchived: isArchived)
        }
        return AsyncStream { await watch.next() }
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
        // All in one: a cancelled task's read would throw, and the change is recorded.
        let (id, pending) = try await journal.write {
            [journal] db -> (EntryID, Set<ChannelName>) in
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
            return (entry.id, try ConversationRows.pending(db))
        }
        driver.outbox.awaits(pending)
        follower.listChanged()
        return id
    }

    /// The last change of these verbs that waits.
    ///
    /// As long as the list shows what that made of it, its former value is what the server told.
    private static func lastWaiting(
        _ verbs: Set<ConversationChange.Verb>, in channel: ChannelName, _ db: Database
    ) throws -> ConversationChange? {
        try last(verbs, in: channel, where: "lane IS NOT NULL AND state < 10", db)
    }

    private static func last(
        _ verbs: Set<ConversationChange.Verb>, in channel: ChannelName, where condition: String,
        _ db: Database
    ) throws -> ConversationChange? {
        let payloads = try Data.fetchCursor(
            db,
            sql: """
                SELECT payload FROM entry
                WHERE kind = ? AND lane = ? AND \(condition) ORDER BY seq DESC
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

    /// A dead letter was given up: with the beginning of a conversation that is not there goes its
    /// draft, unless another refused one can bring both back.
    static func discarded(_ entry: Entry, _ db: Database) throws {
        let beginnings: Set<ConversationChange.Verb> = [.make, .direct]
        guard entry.kind == conversationKind.name,
            let change = try? ForeignJSON.decode(ConversationChange.self, from: entry.payload),
            beginnings.contains(change.verb), let channel = try? ChannelName(change.channel),
            try last(beginnings, in: channel, where: "state = 13", db) == nil
        else { return }
        try ConversationRows.dropDraft(ofAbsent: channel, db)
    }

    /// The server has done a change.
    package func done(_ change: ConversationChange) async throws {
        guard [.make, .direct, .leave].contains(change.verb) else { return }
        let channel = try ChannelName(change.channel)
        try await journal.write { db in
            if change.verb == .leave {
                try ConversationRows.end(channel, .left, db)
                try ConversationRows.ended(channel, db)
                try ConversationRows.dropDraft(ofLeft: channel, db)
            } else {
                try ConversationRows.stay(channel, .begun, .begunAgain, in: db)
            }
        }
        follower.listChanged()
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
        follower.listChanged()
    }

    /// Keeps what the user has begun to write in a conversation, on this device alone: until the
    /// app removes it, or the user has left the conversation from here.
    ///
    /// It stays where a conversation is gone for another reason, or the server refuses to begin it,
    /// and is there when the conversation is; unless that refusal is discarded, or its place is
    /// needed.
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
                guard try ConversationRows.hasRoom(forDraftIn: channel, db) else {
                    throw RepriseError(
                        .full, "A device keeps at most \(ConversationLimits.drafts) drafts.",
                        remedy: "Send one, or remove it.")
                }
            }
            try ConversationRows.set(draft: draft, in: channel, db)
        }
        readers.changeNotifier.notifyObserversOfAll()
    }
}
