import GRDB
import RepriseCore
import RepriseJournal
import RepriseWire

/// The way of taps and actions, from the record to the app or the outbox.
final class NoticeRouting: Sendable {
    private let journal: Journal
    private let messages: any NoticeMessages
    private let configuration: Notices.Configuration
    private let queue: DeliveryQueue<NoticeRouted>

    private var clock: any Timekeeper { configuration.timekeeper }

    init(
        journal: Journal, messages: any NoticeMessages, configuration: Notices.Configuration
    ) {
        self.journal = journal
        self.messages = messages
        self.configuration = configuration
        queue = DeliveryQueue(
            journal: journal, kind: NoticeKinds.tap, timekeeper: configuration.timekeeper
        ) { delivery in await Self.make(delivery, journal, messages, configuration) }
    }

    var taps: NoticeTaps { NoticeTap.stream(queue, journal, clock) }

    // MARK: Recording

    /// `also` is written with it, but not into the spool.
    ///
    /// - Returns: whether it is in the journal; else it is in the spool.
    func record(
        _ arrival: NoticeArrival, as id: EntryID,
        also: @Sendable @escaping (Database) throws -> Void
    ) async throws -> Bool {
        let entry = NewEntry(
            id: id, kind: kind(of: arrival), source: arrival.action, payload: try arrival.payload)
        let now = clock.wall()
        return try await journal.write(orSpool: entry) { [journal] db in
            try journal.record(entry, in: db)
            try NoticeTapLog.recorded(id, arrival, at: now, db)
            try also(db)
        }
    }

    /// An unknown action is a tap: the app sees its name.
    private func kind(of arrival: NoticeArrival) -> String {
        isAction(arrival) ? NoticeKinds.action : NoticeKinds.tap
    }

    /// Whether it is performed without the app's screen.
    func isAction(_ arrival: NoticeArrival) -> Bool {
        let isDone =
            arrival.isButton
            ? [configuration.replyAction, configuration.readAction].contains(arrival.action)
            : arrival.action == "dismiss"
        return isDone && arrival.channelName != nil
    }

    /// Whether an entry was recorded and has not ended.
    func isPending(_ id: EntryID) async -> Bool {
        switch try? await journal.entry(id)?.state {
        case .pending, .dispatched: true
        case .finished, nil: false
        }
    }

    /// Whether the server has confirmed the action's read position.
    func isReadKnown(_ arrival: NoticeArrival) async -> Bool {
        guard arrival.isButton, let channel = arrival.channelName, let seq = arrival.seq else {
            return true
        }
        let known = try? await journal.read { [messages] db in
            // A server without users never confirms a read position.
            try messages.user(db) == nil || messages.isReadKnown(channel, through: seq, db)
        }
        return known ?? true
    }

    /// The message that a reply is.
    static func reply(to entry: EntryID) -> EntryID { .hash(of: entry.text, prefix: "reply-") }

    // MARK: Actions

    /// A reply enters the outbox, and a read position is set, in the transaction that ends the
    /// entry: exactly once.
    func started() async {
        let (messages, configuration) = (messages, configuration)
        await journal.handle(NoticeKinds.action) { db, entry in
            let arrival = try Self.read(entry)
            guard let channel = arrival.channelName else { return }
            let owner = arrival.to.flatMap { try? UserID($0) }
            if arrival.isButton, try messages.isForeign(owner, db) {
                throw DispatchFailure.permanent(Self.foreign)
            }
            if arrival.isButton, arrival.action == configuration.replyAction {
                try Self.publish(arrival, entry.id, to: channel, messages, configuration, db)
            }
            if arrival.isButton, let seq = arrival.seq {
                try messages.markRead(channel, through: seq, in: db)
            }
            try NoticeTapLog.ended(
                entry.id, as: arrival.isButton ? "done" : "dismissed",
                at: configuration.timekeeper.wall(), db)
        }
    }

    private static func publish(
        _ arrival: NoticeArrival, _ id: EntryID, to channel: ChannelName,
        _ messages: any NoticeMessages, _ configuration: Notices.Configuration, _ db: Database
    ) throws {
        guard let text = arrival.text, !text.isEmpty else { return }
        let body: [UInt8]
        do {
            body = try configuration.rawJSONReply(text)
        } catch {
            throw DispatchFailure.permanent("The reply cannot be encoded: \(error)")
        }
        do {
            try messages.publish(body, id: reply(to: id), to: channel, in: db)
        } catch let error as RepriseError where error.code == .malformed || error.code == .tooLarge
        {
            throw DispatchFailure.permanent("The reply cannot be a message: \(error)")
        }
    }

    private static func read(_ entry: Entry) throws -> NoticeArrival {
        do {
            return try NoticeArrival(payload: entry.payload)
        } catch {
            throw DispatchFailure.permanent("The entry cannot be read: \(error)")
        }
    }

    private static let foreign = "It is of a message to another user."

    // MARK: Dispatch

    private static func make(
        _ delivery: EntryDelivery, _ journal: Journal, _ messages: any NoticeMessages,
        _ configuration: Notices.Configuration
    ) async -> NoticeRouted? {
        let id = delivery.entry.id
        do {
            let arrival = try read(delivery.entry)
            return try await journal.read { db in
                if delivery.entry.attempt > 1, try NoticeTapLog.isPresented(id, db) {
                    delivery.end(as: .ended(.applied, reason: "presented before"))
                    return nil
                }
                return try resolve(arrival, messages, configuration, db)
            }
        } catch {
            delivery.end(error)
            return nil
        }
    }

    private static func resolve(
        _ arrival: NoticeArrival, _ messages: any NoticeMessages,
        _ configuration: Notices.Configuration, _ db: Database
    ) throws -> NoticeRouted {
        var routed = NoticeRouted(
            arrival: arrival, route: nil, resolution: .malformed(.noRoute),
            reason: "It does not say of which message it is.")
        guard let channel = arrival.channelName else { return routed }
        let user = try messages.user(db)
        guard !arrival.isForeign(to: user) else {
            (routed.resolution, routed.reason) = (.malformed(.anotherUser), foreign)
            return routed
        }
        routed.route = Route(
            sort: NoticeTaps.sort, id: channel.text, part: arrival.messageID?.text,
            owner: user?.text)
        guard let log = try messages.standing(of: channel, db) else {
            routed.resolution = .missing(id: channel.text)
            routed.reason = "The journal has nothing of the channel."
            return routed
        }
        let title = configuration.names(.channel(channel)) ?? arrival.title ?? channel.text
        let entity = Entity(id: channel.text, title: title)
        guard let id = arrival.messageID, let seq = arrival.seq else {
            routed.resolution = .active(entity, .whole)
            routed.reason = "The channel is there."
            return routed
        }
        let found = try messages.find(seq, in: log.log, db)
        routed.resolution = .active(
            entity,
            found.isDeleted
                ? .partGone(id: id.text)
                : .part(Entity.Part(id: id.text, title: arrival.title ?? "")))
        routed.reason =
            found.isDeleted
            ? "The message was deleted."
            : found.isThere ? "The message is there." : "The message has yet to come."
        return routed
    }
}
