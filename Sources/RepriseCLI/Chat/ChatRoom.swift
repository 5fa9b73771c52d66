import Reprise
import RepriseChannels
import RepriseCommandLine
import RepriseCore
import RepriseWire

/// The chat's model of one channel: its content and the person's actions.
actor ChatRoom {
    /// How many messages are shown.
    static let shown = 200
    /// How many conversations are listed.
    static let listed = 9
    /// How often it looks whether the server has refused something, while a change waits.
    private static let look = Duration.milliseconds(200)

    private let channel: Channel
    private let channels: Channels
    private let user: String
    /// The channel to go on with; nil: the chat ends.
    private(set) var next: String?
    private let changed: Signal
    var snapshot: ChatSnapshot
    /// Which of the others are there, as far as the server tells it.
    private var presence: [UserID: UserPresence] = [:]
    /// The others' positions.
    private(set) var positions: [UserID: ServerFrame.Position] = [:]
    private var hasHinted = false
    /// Refused changes of the conversation that were told.
    private var toldRefusals: Set<EntryID> = []
    /// The dead letters that were sent again.
    private(set) var sentAgain: Set<EntryID> = []
    /// A refused change of the conversation is sent again.
    private let retried = Signal()
    private var divider = ChatDivider()
    private var connection = ConnectionState.idle
    /// Why the client has given up; nil: it has not.
    var stopReason: Disconnection? {
        if case .stopped(let reason) = connection { reason } else { nil }
    }
    private var isLive = false
    /// Why the first message that could not be recorded was not.
    private(set) var unrecorded: RepriseError?

    /// - Parameters:
    ///   - channel: the channel.
    ///   - channels: all of them.
    ///   - user: the participant.
    ///   - changed: raised when the snapshot has changed.
    init(_ channel: Channel, of channels: Channels, user: String, changed: Signal) {
        self.channel = channel
        self.channels = channels
        self.user = user
        self.changed = changed
        snapshot = ChatSnapshot(channel: channel.name.text, user: user)
    }

    // MARK: Changes

    /// Follows the channel and the connection until the task is cancelled.
    func follow(_ connection: AsyncStream<ConnectionState>) async {
        await withTaskGroup(of: Void.self) { group in
            let channel = channel
            group.addTask { for await state in connection { await self.connectionChanged(state) } }
            group.addTask { for await state in channel.states { await self.channelChanged(state) } }
            group.addTask {
                for await list in channel.observe(last: Self.shown) { await self.listed(list) }
            }
            group.addTask {
                for await start in channel.unreadStart { await self.unreadChanged(start) }
            }
            group.addTask {
                for await users in channel.typists { await self.typistsChanged(users) }
            }
            let conversations = channels.observeConversations(newest: Self.shown)
            group.addTask { for await all in conversations { await self.told(all) } }
            group.addTask { for await all in channel.positions { await self.moved(all) } }
            group.addTask {
                for await presence in channel.presence { await self.presenceChanged(presence) }
            }
            group.addTask {
                for await waiting in channel.waiting { await self.outboxChanged(waiting) }
            }
        }
    }

    private func listed(_ list: [ChannelMessage]) {
        snapshot.items = list.map { item($0) }
        if !hasHinted, list.contains(where: { $0.from == nil && $0.seq != nil }) {
            hasHinted = true
            snapshot.notice = ["This server asks nobody who he is; one with --dev does."]
        }
        changed.raise()
    }

    private func item(_ message: ChannelMessage) -> ChatItem {
        ChatItem(
            id: message.id, seq: message.seq,
            author: message.from?.text ?? (message.isMine ? user : ChatBody.nobody),
            text: ChatBody(message.body).text, time: message.time, isMine: message.isMine,
            isEdited: message.isEdited, isDeleted: message.isDeleted, status: message.status)
    }

    /// The channel may have a title, or be the one with another user.
    private func told(_ all: [Conversation]) {
        guard let own = all.first(where: { $0.channel == channel.name }),
            snapshot.channel != own.displayName
        else { return }
        snapshot.channel = own.displayName
        changed.raise()
    }

    private func unreadChanged(_ start: UnreadStart) {
        snapshot.unread = start.unread.count
        snapshot.mentions = start.unread.mentions
        snapshot.divider = divider.moved(by: start)
        changed.raise()
    }

    private func typistsChanged(_ users: [UserID]) {
        snapshot.typists = users.map(\.text)
        changed.raise()
    }

    private func moved(_ positions: [UserID: ServerFrame.Position]) { self.positions = positions }

    private func outboxChanged(_ waiting: Int) async {
        snapshot.waiting = waiting
        await countFailed()
        changed.raise()
    }

    /// A failed read must not end the chat: it is repeated with the next change.
    private func countFailed() async {
        if let count = try? await failed().count { snapshot.dead = count }
    }

    private func connectionChanged(_ state: ConnectionState) {
        connection = state
        snapshot.isConnected = state == .connected
        showConnection()
    }

    /// The two states come side by side, in either order.
    private func showConnection() {
        snapshot.connection = snapshot.isConnected && isLive ? "live" : connection.words
        changed.raise()
    }

    private func channelChanged(_ state: ChannelState) {
        snapshot.catchUp = nil
        snapshot.trouble = nil
        isLive = state == .live
        switch state {
        case .live: break
        case .catchingUp(let received, let total):
            snapshot.catchUp = .init(received: received, total: total)
        case .repairing(let missing): snapshot.trouble = "repairing, \(missing.grouped) missing"
        case .stalled(let missing): snapshot.trouble = "stalled, \(missing.grouped) missing"
        case .beyondRetention(let lost): snapshot.trouble = "\(lost.grouped) are gone for good"
        case .refused(_, let message): snapshot.trouble = "refused: \(message)"
        case .closed, .subscribing: break
        }
        showConnection()
    }

    // MARK: At the keyboard

    /// The person is present: marks the messages on the screen as read.
    ///
    /// A full disk does not end the chat: what was not recorded is tried again at the next key.
    func attended() async {
        guard snapshot.unread > 0, let newest = snapshot.items.compactMap(\.seq).max() else {
            return
        }
        divider.attended()
        do { try await channel.markRead(through: newest) } catch {
            show([(error as? RepriseError)?.line ?? "\(error)".firstLine])
        }
    }

    /// The current input: sent to others as typing, unless it is a command.
    func typed(_ text: String) {
        if text.isEmpty || text.hasPrefix("/") {
            channel.stopTyping()
        } else {
            channel.typing()
        }
    }

    /// Performs a command, and shows its result.
    ///
    /// - Returns: whether it continues here; see ``next``.
    func perform(_ command: ChatCommandLine) async -> Bool {
        snapshot.notice = []
        if command == .quit { return false }
        do {
            snapshot.notice = try await answer(to: command)
        } catch let error as RepriseError {
            if case .say = command { unrecorded = unrecorded ?? error }
            snapshot.notice = [error.line]
        } catch {
            snapshot.notice = ["\(error)".firstLine]
        }
        changed.raise()
        return next == nil
    }

    /// A message was not recorded.
    ///
    /// - Returns: the notice of it.
    func rejected(_ error: RepriseError) -> [String] {
        unrecorded = unrecorded ?? error
        return [error.line]
    }

    private func answer(to command: ChatCommandLine) async throws -> [String] {
        switch command {
        case .say(let text):
            try await channel.publish(ChatBody(text: text).json)
            divider.spoken()
            snapshot.divider = nil
        case .edit(let back, let text):
            try await channel.edit(try own(back), ChatBody(text: text).json)
        case .delete(let back): try await channel.delete(try own(back))
        case .help: return ChatCommandLine.helpLines
        case .who: return who
        case .list: return try await list()
        case .go(let name): next = try await find(name)
        case .with(let user): next = try await direct(with: user)
        case .unread:
            let mentions = snapshot.mentions > 0 ? ", \(snapshot.mentions.grouped) @you" : ""
            return ["\(snapshot.unread.grouped) unread\(mentions)."]
        case .dead: return try await dead()
        case .retry(let id): return try await settle(id, isAgain: true)
        case .withdraw(let id): return try await settle(id, isAgain: false)
        case .unknown(let what): return [what]
        case .quit: break
        }
        return []
    }

    /// One's own messages, counted from the last.
    ///
    /// What could not be sent is for /dead.
    private func own(_ back: Int) throws -> EntryID {
        let own = snapshot.items.filter { item in
            if case .failed = item.status { return false }
            return item.isMine && !item.isDeleted
        }
        guard back <= own.count else {
            throw RepriseError(.noSuchEntry, "You have said nothing here that can be changed so.")
        }
        return own[own.count - back].id
    }
}

