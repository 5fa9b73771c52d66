import Foundation
import Reprise
import RepriseChannels
import RepriseCore
import RepriseJournal
import RepriseWire

/// One channel as the chat takes part in it: what it shows, and what a person can do.
actor ChatRoom {
    /// How many messages are shown.
    static let shown = 200

    private let channel: Channel
    private let journal: Journal
    private let user: String
    private let bell: Bell
    private(set) var snapshot: ChatSnapshot
    /// What this process has published and no list has brought yet; each leaves with its list.
    private var written: [ChatItem] = []
    private var mine: Set<EntryID> = []
    /// Up to here a person has seen it; nil before the first list.
    private var seen: Int64?

    /// - Parameters:
    ///   - channel: the channel.
    ///   - journal: what keeps its messages.
    ///   - user: whom messages are published as.
    ///   - bell: rung when the snapshot has changed.
    init(_ channel: Channel, in journal: Journal, user: String, bell: Bell) {
        self.channel = channel
        self.journal = journal
        self.user = user
        self.bell = bell
        snapshot = ChatSnapshot(channel: channel.name.text, user: user)
    }

    // MARK: What has changed

    /// Follows the channel and the connection until the task is cancelled.
    func follow(_ connection: AsyncStream<ConnectionState>) async {
        await withTaskGroup(of: Void.self) { group in
            let channel = channel
            group.addTask { for await state in connection { await self.connectionChanged(state) } }
            group.addTask { for await state in channel.states { await self.channelChanged(state) } }
            group.addTask {
                for await list in channel.observe(last: Self.shown) { await self.listed(list) }
            }
        }
    }

    private func listed(_ list: [ChannelMessage]) {
        let items = list.map { item($0) }
        let known = Set(items.map(\.id))
        written.removeAll { known.contains($0.id) }
        snapshot.items = items + written
        count()
        bell.ring()
    }

    private func item(_ message: ChannelMessage) -> ChatItem {
        let body = ChatBody(message.body)
        let author = message.from?.text ?? body.by ?? "?"
        return ChatItem(
            id: message.id, seq: message.seq, author: author, text: body.text, time: message.time,
            isMine: message.isMine || mine.contains(message.id) || author == user,
            isEdited: message.isEdited, isDeleted: message.isDeleted,
            status: .init(message.status))
    }

    private func count() {
        let newest = snapshot.items.compactMap(\.seq).max() ?? 0
        let seen = seen ?? newest
        self.seen = seen
        snapshot.waiting = snapshot.items.count { $0.status == .pending }
        snapshot.unread = snapshot.items.count { ($0.seq ?? 0) > seen && !$0.isMine }
        if snapshot.unread > 0, snapshot.divider == nil { snapshot.divider = seen }
    }

    private func connectionChanged(_ state: ConnectionState) {
        snapshot.isConnected = state == .connected
        snapshot.connection = state.words
        bell.ring()
    }

    private func channelChanged(_ state: ChannelState) {
        snapshot.catchUp = nil
        snapshot.trouble = nil
        switch state {
        case .live: if snapshot.isConnected { snapshot.connection = "live" }
        case .catchingUp(let received, let total):
            snapshot.catchUp = .init(received: received, total: total)
        case .repairing(let missing): snapshot.trouble = "repairing, \(missing.grouped) missing"
        case .stalled(let missing): snapshot.trouble = "stalled, \(missing.grouped) missing"
        case .beyondRetention(let lost): snapshot.trouble = "\(lost.grouped) are gone for good"
        case .refused(_, let message): snapshot.trouble = "refused: \(message)"
        case .closed, .subscribing: break
        }
        bell.ring()
    }

    /// A person is at the keyboard: what is on the screen is read.
    func attended() {
        guard snapshot.unread > 0 else { return }
        seen = snapshot.items.compactMap(\.seq).max()
        snapshot.unread = 0
        bell.ring()
    }

    // MARK: What a person does

    /// - Returns: whether the chat goes on.
    /// - Throws: what the journal throws, but for what the person can do something about: that is shown.
    func perform(_ command: ChatCommandLine) async throws -> Bool {
        snapshot.notice = []
        switch command {
        case .say(let text): try await say(text)
        case .help: snapshot.notice = ChatCommandLine.helpLines
        case .quit: return false
        case .who: snapshot.notice = who
        case .dead: snapshot.notice = try await deadLetters().map { Self.words($0) }.orNone
        case .retry(let id): try await settle(id) { try await $0.retry($1) }
        case .withdraw(let id): try await settle(id) { try await $0.discard($1) }
        case .unread: snapshot.notice = ["\(snapshot.unread.grouped) unread."]
        case .unknown(let what): snapshot.notice = [what + "."]
        }
        bell.ring()
        return true
    }

    /// How many messages of this process the server has not brought back.
    var waiting: Int { snapshot.waiting }

    private func say(_ text: String) async throws {
        let body = ChatBody(text: text, by: user)
        let id = EntryID.random()
        mine.insert(id)
        do {
            try await channel.publish(body.json, id: id)
        } catch let error as RepriseError {
            snapshot.notice = [error.line]
            return
        }
        snapshot.divider = nil
        guard !snapshot.items.contains(where: { $0.id == id }) else { return }
        let item = ChatItem(
            id: id, author: user, text: text, time: .here, isMine: true, status: .pending)
        written.append(item)
        snapshot.items.append(item)
        count()
    }
}

