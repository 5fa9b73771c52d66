import RepriseCore
import RepriseWire

/// Makes the content of a due push: the message's text, its channel's title, the badge.
actor PushMaker {
    enum Made {
        case push(Push)
        /// The message was deleted, or removed by retention.
        case gone
    }

    private struct Message {
        var content: PushContent?
        var time: WallTime
        var head: Int64
        var until: Duration
    }

    private struct Key: Hashable {
        let channel: ChannelName
        let seq: Int64
        let id: EntryID?
    }

    private let unread: UnreadCounts
    private let log: any MessageLog
    private let clock: any Timekeeper
    private var messages: [Key: Message] = [:]
    private var counted = WallTime(milliseconds: 0)

    init(unread: UnreadCounts, log: any MessageLog, clock: any Timekeeper) {
        self.unread = unread
        self.log = log
        self.clock = clock
    }

    func push(_ due: DuePush, as kind: PushHint.Kind, isQuiet: Bool) async throws -> Made {
        guard let address = due.address else { return .gone }
        let entry = due.entry
        let message = try await message(entry)
        var hint = PushHint(
            kind: kind, channel: entry.channel, seq: entry.seq, head: message.head)
        hint.to = entry.user
        hint.badge = try await badge(of: entry.user)
        guard kind == .alert else {
            return .push(
                Push(address: address, hint: hint, isQuiet: true, expires: entry.expires))
        }
        guard var content = message.content else { return .gone }
        content.appearance.complete(due.sender)
        hint.id = entry.message
        hint.from = entry.from
        hint.time = message.time
        hint.name(content.appearance, in: due.title)
        hint.isMention = entry.isMention
        let banner = Banner(of: content, from: entry.from, in: due.title, entry.channel)
        return .push(
            Push(
                address: address, hint: hint, title: banner.title, subtitle: banner.subtitle,
                body: banner.body,
                isQuiet: isQuiet, category: content.category,
                isTimeSensitive: content.appearance.isTimeSensitive && due.isFromOwner,
                relevance: content.appearance.relevance, sound: content.appearance.sound,
                expires: entry.expires))
    }

    /// A later count gets a later time, whatever the wall clock does meanwhile.
    private func badge(of user: UserID) async throws -> PushHint.Badge {
        // The time before the count: messages stored during it may or may not be included.
        counted = max(clock.wall(), WallTime(milliseconds: counted.milliseconds))
        let asOf = counted
        return PushHint.Badge(count: try await unread.count(of: user), asOf: asOf)
    }

    /// A message's pushes to many devices follow each other, so recent messages are cached briefly.
    private func message(_ entry: PushEntry) async throws -> Message {
        let key = Key(channel: entry.channel, seq: entry.seq, id: entry.message)
        let now = clock.uptime()
        if let message = messages[key], message.until > now { return message }
        let page = try await log.page(
            of: entry.channel,
            missing: SequenceRange(after: entry.seq - 1, through: entry.seq).map { [$0] } ?? [],
            limit: 1, byteLimit: WireLimits.bodyBytes)
        // A restored log may have another message at the sequence.
        let event = page.events.first {
            $0.seq == entry.seq && !$0.isDeleted && ($0.id == entry.message || entry.message == nil)
        }
        let message = Message(
            content: event.flatMap { PushContent($0.body) },
            time: event?.time ?? WallTime(milliseconds: 0), head: page.state.head,
            until: now + PushLimits.contentStays)
        if messages.count >= PushLimits.contents { messages.removeAll() }
        messages[key] = message
        return message
    }
}
