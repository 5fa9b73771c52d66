import GRDB
import RepriseCore
import RepriseJournal
import RepriseWire
import Synchronization

/// Performs the decisions of ``ReceiptsMachine`` and ``TypingMachine``: frames, one alarm, and the
/// server's positions on their way into the journal.
final class Presence: Sendable {
    private struct State {
        var receipts: ReceiptsMachine
        var typing: TypingMachine
        var user: UserID?
        var frameSender: FrameSender?
        /// By channel, as the server has told on this connection.
        var epochs: [ChannelName: Epoch] = [:]
        /// Not stored yet: at most one for each channel.
        var news: [ChannelName: ReceiptEvent] = [:]
        /// Channels whose positions of this connection are in the journal.
        var placed: Set<ChannelName> = []
        /// The user that the server has welcomed, until the journal has it.
        var newUser: UserID?
        var isWriting = false
        var typists: [ChannelName: StateBroadcaster<[UserID]>] = [:]
    }

    /// The waits after a failed write.
    static let backoff = Backoff(base: .milliseconds(250), longest: .seconds(30))

    private let journal: Journal
    private let changeNotifier: ChannelChangeNotifier
    private let timekeeper: any Timekeeper
    private let jitter: @Sendable () -> Double
    private let state: Mutex<State>
    private let alarm: Alarm

    init(
        journal: Journal, changeNotifier: ChannelChangeNotifier,
        configuration: Channels.Configuration
    ) {
        self.journal = journal
        self.changeNotifier = changeNotifier
        timekeeper = configuration.timekeeper
        jitter = configuration.jitter
        alarm = Alarm(timekeeper)
        state = Mutex(
            State(
                receipts: ReceiptsMachine(
                    settings: .init(
                        interval: configuration.receiptInterval, step: configuration.receiptStep)),
                typing: TypingMachine()))
    }

    // MARK: From the connection

    func connected(by frameSender: FrameSender, as user: UserID?) {
        change { state, _ in
            state.frameSender = frameSender
            state.user = user
            state.newUser = user
            state.typing.connected(as: user)
        }
        // Lists recognise this user's own messages by it, in a channel without positions as well.
        write()
    }

    func disconnected() {
        change { state, _ in
            state.frameSender = nil
            state.user = nil
            state.epochs = [:]
            state.placed = []
            state.receipts.disconnected()
            show(state.typing.disconnected(), &state)
        }
    }

    func left(_ channel: ChannelName) {
        change { state, _ in
            state.receipts.left(channel)
            state.epochs[channel] = nil
            state.placed.remove(channel)
            show(state.typing.left(channel), &state)
        }
    }

    func heard(_ frame: ServerFrame) {
        change { state, now in
            switch frame {
            case .subscribed(let subscribed):
                if state.epochs[subscribed.channel] != subscribed.epoch {
                    state.receipts.left(subscribed.channel)
                }
                state.epochs[subscribed.channel] = subscribed.epoch
                note(subscribed.channel, &state) { $0.floor = subscribed.floor }
            case .positions(let positions):
                note(positions.channel, &state) { news in
                    for position in positions.positions { news.add(position) }
                    news.unread = positions.unread
                    news.isOpen = true
                }
            case .receipt(let channel, let position):
                note(channel, &state) { $0.add(position) }
            case .typing(let channel, let user, let isTyping, let expires):
                let steps = state.typing.typingReceived(
                    from: user, in: channel, isTyping: isTyping, expires: expires, at: now)
                show(steps, &state)
            default: break
            }
        }
        write()
    }

    /// Whether the journal has the user's read positions of other devices, as this connection tells
    /// them; a server without users tells none.
    func isPlaced(_ channel: ChannelName) -> Bool {
        state.withLock { state in
            state.frameSender != nil && (state.user == nil || state.placed.contains(channel))
        }
    }

    /// Whether no pending event moves the read position: without a connection the journal's one is
    /// valid.
    func knowsRead(_ channel: ChannelName) -> Bool {
        state.withLock { state in
            state.frameSender == nil || state.user == nil || state.placed.contains(channel)
        }
    }

    /// So much of a channel is durable, without a hole.
    func delivered(_ channel: ChannelName, through seq: Int64, of epoch: Epoch?) {
        change { state, _ in
            guard state.epochs[channel] == epoch else { return }  // of a former log
            state.receipts.deliveredMoved(channel, to: seq)
        }
    }

    // MARK: From the app

    func markRead(_ channel: ChannelName, through seq: Int64) async throws {
        let read = try await journal.write { [changeNotifier] db in
            defer { db.afterNextTransaction { _ in changeNotifier.notify(channel) } }
            return try ReceiptRows.read(through: seq, in: channel, db)
        }
        if let read { readMoved(channel, to: read) }
    }

    /// The journal has it: the server is told.
    func readMoved(_ channel: ChannelName, to read: Int64) {
        change { state, _ in state.receipts.readMoved(channel, to: read) }
    }

    func typed(in channel: ChannelName) {
        change { state, now in show(state.typing.typed(in: channel, at: now), &state) }
    }

    func stoppedTyping(in channel: ChannelName) {
        change { state, _ in show(state.typing.stopped(in: channel), &state) }
    }