/// Who is there, and what could not be sent.
extension ChatRoom {
    /// Whose messages are on the screen, newest first.
    private var who: [String] {
        var known: Set<String> = []
        return snapshot.items.reversed()
            .filter { known.insert($0.author).inserted }
            .map { "\($0.author)\($0.isMine ? " (you)" : ""), last at \($0.time.hourAndMinute)" }
            .prefix(10).map(\.self).orNone
    }

    private func deadLetters() async throws -> [Entry] {
        let name = channel.name.text
        return try await journal.deadLetters(limit: 1_000).filter { $0.lane == name }
    }

    private static func words(_ entry: Entry) -> String {
        "\(entry.id.text.prefix(8))  \(entry.reason ?? "")  \(ChatBody(entry.payload).text)"
    }

    /// Does something about a dead letter: the one whose id begins so, or the newest.
    private func settle(
        _ prefix: String?, _ body: (Journal, EntryID) async throws -> Void
    ) async throws {
        let letters = try await deadLetters()
        let found = prefix.map { prefix in letters.filter { $0.id.text.hasPrefix(prefix) } }
        guard let letter = (found ?? letters).last, found?.count ?? 1 == 1 else {
            snapshot.notice = ["There is no such dead letter, or more than one. /dead lists them."]
            return
        }
        try await body(journal, letter.id)
        snapshot.notice = ["Done: " + Self.words(letter)]
    }
}

extension [String] {
    fileprivate var orNone: [String] { isEmpty ? ["None."] : self }
}

extension ChatItem.Status {
    fileprivate init(_ status: ChannelMessage.Status) {
        self =
            switch status {
            case .pending: .pending
            case .sent: .sent
            case .delivered: .delivered
            case .read: .read
            case .failed(let reason): .failed(reason)
            }
    }
}

extension ConnectionState {
    /// For people, in a line of state.
    var words: String {
        switch self {
        case .idle: "not connected"
        case .connecting: "connecting …"
        case .connected: "connected"
        case .expiring(let error): "connected, but not for long: \(error.message)"
        case .offline: "offline, until there is a network"
        case .suspended: "in the background"
        case .stuck(let error): "cannot write: \(error.message)"
        case .waiting(let delay, let reason):
            "offline, again in \(delay.shown): \(reason.description)"
        case .stopped(let reason): "ended: \(reason.description)"
        }
    }
}
