import Logging
import Metrics
import NIOCore
import RepriseCore
import RepriseWire

/// The channels that a connection is subscribed to: live events, and reads of what it lacks.
///
/// On the connection's event loop.
final class ConnectionSubscriptions {
    private unowned let connection: ConnectionHandler
    private var all: [ChannelName: HubSubscription] = [:]
    /// Subscriptions queued for a read of the log.
    private var turns = ReadTurns<HubSubscription>()
    /// The one that is being read for; it may have ended meanwhile, and its channel have another.
    private var reading: HubSubscription?
    private var bucket: TokenBucket

    init(of connection: ConnectionHandler) {
        self.connection = connection
        bucket = TokenBucket(connection.gateway.subscribeRate, now: connection.now)
    }

    private var gateway: Gateway { connection.gateway }
    private var loopHub: EventLoopHub { connection.loopHub }

    subscript(_ channel: ChannelName) -> HubSubscription? { all[channel] }

    var channels: [HubSubscription] { Array(all.values) }

    func endAll() {
        for subscription in all.values { loopHub.remove(subscription) }
        all = [:]
        turns.left { _ in true }
    }

    func subscribe(_ request: ClientFrame.Subscription, number: Int64?, _ grant: Grant) {
        let existing = all[request.channel]
        guard existing != nil || all.count < gateway.limits.channelsPerConnection else {
            return connection.refuse(
                request.channel, .tooManyChannels,
                "A connection has at most \(gateway.limits.channelsPerConnection) channels.",
                number: number)
        }
        if let wait = subscribeWait() {
            unsubscribe(request.channel)
            return connection.refuse(
                request.channel, .rateLimited, "Too many channels are asked for at once.",
                retryAfter: wait, number: number)
        }
        if let existing { return askAgain(existing, request, number) }
        let subscription = HubSubscription(request, connection: connection, grant: grant)
        subscription.number = number
        all[request.channel] = subscription
        loopHub.add(subscription)  // before the log is asked: see ServerSubscriptionMachine
        readIfWanted(subscription)
    }

    private func askAgain(
        _ subscription: HubSubscription, _ request: ClientFrame.Subscription, _ number: Int64?
    ) {
        subscription.number = number
        subscription.isFirst = request.isFirst
        if request.isFirst { turns.preferred { $0 === subscription } }
        subscription.machine.asked(epoch: request.epoch, coverage: request.coverage)
        readIfWanted(subscription)
    }

    /// The rate limit of subscribes: how long to wait; nil to proceed.
    private func subscribeWait() -> Duration? {
        guard gateway.asksWho else { return nil }
        return bucket.take(gateway.subscribeRate, now: connection.now)
    }

    func unsubscribe(_ channel: ChannelName) {
        guard let subscription = all.removeValue(forKey: channel) else { return }
        loopHub.remove(subscription)
        turns.left { $0 === subscription }
    }

    // MARK: Live

    func deliver(_ run: LiveRun, to subscription: HubSubscription) {
        let delivery = subscription.machine.committed(
            after: run.prev, through: run.seq, mayWrite: connection.isWritable)
        switch delivery {
        case .send:
            connection.send(run.bytes)
            loopHub.eventsSent += run.count
            if gateway.logsEvents { log(run, after: run.prev) }
        case .sendAfter(let sequence):
            connection.send(run.bytes(after: sequence))
            loopHub.eventsSent += run.count(after: sequence)
            if gateway.logsEvents { log(run, after: sequence) }
        case .skip: readIfWanted(subscription)
        }
    }

    private func log(_ run: LiveRun, after sequence: Int64) {
        connection.log(
            .trace, "Events are sent.",
            [
                "channel": run.channel.text, "user": connection.principal.user?.text,
                "device": connection.machine.device?.text, "after": "\(sequence)",
                "through": "\(run.seq)",
            ])
    }

    // MARK: Catch-up

    /// Queues a subscription for a read, if it has unsent events.
    func readIfWanted(_ subscription: HubSubscription) {
        guard subscription.machine.asksForTurn() else { return }
        turns.asked(subscription, first: subscription.isFirst)
        readNext()
    }

    /// The backlog is drained: demoted subscriptions catch up.
    func readWhatWasMissed() {
        for subscription in all.values {
            settle(subscription)
            readIfWanted(subscription)
        }
        readNext()
    }

