import Logging
import NIOCore
import RepriseCore
import RepriseWire

extension ConnectionHandler {
    func subscribe(_ request: ClientFrame.Subscription) {
        if let subscription = subscriptions[request.channel] {
            subscription.machine.asked(epoch: request.epoch, coverage: request.coverage)
            return readIfWanted(subscription)
        }
        guard subscriptions.count < gateway.limits.channelsPerConnection else {
            return send(
                .refused(
                    .init(
                        channel: request.channel.text, id: nil, code: .tooManyChannels,
                        message: "A connection has at most "
                            + "\(gateway.limits.channelsPerConnection) channels.")))
        }
        let subscription = Subscription(
            channel: request.channel, connection: self,
            machine: SubscriptionMachine(epoch: request.epoch, coverage: request.coverage))
        subscriptions[request.channel] = subscription
        switchboard.add(subscription)  // before the log is asked: see SubscriptionMachine
        readIfWanted(subscription)
    }

    func unsubscribe(_ channel: ChannelName) {
        guard let subscription = subscriptions.removeValue(forKey: channel) else { return }
        switchboard.remove(subscription)
        turns.left { $0 === subscription }
    }

    // MARK: Live

    func deliver(_ run: LiveRun, to subscription: Subscription) {
        let delivery = subscription.machine.committed(
            after: run.prev, through: run.seq, mayWrite: isWritable)
        switch delivery {
        case .send: send(run.bytes)
        case .sendAfter(let sequence): send(run.bytes(after: sequence))
        case .skip: readIfWanted(subscription)
        }
    }

    func sendHeartbeat(_ time: WallTime, _ heads: [ChannelName: Int64]) {
        guard machine.isOpen else { return }
        send(.heartbeat(time: time, heads: heads))
    }

    // MARK: Catch-up

    /// Gives a subscription its turn to read, if there is something it has not been sent.
    func readIfWanted(_ subscription: Subscription) {
        guard subscription.machine.asksForTurn() else { return }
        turns.asked(subscription)
        readNext()
    }

    /// What was kept back is drained: demoted subscriptions catch up.
    func readWhatWasMissed() {
        for subscription in subscriptions.values { readIfWanted(subscription) }
        readNext()
    }

    private func readNext() {
        while let subscription = turns.next(isWritable: isWritable) {
            guard let read = subscription.machine.nextRead() else { continue }
            turns.readStarted()
            let shard = switchboard.shard
            gateway.reader.start(
                read, of: subscription.channel, ticket: subscription.machine.ticket
            ) { [id] answer in
                shard.post(.read(by: id, answer))
            }
        }
    }

    func readAnswered(_ answer: LogReader.Answer) {
        turns.readEnded()
        if let subscription = subscriptions[answer.channel] { handle(answer, for: subscription) }
        readNext()
    }

    private func handle(_ answer: LogReader.Answer, for subscription: Subscription) {
        let step = subscription.machine.readAnswered(answer.content, ticket: answer.ticket)
        if let error = answer.error {
            log(.warning, "reading failed", ["channel": "\(answer.channel)", "error": "\(error)"])
        }
        if step.sendsPage { sendPage(answer.page) }
        perform(step.actions, for: subscription)
        if step.readsLater { retryLater(subscription) } else { readIfWanted(subscription) }
    }

    private func sendPage(_ bytes: ByteBuffer) {
        guard bytes.readableBytes > 0 else { return }
        turns.pageSent()
        let promise = switchboard.shard.loop.makePromise(of: Void.self)
        promise.futureResult.assumeIsolated().whenComplete { _ in
            self.turns.pageTaken()
            self.readNext()
        }
        send(bytes, promise: promise)
    }

    private func retryLater(_ subscription: Subscription) {
        let loop = switchboard.shard.loop
        loop.assumeIsolated().scheduleTask(in: .seconds(1)) {
            guard self.subscriptions[subscription.channel] === subscription else { return }
            self.readIfWanted(subscription)
        }
    }

    private func perform(
        _ actions: [SubscriptionMachine.Action], for subscription: Subscription
    ) {
        let channel = subscription.channel
        for action in actions {
            switch action {
            case .sendSubscribed(let state, let reset):
                send(
                    .subscribed(
                        .init(
                            channel: channel, epoch: state.epoch, head: state.head,
                            floor: state.floor, reset: reset)))
            case .sendSyncComplete(let epoch, let through):
                send(
                    .syncComplete(
                        .init(
                            channel: channel, epoch: epoch, through: through,
                            time: gateway.clock.wall())))
            case .warnBeyondHead(let claimed, let head):
                log(
                    .warning, "a device claims more than the log has",
                    ["channel": "\(channel)", "claimed": "\(claimed)", "head": "\(head)"])
            }
        }
    }
}