/// Other conversations.
extension ChatRoom {
    /// Those with the newest messages.
    private func list() async throws -> [String] {
        let all = try await channels.conversations(newest: Self.listed)
        guard !all.isEmpty else {
            return ["You are a member of no channel that this server tells of."]
        }
        return all.map { one in
            let mark = one.channel == channel.name ? "*" : " "
            let unread = one.unread > 0 ? ", \(Int64(one.unread).grouped) unread" : ""
            let mentions = one.mentions > 0 ? " (\(one.mentions) @you)" : ""
            let muted = one.isMuted ? ", muted" : ""
            return "\(mark) \(one.name): \(one.lastLine)\(unread)\(mentions)\(muted)"
        }
    }

    private func find(_ name: String) async throws -> String {
        let all = try await channels.conversations(newest: ConversationLimits.listed)
        let found = all.first { $0.id == name || $0.title == name || $0.isWith(name) }
        return try found?.id ?? ChannelName(name).text
    }

    private func direct(with name: String) async throws -> String {
        let (me, other) = (try UserID(user), try UserID(name))
        let direct = ChannelName.direct(me, other)
        _ = try await channels.record(ConversationChange(.direct, direct, users: [other]))
        return direct.text
    }
}

extension Conversation {
    /// What a person calls it, with the name to type if that is another, which is never cut.
    var name: String {
        let typed = isDirect ? others?.first?.text ?? id : id
        return displayName == typed ? typed : "\(displayName.fitting(40)) (\(typed))"
    }

