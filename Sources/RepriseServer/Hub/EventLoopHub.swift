import Metrics
import NIOCore
import RepriseCore
import RepriseWire

/// The hub's part on one event loop, used by that loop alone.
final class EventLoopHub {
    let gateway: Gateway
    let shard: Shard
    /// The buffer in which a message is unmasked; shared, because one is read at a time.
    var text: [UInt8] = []

    /// The time of the timer's last tick.
    private(set) var time: Duration

    /// Live events written in this tick; counted per loop, because a shared counter costs more.
    var eventsSent = 0

    var connections: [UInt64: ConnectionHandler] = [:]
    var users: [UserID: Set<UInt64>] = [:]
    var typists: TypingBoard
    private var news = PositionUpdates()
    var told = ToldPositions()
    var channels: [ChannelName: Subscribers] = [:]
    private var unflushed = FlushTurns<ConnectionHandler>()
    private var timerWheel: TimerWheel
    private var heartbeats: Heartbeats<UInt64>
    private var timer: RepeatedTask?
    private var idleHeartbeat: ByteBuffer?

    init(gateway: Gateway, shard: Shard) {
        self.gateway = gateway
        self.shard = shard
        let now = gateway.clock.uptime()
        time = now
        typists = TypingBoard(limit: gateway.limits.typistsPerChannel)
        timerWheel = TimerWheel(tick: gateway.limits.tick, now: now)
        heartbeats = Heartbeats(interval: gateway.limits.heartbeat, now: now)
    }

    // MARK: Connections

    func add(_ connection: ConnectionHandler) {
        connections[connection.id] = connection
        if timer == nil { startTimer() }
    }

    /// A connection was authenticated.
    func identified(_ connection: ConnectionHandler, as user: UserID) {
        users[user, default: []].insert(connection.id)
    }

    func remove(_ connection: ConnectionHandler) {
        connections[connection.id] = nil
        if let user = connection.principal.user {
            users[user]?.remove(connection.id)
            if users[user]?.isEmpty ?? false { users[user] = nil }
        }
        gateway.connectionEnded()
    }

    /// Schedules a check of the connection's timers.
    ///
    /// - Returns: the tick to which the connection responds.
    func look(at connection: ConnectionHandler, after delay: Duration) -> Int {
        timerWheel.add(connection.id, after: delay)
    }

    // MARK: Subscriptions

    func add(_ subscription: HubSubscription) {
        gateway.subscriptionsChanged(by: 1)
        if let subscribers = channels[subscription.channel] {
            return subscribers.add(subscription)
        }
        let subscribers = Subscribers()
        subscribers.add(subscription)
        channels[subscription.channel] = subscribers
        gateway.hub.interestBegan(in: subscription.channel)
    }

    func remove(_ subscription: HubSubscription) {
        gateway.subscriptionsChanged(by: -1)
        catchUpEnded(subscription, nil)
        left(subscription)
        guard let subscribers = channels[subscription.channel] else { return }
        subscribers.remove(subscription)
        guard subscribers.all.isEmpty else { return }
        channels[subscription.channel] = nil
        heartbeats.interestEnded(in: subscription.channel)
        gateway.hub.interestEnded(in: subscription.channel)
    }

    // MARK: Events

    func handle(_ letters: [Shard.LoopEvent]) {
        for letter in letters {
            switch letter {
            case .live(let runs): runs.forEach(deliver)
            case .uncertain(let channels): channels.forEach(doubt)
            case .answers(let id, let messages, let result):
                connections[id]?.publishesAnswered(messages, result)
            case .read(let id, let answer): connections[id]?.readAnswered(answer)
            case .access(let id, let answers): connections[id]?.accessAnswered(answers)
            case .accessChanged(let channel, let user): accessChanged(channel, user)
            case .moved(let id, var telling):
                telling.position = told.newest(telling.position, in: telling.channel)
                connections[id]?.moved(telling)
                if let telling = news.moved(telling) { tell(telling) }
            case .moveFailed(let id, let receipt): connections[id]?.moveFailed(receipt)
            case .typing(let told): tell(told)
            case .identified(let id, let answer): connections[id]?.identified(answer)
            case .replace(let id, let newer):
                connections[id]?.replaced()
                newer.shard.post(.olderEnded(newer.id))
            case .olderEnded(let id): connections[id]?.olderEnded()
            case .cutAll: for connection in Array(connections.values) { connection.cut() }
            }
        }
        if eventsSent > 0 {
            gateway.metrics.liveEvents.increment(by: eventsSent)
            eventsSent = 0
        }
        flush()
    }

    private func deliver(_ run: LiveRun) {
        guard let subscribers = channels[run.channel] else { return }
        heartbeats.eventsCame(in: run.channel)
        for subscription in subscribers.all {
            subscription.connection.deliver(run, to: subscription)
        }
    }

    private func doubt(_ channel: ChannelName) {
        for subscription in channels[channel]?.all ?? [] {
            subscription.machine.logBecameUncertain()
            subscription.connection.readIfWanted(subscription)
        }
    }

    // MARK: Flushing

    /// The connection has written; it is flushed once, in one of the next ticks.
    func flushLater(_ connection: ConnectionHandler) { unflushed.join(connection) }

    /// Flushes some of the waiting connections, and schedules the others.
    func flush() {
        while let connection = unflushed.next() { connection.flush() }
        if unflushed.ended() { flushAgain() }
        if text.capacity > 65_536 { text = [] }
    }

    private func flushAgain() {
        // An immediate task would run before the loop polls its sockets again.
        shard.loop.assumeIsolated().scheduleTask(in: .microseconds(20)) {
            self.unflushed.began()
            self.flush()
        }
    }

    // MARK: Time

    private func startTimer() {
        let tick = TimeAmount(gateway.limits.tick)
        let shard = shard
        let gateway = gateway
        timer = shard.loop.scheduleRepeatedTask(initialDelay: tick, delay: tick) { _ in
            shard.loopHub(for: gateway).ticked()
        }
    }

    private func ticked() {
        let now = gateway.clock.uptime()
        time = now
        idleHeartbeat = nil
        news.ticked().forEach(tell)
        told.ticked(now: now)
        typists.ticked(now: now).forEach(gateway.hub.typing)
        for (id, turn) in timerWheel.advance(to: now) {
            connections[id]?.ticked(turn: turn, now: now)
        }
        sendHeartbeats(now)
        flush()
        if connections.isEmpty {
            timer?.cancel()
            timer = nil
        }
    }

    /// A heartbeat without heads, shared by all connections idle in this tick.
    func emptyHeartbeat() -> ByteBuffer {
        if let idleHeartbeat { return idleHeartbeat }
        let frame = WebSocketFraming.frame(.heartbeat(time: gateway.clock.wall(), heads: [:]))
        idleHeartbeat = frame
        return frame
    }

    private func sendHeartbeats(_ now: Duration) {
        let heads = heartbeats.ticked(now: now) { channel in
            (channels[channel]?.all ?? []).lazy.map {
                (connection: $0.connection.id, head: $0.machine.headToTell)
            }
        }
        guard let heads else { return }
        let time = gateway.clock.wall()
        for (id, heads) in heads { connections[id]?.sendHeartbeat(time, heads) }
    }
}
