package import RepriseCore
import RepriseServer
package import RepriseWire

/// Watches a server from outside and remembers for itself: what is durable, what each connection
/// was sent, and what it may be told.
///
/// It holds the server to these:
/// - nothing leaves before it is durable, and what leaves is what was stored;
/// - an epoch names one history: a sequence is one message for ever, an id is stored once;
/// - answers tile what was missing: nothing twice, nothing left out at `sync_complete`, no head
///   told below which something was not sent;
/// - a body that is deleted does not leave any more, but for what was on its way;
/// - once a device is welcomed on a connection, nothing more is taken from an older one of it;
/// - what retention took is told `gone(retention)`, and nothing else is gone;
/// - what is durable stays, but for retention and for a log that is replaced.
package final class ServerChecker {
    private struct Slot: Hashable {
        var connection: Int
        var channel: ChannelName
    }

    /// What a connection was sent of a channel since it asked.
    private struct Sent {
        var ask: ClientFrame.Subscription?
        var covered = Coverage()
        var head: Int64 = 0
        var epoch: Epoch?
    }

    private struct History {
        var events: [ChannelName: [Int64: ServerFrame.Event]] = [:]
        var ids: [EntryID: (channel: ChannelName, seq: Int64)] = [:]
        /// Where a log stood that was put in place: its retention may have taken what led there.
        var heads: [ChannelName: Int64] = [:]

        func head(of channel: ChannelName) -> Int64 {
            max(events[channel]?.keys.max() ?? 0, heads[channel] ?? 0)
        }
    }

    private let simulation: Simulation
    private let server: SimulatedServer
    /// What is stored.
    private var stored = History()
    /// What each epoch's sequences have meant at any time.
    private var meanings: [Epoch: [ChannelName: [Int64: EntryID]]] = [:]
    /// What went with a log that was replaced.
    private var replacedAway: Set<EntryID> = []
    private var epoch: Epoch?
    private var sent: [Slot: Sent] = [:]
    private var devices: [Int: EntryID] = [:]
    /// The connection on which each device was welcomed last.
    private var welcomed: [EntryID: Int] = [:]
    /// Called with each message that is stored, or comes after it was buried.
    var stores: (EntryID) -> Void = { _ in }
    /// Who watches who gets what, where the server asks who they are.
    var access: AccessChecker?
    /// What was deleted before it came: it is stored by who deleted it.
    private var buried: Set<EntryID> = []
    /// Those of them that have come, and those of which that is not known.
    private var (come, uncertain): (Set<EntryID>, Set<EntryID>) = ([], [])
    /// What was deleted: its body as it was, and when it became durable that it is gone.
    private var blanked: [EntryID: (event: ServerFrame.Event, at: Duration)] = [:]

    package init(_ simulation: Simulation, _ server: SimulatedServer) {
        self.simulation = simulation
        self.server = server
    }

    /// Becomes the server's only observer.
    package func watch() {
        server.observer = { [unowned self] in saw($0) }
    }

    /// Messages that were acknowledged or may have been, and are stored as far as anybody outside
    /// can know.
    package func holds(_ id: EntryID) -> Bool { stored.ids[id] != nil }

    /// Whether the message is stored and has come: one that was deleted before is nobody's
    /// predecessor until then.
    func hasCome(_ id: EntryID) -> Bool {
        holds(id) && (!buried.contains(id) || come.contains(id) && !uncertain.contains(id))
    }

    /// Whether the message is stored, or went with a log that was replaced.
    package func accountsFor(_ id: EntryID) -> Bool { holds(id) || replacedAway.contains(id) }

    /// What a sequence has meant in an epoch.
    package func meaning(of seq: Int64, in channel: ChannelName, _ epoch: Epoch) -> EntryID? {
        meanings[epoch]?[channel]?[seq]
    }

    /// All that an epoch has ever had of a channel up to a sequence.
    func ids(in channel: ChannelName, through seq: Int64, _ epoch: Epoch) -> Set<EntryID> {
        Set((meanings[epoch]?[channel] ?? [:]).lazy.filter { $0.key <= seq }.map(\.value))
    }

    /// How many logs there have been.
    package var epochCount: Int { meanings.count }

    package func saw(_ sight: SimulatedServer.Sight) {
        switch sight {
        case .durable(let events): events.forEach(becameDurable)
        case .came(let id): came(id)
        case .uncertain(let ids): uncertain.formUnion(ids.filter { !come.contains($0) })
        case .asked(let ask, let connection):
            sent[Slot(connection: connection, channel: ask.channel), default: Sent()].ask = ask
        case .identified(let user, let connection): access?.identified(user, connection)
        case .welcomed(let device, let connection):
            devices[connection] = device
            welcomed[device] = connection
        case .took(let ids, let connection): took(ids.count, connection)
        case .arrived: break
        case .left(let channel, let connection):
            sent[Slot(connection: connection, channel: channel)] = nil
        case .sent(let frame, let connection): left(frame, connection)
        case .ended(let connection): sent = sent.filter { $0.key.connection != connection }
        case .answered(let messages, let result): answered(messages, result)
        case .trimmed: break
        case .crashed: break
        case .replaced: replaced()
        }
    }

    /// Compares what is stored with what should be.
    package func check() {
        for channel in stored.events.keys.sorted() {
            let floor = server.state(of: channel).floor
            let expected = (stored.events[channel] ?? [:]).values.filter { $0.seq > floor }
                .sorted { $0.seq < $1.seq }
            let found = server.messages(in: channel)
            if expected != found {
                simulation.violated(
                    .recorded,
                    "\(channel) holds \(found.map(\.seq)), and \(expected.map(\.seq)) were durable")
            }
        }
    }

    // MARK: Storing

    private func becameDurable(_ event: ServerFrame.Event) {
        let epoch = currentEpoch(event.channel)
        let meant = meanings[epoch, default: [:]][event.channel, default: [:]]
            .updateValue(event.id, forKey: event.seq)
        if let meant, meant != event.id {
            simulation.violated(
                .durable,
                "in epoch \(epoch) \(event.channel) \(event.seq) was \(meant), now it is \(event.id)"
            )
        }
        if let known = stored.ids[event.id] {
            simulation.violated(
                .once, "\(event.id) is stored as \(known.seq) and again as \(event.seq)")
        }
        stored.events[event.channel, default: [:]][event.seq] = event
        stored.ids[event.id] = (event.channel, event.seq)
        if case .deletes(let target) = event.change { blank(target, event.channel) }
        if event.isDeleted { buried.insert(event.id) } else { stores(event.id) }
        access?.stored(event.id)
    }

    private func came(_ id: EntryID) {
        guard buried.contains(id), !uncertain.contains(id), come.insert(id).inserted else { return }
        stores(id)
    }

    /// A deletion takes the bodies of its target and of the target's edits away.
    private func blank(_ target: Int64, _ channel: ChannelName) {
        for (seq, event) in stored.events[channel] ?? [:]
        where !event.isDeleted && (seq == target || event.change == .edits(target)) {
            blanked[event.id] = (event, simulation.now)
            stored.events[channel]?[seq]?.isDeleted = true
            stored.events[channel]?[seq]?.body = Array("null".utf8)
        }
    }

    /// Whether the event was on its way when it was deleted.
    private func wasOnItsWay(_ event: ServerFrame.Event, _ connection: Int) -> Bool {
        guard let (former, at) = blanked[event.id], former == event else { return false }
        guard let known = server.knew(of: at, on: connection) else { return true }
        return simulation.now <= known + Self.way + server.stoodStill(since: known, on: connection)
    }

    /// What a loop that is busy and a page that is being read take together, at most.
    private static let way: Duration = .seconds(3)

    private func currentEpoch(_ channel: ChannelName) -> Epoch {
        if let epoch { return epoch }
        let found = server.state(of: channel).epoch
        epoch = found
        return found
    }

    /// Another log: what it holds is what is stored now.
    private func replaced() {
        let channels = stored.events.keys.sorted()
        let former = stored.ids.keys
        stored = History()
        blanked = [:]
        // Whether they had come when the backup was taken is known to nobody.
        uncertain.formUnion(come)
        come = []
        defer { replacedAway.formUnion(former.filter { stored.ids[$0] == nil }) }
        epoch = nil
        for channel in channels {
            let epoch = currentEpoch(channel)
            stored.heads[channel] = server.state(of: channel).head
            for event in server.messages(in: channel) {
                meanings[epoch, default: [:]][channel, default: [:]][event.seq] = event.id
                stored.events[channel, default: [:]][event.seq] = event
                stored.ids[event.id] = (channel, event.seq)
            }
        }
        buried = buried.filter { stored.ids[$0] != nil }
    }

    private func answered(
        _ messages: [NewMessage], _ result: Result<[AppendResult], RepriseError>
    ) {
        guard case .success(let results) = result else { return }
        for (message, result) in zip(messages, results) {
            switch result {
            case .stored(let event), .buried(_, let event): acknowledged(message.id, event.seq)
            case .duplicate(let seq): acknowledged(message.id, seq)
            case .refused: break
            }
        }
    }

    private func acknowledged(_ id: EntryID, _ seq: Int64) {
        guard stored.ids[id]?.seq != seq else { return }
        // Retention may have taken the message; its id is still known, and then it was durable
        // once.
        guard meanings.values.allSatisfy({ !$0.values.contains { $0[seq] == id } }) else { return }
        simulation.violated(.durable, "\(id) is acknowledged as \(seq), and is not durable")
    }

    private func took(_ count: Int, _ connection: Int) {
        // A gateway may not know it yet; that its journal refuses them is looked at there.
        guard server.cluster == nil else { return }
        guard let device = devices[connection], let newest = welcomed[device],
            newest != connection
        else { return }
        simulation.violated(
            .order,
            "\(count) messages of \(device) are taken from connection \(connection), and it was "
                + "welcomed on \(newest) since")
    }

    // MARK: Sending

    private func left(_ frame: ServerFrame, _ connection: Int) {
        switch frame {
        case .subscribed(let subscribed): began(subscribed, connection)
        case .event(let event): sentEvent(event, connection)
        case .gone(let channel, let gone): sentGone(channel, gone, connection)
        case .syncComplete(let complete):
            expectSent(
                complete.channel, through: complete.through, connection, "sync_complete")
        case .heartbeat(_, let heads):
            for (channel, head) in heads.sorted(by: { $0.key < $1.key }) {
                expectSent(channel, through: head, connection, "a heartbeat's head")
            }
        case .published(let published): acknowledged(published.id, published.seq)
        case .welcome, .refused, .error, .authenticated, .positions, .receipt, .typing, .presence:
            break
        }
    }

    private func began(_ subscribed: ServerFrame.Subscribed, _ connection: Int) {
        let slot = Slot(connection: connection, channel: subscribed.channel)
        var sent = sent[slot] ?? Sent()
        if subscribed.head > stored.head(of: subscribed.channel) {
            simulation.violated(
                .durable, "head \(subscribed.head) of \(subscribed.channel) is told too early")
        }
        if let ask = sent.ask {
            let isClaimValid = ask.epoch == subscribed.epoch && !subscribed.reset
            sent.covered = isClaimValid ? ask.coverage : Coverage()
            expectReset(subscribed, ask)
        } else if subscribed.epoch != sent.epoch || subscribed.reset {
            sent.covered = Coverage()
        }
        sent.ask = nil
        sent.epoch = subscribed.epoch
        sent.head = subscribed.head
        self.sent[slot] = sent
    }

    private func expectReset(
        _ subscribed: ServerFrame.Subscribed, _ ask: ClientFrame.Subscription
    ) {
        let isBeyond = ask.epoch == subscribed.epoch && ask.coverage.top > subscribed.head
        if isBeyond, server.cluster != nil {
            simulation.violated(
                .coverage,
                "\(subscribed.channel) goes back to \(subscribed.head) for a device that has "
                    + "\(ask.coverage)")
        }
        let isNameless = ask.epoch == nil && !ask.coverage.isEmpty
        guard subscribed.reset != (isBeyond || isNameless) else { return }
        simulation.violated(
            .coverage,
            "reset is \(subscribed.reset) where \(ask.coverage) of "
                + "\(ask.epoch?.text ?? "no epoch") meets head \(subscribed.head)")
    }

    private func sentEvent(_ event: ServerFrame.Event, _ connection: Int) {
        if stored.events[event.channel]?[event.seq] != event, !wasOnItsWay(event, connection) {
            simulation.violated(
                .durable, "\(event.channel) \(event.seq) (\(event.id)) leaves and is not durable")
        }
        access?.sent(event, connection)
        cover(event.channel, event.prev, event.seq, connection)
    }

    private func sentGone(_ channel: ChannelName, _ gone: Gone, _ connection: Int) {
        if gone.reason == .beforeJoin,
            access?.mayTellBeforeJoin(channel, through: gone.range.through, connection) == true
        {
            return cover(channel, gone.range.after, gone.range.through, connection)
        }
        simulation.had(.lost)
        let floor = server.state(of: channel).floor
        if gone.reason != .retention || gone.range.through > floor {
            simulation.violated(
                .accounted,
                "\(gone.range) is told \(gone.reason.rawValue), and the floor is \(floor)")
        }
        cover(channel, gone.range.after, gone.range.through, connection)
    }

    private func cover(
        _ channel: ChannelName, _ after: Int64, _ through: Int64, _ connection: Int
    ) {
        let slot = Slot(connection: connection, channel: channel)
        guard let index = sent.index(forKey: slot) else {
            return simulation.violated(.coverage, "\(channel) is sent to who did not ask for it")
        }
        let before = sent.values[index].covered.count
        sent.values[index].covered.insert(after: after, through: through)
        // While an ask is unanswered, what was on its way for the former one may come again.
        let isNew = sent.values[index].covered.count - before == through - after
        if !isNew, sent.values[index].ask == nil {
            simulation.violated(.coverage, "(\(after), \(through)] of \(channel) is sent twice")
        }
    }

    private func expectSent(
        _ channel: ChannelName, through: Int64, _ connection: Int, _ what: String
    ) {
        guard let state = sent[Slot(connection: connection, channel: channel)] else {
            return simulation.violated(.coverage, "\(what) of \(channel) to who did not ask")
        }
        guard !state.covered.isComplete(through: through), state.ask == nil else { return }
        simulation.violated(
            .coverage,
            "\(what) says \(through) of \(channel), and only \(state.covered) was sent")
    }
}