    func isWith(_ user: String) -> Bool { isDirect && others?.map(\.text) == [user] }

    fileprivate var lastLine: String {
        guard let last, !last.isDeleted else { return "nothing yet" }
        let text = ChatBody(last.body).text.firstLine.fitting(40)
        if last.isMine { return "you: \(text)" }
        guard let from = last.from, !isDirect else { return text }
        return "\((profiles[from]?.name ?? from.text).fitting(16)): \(text)"
    }
}

/// The members, and failed messages.
extension ChatRoom {
    /// The other known users: present readers, and senders of the messages on the screen.
    private var who: [String] {
        let newest = snapshot.items.compactMap(\.seq).max() ?? 0
        let readers = positions.values.sorted { $0.read > $1.read }
        let known = Set(readers.map(\.user.text)).union(presence.keys.map(\.text))
        let others = presence.values.filter { positions[$0.user] == nil }
            .sorted { $0.user < $1.user }
        var authors: Set<String> = []
        let writers = snapshot.items.reversed().filter {
            !$0.isMine && !known.contains($0.author) && authors.insert($0.author).inserted
        }
        let lines =
            readers.map { reader in
                let there = presenceWords(of: reader.user).map { $0 + ", " } ?? ""
                return "\(reader.user): \(there)\(standing(reader, newest))"
            }
            + others.compactMap { other in
                presenceWords(of: other.user).map { "\(other.user): \($0)" }
            }
            + writers.map { "\($0.author): last said something at \($0.time.hourAndMinute)" }
        return Array(lines.prefix(10)).orNobody
    }

    private func standing(_ position: ServerFrame.Position, _ newest: Int64) -> String {
        if snapshot.typists.contains(position.user.text) { return "is typing" }
        let rest = snapshot.items.count { item in
            item.author != position.user.text && (item.seq ?? 0) > position.read && !item.isDeleted
        }
        let coming = position.delivered < newest ? ", and has not got all yet" : ""
        return rest == 0 ? "has read everything" : "has not read the last \(rest.grouped)" + coming
    }

    private func dead() async throws -> [String] {
        let lines = try await failed().map(\.words)
        return lines.isEmpty ? ["Nothing: all was sent, or waits to be."] : Array(lines.suffix(10))
    }

    private static func words(_ letter: DeadLetter) -> String {
        let what =
            switch letter.change {
            case nil: ChatBody(letter.body).text
            case .edits: "(edit) " + ChatBody(letter.body).text
            case .deletes: "(deletion)"
            }
        return "\(letter.id.text.prefix(8))  \(what): \(letter.reason)"
    }

