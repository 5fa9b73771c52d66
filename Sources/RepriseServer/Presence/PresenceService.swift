package import Logging
import Metrics
import NIOCore
package import RepriseCore
package import RepriseWire
import Synchronization

/// Performs the decisions of ``PresenceBoard``, and in a cluster of ``PresenceExchange``: frames to
/// connections, looks into the accounts, and one timer for all.
package final class PresenceService: Sendable {
    private struct State {
        var board = PresenceBoard()
        /// Nil if this server is alone.
        var exchange: PresenceExchange?
        /// The event loops of connections that watch.
        var shards: [UInt64: Shard] = [:]
    }

    private let accounts: Accounts
    /// Nil if this server is alone.
    private let cluster: ClusterMember?
    private let metrics: ServerMetrics
    private let clock: any Timekeeper
    private let logger: Logger
    private let state = Mutex(State())
    private let alarm: Alarm
    private let writes: Alarm

    /// - Parameters:
    ///   - accounts: who is a member of what, and who hides.
    ///   - cluster: nil if this server is alone.
    ///   - exchange: the bounds of what gateways tell each other.
    ///   - metrics: the counters.
    ///   - clock: the time.
    ///   - logger: receives failures of the accounts.
    package init(
        accounts: Accounts, cluster: ClusterMember? = nil,
        exchange: PresenceExchange.Settings = PresenceExchange.Settings(), metrics: ServerMetrics,
        clock: any Timekeeper, logger: Logger
    ) {
        self.accounts = accounts
        self.cluster = cluster
        self.metrics = metrics
        self.clock = clock
        self.logger = logger
        alarm = Alarm(clock)
        writes = Alarm(clock)
        if cluster != nil {
            state.withLock {
                $0.exchange = PresenceExchange(
                    number: .random(in: .min ... .max), settings: exchange)
            }
        }
        accounts.onHid { [weak self] in self?.hid($0, $1) }
        metrics.gauge(.presenceWatchers) { [weak self] in
            self?.state.withLock { $0.board.watcherCount } ?? 0
        }
    }

    // MARK: From connections

    func connected(_ user: UserID, isIdle: Bool) {
        change { state, _ in
            state.board.connected(user, isIdle: isIdle, wall: clock.wall())
            state.exchange?.changed(user)
            return []
        }
    }

    func reported(_ user: UserID, isIdle: Bool) {
        change { state, _ in
            state.board.reported(user, isIdle: isIdle, wall: clock.wall())
            state.exchange?.changed(user)
            return []
        }
    }

    func left(_ user: UserID, wasIdle: Bool) {
        change { state, now in
            state.board.left(user, wasIdle: wasIdle, now: now, wall: clock.wall())
            state.exchange?.changed(user)
            return []
        }
    }

    func watched(_ wanted: [ClientFrame.Watch], by place: Gateway.Place, of user: UserID) {
        state.withLock { $0.shards[place.id] = place.shard }
        change { state, now in
            state.board.watched(wanted, by: place.id, of: user, now: now)
        }
    }

    /// A connection was not told something: it had too much unsent.
    func missed(by connection: UInt64) {
        change { state, _ in
            state.board.missed(by: connection)
            return []
        }
    }

    func ended(_ connection: UInt64) {
        let watches = state.withLock { $0.shards.removeValue(forKey: connection) != nil }
        guard watches else { return }
        change { state, _ in
            state.board.ended(connection)
            return []
        }
    }

    // MARK: From the accounts

    func membersChanged(in channel: ChannelName) {
        change { state, _ in
            state.board.membersChanged(in: channel)
            return []
        }
    }

    /// A user has begun or ceased to hide, here or at another gateway.
    private func hid(_ user: UserID, _ isHidden: Bool) {
        change { state, _ in
            state.board.hid(user, isHidden)
            return []
        }
    }

    /// A user begins or ceases to hide: durable when it returns.
    package func hide(_ user: UserID, _ isHidden: Bool) async throws {
        try await accounts.perform(SetPresence(isHidden: isHidden, of: user))
    }

    /// Whether a user hides.
    package func hides(_ user: UserID) async throws -> Bool {
        try await accounts.presence.isHidden(user)
    }

    // MARK: From other gateways

    /// Hears what the other gateways of a cluster ask and tell, until cancelled.
    func hear() async {
        guard let cluster else { return }
        for await bytes in cluster.journal.said(on: .presence) {
            guard let news = PresenceNews(bytes) else {
                metrics.presenceIgnored.increment()
                continue
            }
            change { state, now in
                let actions = state.exchange?.heard(news, now: now, wall: clock.wall())
                take(actions ?? [], &state, now)
                return []
            }
        }
    }

    private func take(
        _ actions: [PresenceExchange.Action], _ state: inout State, _ now: Duration
    ) {
        for action in actions {
            switch action {
            case .say(let news):
                metrics.presenceSaid.increment()
                cluster?.journal.say(news.bytes, on: .presence)
            case .elsewhere(let news): state.board.elsewhere(news, now: now)
            }
        }
    }

    // MARK: Effects

    private func change(_ body: (inout State, Duration) -> [PresenceBoard.Action]) {
        let now = clock.uptime()
        state.withLock { state in
            let actions = body(&state, now)
            for (user, isWatched) in state.board.takeWatches() {
                state.exchange?.watched(user, isWatched, now: now)
            }
            // Under the lock, so that no connection is told something older after something newer;
            // it is queued for the connection's loop.
            perform(actions, &state)
            let due = [state.board.due, state.exchange?.due].compactMap(\.self).min()
            alarm.set(due) { [weak self] in self?.timerFired() }
            writes.set(state.board.seenDue) { [weak self] in await self?.write() }
        }
    }

    private func timerFired() {
        alarm.cancel()
        change { state, now in
            if var exchange = state.exchange.take() {
                let actions = exchange.timerFired(now: now) { state.board.state(of: $0) }
                state.exchange = exchange
                take(actions, &state, now)
            }
            return state.board.timerFired(now: now)
        }
    }

    private func perform(_ actions: [PresenceBoard.Action], _ state: inout State) {
        // Those who watch the same are told the same.
        var encoded: [ServerFrame.Presence: ByteBuffer] = [:]
        for action in actions {
            switch action {
            case .look(let connection, let user, let watches):
                Task { await look(connection, user, watches) }
            case .send(let connection, let presence):
                guard let shard = state.shards[connection] else { continue }
                let frame = encoded[presence] ?? WebSocketFraming.frame(.presence(presence))
                encoded[presence] = frame
                metrics.presenceTold.increment()
                shard.post(.presence(to: connection, frame))
            }
        }
    }

    private func look(
        _ connection: UInt64, _ user: UserID, _ watches: [ClientFrame.Watch]
    ) async {
        do {
            let sights = try await accounts.presence.sights(watches, for: user)
            change { state, now in state.board.looked(connection, sights, now: now) }
        } catch {
            logger.warning("members could not be read", metadata: ["error": "\(error)"])
            change { state, now in state.board.looked(connection, nil, now: now) }
        }
    }

    /// The last connection has ended: other gateways hear who has left, and it is written.
    package func end() async {
        change { state, _ in
            state.exchange?.ended()
            return []
        }
        timerFired()
        await write()
    }

    // MARK: Last seen

    /// Writes when users were seen last: with the server's end at once.
    package func write() async {
        writes.cancel()
        let now = clock.uptime()
        var rest = state.withLock { $0.board.takeSeen(now: now) }[...]
        while !rest.isEmpty {
            let part = rest.prefix(NoteSeen.users)
            rest = rest.dropFirst(NoteSeen.users)
            do {
                try await accounts.perform(
                    NoteSeen(Dictionary(uniqueKeysWithValues: part.map { ($0.key, $0.value) })))
            } catch {
                if (error as? RepriseError)?.code == .closed { return }
                // It is told as long as nobody restarts the server.
                logger.warning(
                    "last-seen times could not be stored", metadata: ["error": "\(error)"])
            }
        }
    }
}
