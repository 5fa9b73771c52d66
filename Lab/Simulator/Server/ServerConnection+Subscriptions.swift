import RepriseCore
import RepriseServer
import RepriseWire

extension ServerConnection {
    func subscribe(_ request: ClientFrame.Subscription, _ grant: Grant) {
        life.server.observer(.asked(request, connection: id))
        if let subscription = subscriptions.first(where: { $0.channel == request.channel }) {
            subscription.machine.asked(epoch: request.epoch, coverage: request.coverage)
            return readIfWanted(subscription)
        }
        guard subscriptions.count < limits.channelsPerConnection else {
            return send(
                .refused(
                    .init(
                        channel: request.channel.text, id: nil, code: .tooManyChannels,
                        message: "")))
        }
        let subscription = ServerSubscription(
            request.channel, self, grant: grant,
            machine: ServerSubscriptionMachine(
                epoch: request.epoch, coverage: request.coverage, joined: grant.joined))
        subscriptions.append(subscription)
        if life.mutation != .registerAfterRead { life.add(subscription) }
        readIfWanted(subscription)
    }

    func unsubscribe(_ channel: ChannelName) {
        guard let index = subscriptions.firstIndex(where: { $0.channel == channel }) else {
            return
        }
        let subscription = subscriptions.remove(at: index)
        life.remove(subscription)
        turns.left { $0 === subscription }
        life.server.observer(.left(channel, connection: id))
    }

    func deliver(_ run: SimulatedRun, to subscription: ServerSubscription) {
        let delivery = subscription.machine.committed(
            after: run.prev, through: run.seq, mayWrite: isWritable)
        switch delivery {
        case .send: send(run.frames[...])
        case .sendAfter(let sequence): send(run.frames(after: sequence))
        case .skip: readIfWanted(subscription)
        }
    }

    func sendHeartbeat(_ time: WallTime, _ heads: [ChannelName: Int64]) {
        if machine.isOpen { send(.heartbeat(time: time, heads: heads)) }
    }

    // MARK: Catch-up

    func readIfWanted(_ subscription: ServerSubscription) {
        guard subscription.machine.asksForTurn() else { return }
        turns.asked(subscription)
        readNext()
    }

    func readNext() {
        while let subscription = turns.next(isWritable: isWritable) {
            guard let read = subscription.machine.nextRead() else { continue }
            turns.readStarted()
            life.read(
                read, of: subscription.channel, ticket: subscription.machine.ticket, for: id)
        }
    }

    func readAnswered(_ answer: ServerLife.ReadAnswer) {
        turns.readEnded()
        if let subscription = subscriptions.first(where: { $0.channel == answer.channel }) {
            handle(answer, for: subscription)
        }
        readNext()
    }

    private func handle(_ answer: ServerLife.ReadAnswer, for subscription: ServerSubscription) {
        let step = subscription.machine.readAnswered(answer.content, ticket: answer.ticket)
        if case .state = answer.content { life.add(subscription) }  // late only in a wrong driver
        if step.sendsPage { sendPage(answer.page) }
        perform(step.actions, for: subscription)
        if step.sendsPage, let target = subscription.target { endTooEarly(subscription, target) }
        if step.readsLater { retryLater(subscription) } else { readIfWanted(subscription) }
    }

    private func sendPage(_ frames: [SimulatedFrame]) {
        guard !frames.isEmpty else { return }
        turns.pageSent()
        pageEnds.append(written + outboxBytes + frames.reduce(0) { $0 + $1.bytes.count })
        send(frames[...])
    }

    private func endTooEarly(_ subscription: ServerSubscription, _ target: LogChannelState) {
        subscription.target = nil
        guard life.mutation == .earlySyncComplete else { return }
        send(
            .syncComplete(
                .init(
                    channel: subscription.channel, epoch: target.epoch, through: target.head,
                    time: life.process.clock.wall())))
    }

    private func retryLater(_ subscription: ServerSubscription) {
        life.simulation.after(.seconds(1), on: life.process) { [unowned self] in
            guard subscriptions.contains(where: { $0 === subscription }) else { return }
            readIfWanted(subscription)
        }
    }

    private func perform(
        _ actions: [ServerSubscriptionMachine.Action], for subscription: ServerSubscription
    ) {
        for action in actions {
            switch action {
            case .sendSubscribed(let state, let reset):
                subscription.target = state
                send(
                    .subscribed(
                        .init(
                            channel: subscription.channel, epoch: state.epoch, head: state.head,
                            floor: state.floor, reset: reset)))
            case .sendGone(let gone): send(.gone(channel: subscription.channel, gone))
            case .sendSyncComplete(let epoch, let through):
                subscription.target = nil
                send(
                    .syncComplete(
                        .init(
                            channel: subscription.channel, epoch: epoch, through: through,
                            time: life.process.clock.wall())))
            case .warnBeyondHead: break
            }
        }
    }
}