    private func readNext() {
        while let subscription = turns.next(isWritable: connection.isWritable) {
            guard let read = subscription.machine.nextRead() else { continue }
            turns.readStarted()
            reading = subscription
            if case .state = read {
                // Later moves are owed again.
                subscription.tellsPositions = subscription.owesPositions
                subscription.owesPositions = false
            }
            let shard = loopHub.shard
            let request = LogReader.Request(
                read: read, channel: subscription.channel, ticket: subscription.machine.ticket,
                user: connection.principal.user, unreadAfter: subscription.grant.unreadAfter)
            gateway.reader.start(request) { [id = connection.id] answer in
                shard.post(.read(by: id, answer))
            }
        }
    }

    func readAnswered(_ answer: LogReader.Answer) {
        turns.readEnded()
        if let subscription = reading.take(), all[answer.channel] === subscription {
            handle(answer, for: subscription)
        }
        readNext()
    }

    private func handle(_ answer: LogReader.Answer, for subscription: HubSubscription) {
        let step = subscription.machine.readAnswered(answer.content, ticket: answer.ticket)
        if let error = answer.error {
            gateway.metrics.readFailures.increment()
            connection.log(
                .warning, "reading failed", ["channel": "\(answer.channel)", "error": "\(error)"])
            subscription.owesPositions = subscription.owesPositions || subscription.tellsPositions
        }
        if step.sendsPage {
            sendPage(answer.page)
            gateway.metrics.caughtUpEvents.increment(by: answer.eventCount)
            subscription.catchUp?.events += answer.eventCount
        }
        perform(step.actions, for: subscription, answer.positions)
        settle(subscription)
        if step.readsLater { retryLater(subscription) } else { readIfWanted(subscription) }
    }

    private func sendPage(_ bytes: ByteBuffer) {
        guard bytes.readableBytes > 0 else { return }
        turns.pageSent()
        let promise = loopHub.shard.loop.makePromise(of: Void.self)
        // The connection must live until then: here it is unowned.
        promise.futureResult.assumeIsolated().whenComplete { [connection] _ in
            connection.subscriptions.pageTaken()
        }
        connection.send(bytes, promise: promise)
    }

    private func pageTaken() {
        turns.pageTaken()
        readNext()
    }

    private func retryLater(_ subscription: HubSubscription) {
        let loop = loopHub.shard.loop
        loop.assumeIsolated().scheduleTask(in: .seconds(1)) { [connection] in
            guard connection.subscriptions[subscription.channel] === subscription else { return }
            connection.subscriptions.readIfWanted(subscription)
        }
    }

    private func tell(_ positions: LogReader.Positions, to subscription: HubSubscription) {
        let (frame, isStale) = loopHub.newest(positions, for: subscription)
        connection.send(frame)
        if isStale { subscription.owesPositions = true }
    }

    /// Positions follow `subscribed`; also without one if some are owed.
    private func perform(
        _ actions: [ServerSubscriptionMachine.Action], for subscription: HubSubscription,
        _ positions: LogReader.Positions?
    ) {
        let channel = subscription.channel
        if actions.isEmpty, let positions, subscription.machine.isLive {
            if subscription.tellsPositions { tell(positions, to: subscription) }
            subscription.tellsPositions = false
        }
        for action in actions {
            switch action {
            case .sendSubscribed(let state, let reset):
                connection.send(
                    .subscribed(
                        .init(
                            channel: channel, epoch: state.epoch, head: state.head,
                            floor: state.floor, reset: reset,
                            request: subscription.number.take())))
                if let positions { tell(positions, to: subscription) }
                subscription.tellsPositions = false
                loopHub.catchUpBegan(subscription, connection.now)
            case .sendGone(let gone): connection.send(.gone(channel: channel, gone))
            case .sendSyncComplete(let epoch, let through):
                loopHub.catchUpEnded(subscription, connection.now)
                connection.send(
                    .syncComplete(
                        .init(
                            channel: channel, epoch: epoch, through: through,
                            time: gateway.clock.wall())))
            case .warnBeyondHead(let claimed, let head):
                connection.log(
                    .warning, "a device claims more than the log has",
                    ["channel": "\(channel)", "claimed": "\(claimed)", "head": "\(head)"])
            }
        }
    }

    // MARK: Positions

    /// Sends a user's moved positions, or remembers to send the newest later.
    func tell(_ frame: ByteBuffer, to subscription: HubSubscription) {
        guard connection.isWritable, !subscription.machine.isOpening else {
            subscription.owesPositions = true
            return
        }
        connection.send(frame)
    }

    /// Reads positions that were not sent, once the subscription is live again.
    private func settle(_ subscription: HubSubscription) {
        guard subscription.owesPositions, subscription.machine.isLive, connection.isWritable else {
            return
        }
        subscription.machine.logBecameUncertain()
    }
}