    func typists(in channel: ChannelName) -> StateBroadcaster<[UserID]> {
        state.withLock { state in
            if let broadcaster = state.typists[channel] { return broadcaster }
            let broadcaster = StateBroadcaster<[UserID]>([])
            state.typists[channel] = broadcaster
            return broadcaster
        }
    }

    // MARK: Effects

    /// Changes the state, sends the resulting frames, and sets the alarm.
    private func change(_ body: (inout State, Duration) -> Void) {
        let now = timekeeper.uptime()
        state.withLock { state in
            body(&state, now)
            if let frameSender = state.frameSender, state.user != nil {
                frameSender.send(
                    state.receipts.receipts(at: now).map { ClientFrame.receipt($0).encoded() })
            }
            arm(&state, now)
        }
    }

    private func show(_ steps: [TypingMachine.Action], _ state: inout State) {
        for step in steps {
            switch step {
            case .send(let channel, let isTyping):
                state.frameSender?.send([ClientFrame.typing(channel, isTyping: isTyping).encoded()])
            case .show(let channel, let users):
                if state.typists[channel] == nil { state.typists[channel] = StateBroadcaster([]) }
                state.typists[channel]?.announce(users)
            }
        }
    }

    private func arm(_ state: inout State, _ now: Duration) {
        let due = [state.receipts.due(at: now), state.typing.due].compactMap { $0 }.min()
        alarm.set(due) { [weak self] in self?.timerFired() }
    }

    private func timerFired() {
        change { state, now in
            alarm.cancel()
            show(state.typing.timerFired(at: now), &state)
        }
    }

    // MARK: To the journal

    private func note(
        _ channel: ChannelName, _ state: inout State, _ change: (inout ReceiptEvent) -> Void
    ) {
        // Without a subscription it belongs to no known epoch.
        guard let epoch = state.epochs[channel] else { return }
        var news = state.news[channel] ?? ReceiptEvent(epoch: epoch)
        if news.epoch != epoch { news = ReceiptEvent(epoch: epoch) }
        change(&news)
        state.news[channel] = news
    }

    /// Arrivals during a transaction share the next one.
    private func write() {
        let begins = state.withLock { state in
            guard !state.isWriting, !state.news.isEmpty || state.newUser != nil else {
                return false
            }
            state.isWriting = true
            return true
        }
        if begins { Task { await drain() } }
    }

    private func drain() async {
        var failures = 0
        while let (news, user) = take() {
            do {
                apply(try await merge(news, user), news)
                failures = 0
            } catch {
                failures += 1
                giveBack(news, user)
                let wait = Self.backoff.delay(failures: failures, jitter: jitter())
                let isOver = error.isEndOfJournal
                guard !isOver,
                    (try? await timekeeper.sleep(until: timekeeper.uptime() + wait)) != nil
                else {
                    return state.withLock { $0.isWriting = false }
                }
            }
        }
    }

    private func merge(
        _ news: [ChannelName: ReceiptEvent], _ user: UserID?
    ) async throws -> [ChannelName: ReceiptsMachine.Status] {
        try await journal.write { [changeNotifier] db in
            if let user {
                try db.cachedStatement(
                    sql: "UPDATE channelsDevice SET user = ?1 WHERE user IS NOT ?1"
                ).execute(arguments: [user.text])
            }
            db.afterNextTransaction { [self] _ in
                place(news)
                for channel in news.keys { changeNotifier.notify(channel) }
            }
            return try news.reduce(into: [:]) { all, item in
                all[item.key] = try ReceiptRows.merge(item.value, of: item.key, as: user, db)
            }
        }
    }

    private func place(_ news: [ChannelName: ReceiptEvent]) {
        state.withLock { state in
            for (channel, news) in news where news.isOpen && state.epochs[channel] == news.epoch {
                state.placed.insert(channel)
            }
        }
    }

    /// A failed write is repeated with the next one, or after a while.
    private func giveBack(_ news: [ChannelName: ReceiptEvent], _ user: UserID?) {
        state.withLock { state in
            state.newUser = state.newUser ?? user
            for (channel, former) in news {
                guard let newer = state.news[channel] else {
                    state.news[channel] = former
                    continue
                }
                guard newer.epoch == former.epoch else { continue }  // void
                state.news[channel] = former.followed(by: newer)
            }
        }
    }

    private func take() -> ([ChannelName: ReceiptEvent], UserID?)? {
        state.withLock { state in
            guard !state.news.isEmpty || state.newUser != nil else {
                state.isWriting = false
                return nil
            }
            defer { (state.news, state.newUser) = ([:], nil) }
            return (state.news, state.user ?? state.newUser)
        }
    }

    private func apply(
        _ standings: [ChannelName: ReceiptsMachine.Status], _ news: [ChannelName: ReceiptEvent]
    ) {
        change { state, _ in
            for (channel, standing) in standings {
                // Another connection or epoch has begun: it tells the positions again.
                guard let news = news[channel], state.epochs[channel] == news.epoch else {
                    continue
                }
                if news.isOpen {
                    state.receipts.positionsReceived(channel, standing)
                }
                state.receipts.echoReceived(
                    channel, read: standing.known.read, delivered: standing.known.delivered)
                state.receipts.readMoved(channel, to: standing.read)
                state.receipts.deliveredMoved(channel, to: standing.delivered)
            }
        }
    }
}
