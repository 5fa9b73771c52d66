import Logging
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

    private var connections: [UInt64: ConnectionHandler] = [:]
    private var users: [UserID: Set<UInt64>] = [:]
    private(set) var accessChanges = AccessChanges()
    private var typists: TypingBoard
    private var news = PositionUpdates()
    private var told = ToldPositions()
    private var channels: [ChannelName: Subscribers] = [:]
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
                connections[id]?.requests.publishesAnswered(messages, result)
            case .read(let id, let answer): connections[id]?.subscriptions.readAnswered(answer)
            case .access(let id, let answers): connections[id]?.requests.accessAnswered(answers)
            case .accessChanged(let channel, let user): accessChanged(channel, user)
            case .moved(let id, var telling):
                telling.position = told.newest(telling.position, in: telling.channel)
                connections[id]?.requests.moved(telling)
                if let telling = news.moved(telling) { tell(telling) }
            case .moveFailed(let id, let receipt, let isRefused):
                connections[id]?.requests.moveFailed(receipt, isRefused: isRefused)
            case .typing(let told): tell(told)
            case .presence(let id, let frame): connections[id]?.requests.told(frame)
            case .identified(let id, let answer): connections[id]?.identified(answer)
            case .arrived(let id, let answer): connections[id]?.arrivedLater(answer)
            case .replace(let id, let newer):
                connections[id]?.replaced()
                if let newer { newer.shard.post(.olderEnded(newer.id)) }
            case .olderEnded(let id): connections[id]?.olderEnded()
            case .sendAway: for connection in Array(connections.values) { connection.quiesce() }
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
            subscription.connection.subscriptions.deliver(run, to: subscription)
        }
    }

    private func doubt(_ channel: ChannelName) {
        for subscription in channels[channel]?.all ?? [] {
            subscription.machine.logBecameUncertain()
            subscription.connection.subscriptions.readIfWanted(subscription)
        }
    }

    private func accessChanged(_ channel: ChannelName, _ user: UserID?) {
        guard let user else {
            // The others find it out when they use their grants.
            accessChanges.changed(channel)
            for subscription in channels[channel]?.all ?? [] {
                subscription.connection.requests.accessChanged(channel)
            }
            return
        }
        for id in users[user] ?? [] { connections[id]?.requests.accessChanged(channel) }
    }

    // MARK: Positions

    /// Encoded once for all subscribers on this loop.
    private func tell(_ telling: PositionUpdates.Telling) {
        guard let subscribers = channels[telling.channel]?.all else { return }
        let position = told.newest(telling.position, in: telling.channel)
        let frame = WebSocketFraming.frame(.receipt(channel: telling.channel, position))
        gateway.metrics.positionsTold.increment()
        if telling.isPrivate || subscribers.count > WireLimits.positions {
            for id in users[position.user] ?? [] where id != telling.except {
                guard let subscription = connections[id]?.subscriptions[telling.channel] else {
                    continue
                }
                tell(position, as: frame, to: subscription)
            }
        } else {
            for subscription in subscribers where subscription.connection.id != telling.except {
                tell(position, as: frame, to: subscription)
            }
        }
    }

    private func tell(
        _ position: ServerFrame.Position, as frame: ByteBuffer, to subscription: HubSubscription
    ) {
        let own = subscription.seen(position)
        let frame =
            own == position
            ? frame : WebSocketFraming.frame(.receipt(channel: subscription.channel, own))
        subscription.connection.subscriptions.tell(frame, to: subscription)
    }

    /// The newest known position for a subscription, of positions read from the disk: not older
    /// than what was sent meanwhile.
    ///
    /// - Returns: the frame, and whether its count belongs to an older position and must be read
    ///   again.
    func newest(
        _ read: LogReader.Positions, for subscription: HubSubscription
    ) -> (frame: ByteBuffer, isStale: Bool) {
        var frame = read.frame
        var isStale = false
        for index in frame.positions.indices {
            let before = frame.positions[index]
            var position = before
            // A user's read position before the joining is not shown to others.
            if position.user == read.user { position.read = read.stored }
            position = told.newest(position, in: frame.channel)
            if position.user == read.user {
                position = subscription.seen(position)
                isStale = position.read > before.read
            }
            frame.positions[index] = position
        }
        let bytes =
            frame == read.frame ? read.bytes : WebSocketFraming.frame(.positions(frame))
        return (bytes, isStale)
    }

    // MARK: Typing

    func typed(_ isTyping: Bool, by user: UserID, at id: UInt64, in channel: ChannelName) {
        let told = typists.typed(
            isTyping, by: user, at: id, in: channel, now: gateway.clock.uptime())
        if let told { gateway.typing(told) }
    }

    /// A connection has unsubscribed, so its user does not type there.
    private func left(_ subscription: HubSubscription) {
        guard !typists.isEmpty, let user = subscription.connection.principal.user else { return }
        let told = typists.left(subscription.connection.id, of: user, in: subscription.channel)
        if let told { gateway.typing(told) }
    }

    /// Sent to other users only, and not to connections under backpressure: it would be stale.
    private func tell(_ told: TypingBoard.Told) {
        guard let subscribers = channels[told.channel]?.all,
            subscribers.count <= gateway.limits.typingSubscribers
        else { return }
        let frame = WebSocketFraming.frame(
            .typing(
                channel: told.channel, user: told.user, isTyping: told.isTyping,
                expires: told.isTyping ? WireLimits.typing : .zero))
        gateway.metrics.typingTold.increment()
        for subscription in subscribers {
            let connection = subscription.connection
            guard connection.principal.user != told.user, connection.isWritable,
                !subscription.machine.isOpening
            else { continue }
            connection.send(frame)
        }
    }

    // MARK: Catch-ups

    func catchUpBegan(_ subscription: HubSubscription, _ now: Duration) {
        if subscription.catchUp == nil { gateway.catchUpsChanged(by: 1) }
        let missing = subscription.machine.backlog
        let catchUp = HubSubscription.CatchUp(
            began: now, backlog: missing.sequences, holes: missing.holes)
        subscription.catchUp = catchUp
        guard catchUp.backlog > 0 else { return }
        subscription.connection.log(
            .debug, "A catch-up has begun.",
            [
                "channel": subscription.channel.text,
                "user": subscription.connection.principal.user?.text,
                "device": subscription.connection.machine.device?.text,
                "backlog": "\(catchUp.backlog)", "holes": "\(catchUp.holes)",
            ])
    }

    /// The catch-up is complete; or, without a time, was abandoned.
    func catchUpEnded(_ subscription: HubSubscription, _ now: Duration?) {
        guard let catchUp = subscription.catchUp.take() else { return }
        gateway.catchUpsChanged(by: -1)
        if let now { gateway.metrics.caughtUp(after: now - catchUp.began) }
        subscription.connection.log(
            .debug, now == nil ? "A catch-up was cut off." : "A catch-up has ended.",
            [
                "channel": subscription.channel.text,
                "user": subscription.connection.principal.user?.text,
                "device": subscription.connection.machine.device?.text,
                "backlog": "\(catchUp.backlog)", "holes": "\(catchUp.holes)",
                "events": "\(catchUp.events)",
                "milliseconds": "\(((now ?? gateway.clock.uptime()) - catchUp.began).milliseconds)",
            ])
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
        typists.ticked(now: now).forEach(gateway.typing)
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