    /// Sends again or withdraws what failed: the one whose id begins so, or the newest.
    private func settle(_ prefix: String?, isAgain: Bool) async throws -> [String] {
        let found = try await failed().filter { prefix.map($0.id.text.hasPrefix) ?? true }
        guard let one = found.last, prefix == nil || found.count == 1 else {
            return ["There is no such dead letter, or more than one. /dead lists them."]
        }
        switch (one.isMessage, isAgain) {
        case (true, true):
            try await channel.outbox.retry(one.id)
            sentAgain.insert(one.id)
        case (true, false): try await channel.outbox.withdraw(one.id)
        case (false, true):
            try await channels.retry(refused: one.id)
            retried.raise()
        case (false, false): try await channels.discard(refused: one.id)
        }
        toldRefusals.remove(one.id)
        await countFailed()
        return ["\(isAgain ? "Sent again" : "Withdrawn"): \(one.words)"]
    }
}

/// What the server has refused.
extension ChatRoom {
    /// A message that could not be sent, or a change of the conversation that was refused.
    fileprivate struct Failed: Sendable {
        let id: EntryID
        let isMessage: Bool
        let words: String
    }

    /// First the changes of the conversation, then the messages.
    private func failed() async throws -> [Failed] {
        let changes = try await channels.changes(of: channel.name).refused.map {
            Failed(
                id: $0.id, isMessage: false,
                words: "\($0.id.text.prefix(8))  (conversation): \($0.reason ?? "refused")")
        }
        let messages = try await channel.outbox.newestDeadLetters().map {
            Failed(id: $0.id, isMessage: true, words: Self.words($0))
        }
        return changes + messages
    }

    /// How many changes of the conversation wait for the server.
    func waitingChanges() async throws -> Int {
        try await channels.changes(of: channel.name).waiting
    }

    /// What the server has refused of the conversation and was not told yet, with the remedy.
    func newRefusals() async throws -> [String] {
        try await channels.changes(of: channel.name).refused.flatMap { entry -> [String] in
            guard toldRefusals.insert(entry.id).inserted else { return [] }
            let id = entry.id.text.prefix(8)
            return [
                "This conversation: \(entry.reason ?? "The server has refused it.")",
                "/retry \(id) asks again, /withdraw \(id) gives it up.",
            ]
        }
    }

    /// Tells what the server refuses of the conversation, until the task is cancelled.
    ///
    /// Its changes are recorded before it is opened, and by a retry.
    func watchRefusals(_ tell: @Sendable ([String]) async throws -> Void) async throws {
        while !Task.isCancelled {
            let waiting = try? await waitingChanges()
            if let lines = try? await newRefusals(), !lines.isEmpty {
                await countFailed()
                try await tell(lines)
            }
            if waiting == 0 {
                await retried.wait()
            } else {
                try? await Task.sleep(for: Self.look)
            }
        }
    }

    /// Shows lines below the messages.
    func show(_ lines: [String]) {
        snapshot.notice = lines
        changed.raise()
    }
}

extension [String] {
    fileprivate var orNobody: [String] { isEmpty ? ["Nobody else is known here yet."] : self }
}

/// The others' presence, where the server offers it.
extension ChatRoom {
    private func presenceChanged(_ presence: ChannelPresence) {
        self.presence = presence.users
        snapshot.presence = Self.words(presence.users, at: SystemTimekeeper().wall())
        changed.raise()
    }

    /// For the line of state; nil where nothing is known.
    static func words(_ users: [UserID: UserPresence], at now: WallTime) -> String? {
        guard let one = users.values.first else { return nil }
        guard users.count > 1 else { return "\(one.user) \(one.words(at: now))" }
        return "\(users.values.count { $0.state == .online }) online"
    }

    /// For a line of `/who`; nil where nothing is known.
    private func presenceWords(of user: UserID) -> String? {
        presence[user]?.words(at: SystemTimekeeper().wall())
    }
}

extension UserPresence {
    /// For people.
    func words(at now: WallTime) -> String {
        switch state {
        case .online: "online"
        case .idle: "idle"
        case .offline:
            seen.map { "last seen " + Self.ago(now.milliseconds - $0.milliseconds) } ?? "offline"
        }
    }

    private static func ago(_ milliseconds: Int64) -> String {
        let minutes = milliseconds / 60_000
        switch minutes {
        case ..<1: return "just now"
        case ..<60: return "\(minutes) min ago"
        case ..<2_880: return "\(minutes / 60) h ago"
        default: return "\(minutes / 1_440) days ago"
        }
    }
}
