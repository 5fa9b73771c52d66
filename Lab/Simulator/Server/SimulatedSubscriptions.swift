import RepriseCore
import RepriseServer
import RepriseWire

/// The channels of one simulated connection, and which of them reads next: in virtual time what
/// `ConnectionSubscriptions` is in real time.
final class SimulatedSubscriptions {
    private unowned let connection: ServerConnection
    /// In the order in which they were asked for.
    private var all: [ServerSubscription] = []
    private var turns = ReadTurns<ServerSubscription>()

    init(of connection: ServerConnection) { self.connection = connection }

    private var life: ServerLife { connection.life }

    subscript(channel: ChannelName) -> ServerSubscription? {
        all.first { $0.channel == channel }
    }

    /// The connection has ended.
    func end() {
        for subscription in all { life.remove(subscription) }
        all = []
        turns.left { _ in true }
    }

    func subscribe(_ request: ClientFrame.Subscription, _ grant: Grant) {
        life.server.observer(.asked(request, connection: connection.id))
        if let subscription = self[request.channel] {
            subscription.machine.asked(epoch: request.epoch, coverage: request.coverage)
            return readIfWanted(subscription)
        }
        guard all.count < connection.limits.channelsPerConnection else {
            return connection.send(
                .refused(
                    .init(
                        channel: request.channel.text, id: nil, code: .tooManyChannels,
                        message: "")))
        }
        let subscription = ServerSubscription(
            request.channel, connection, grant: grant,
            machine: ServerSubscriptionMachine(
                epoch: request.epoch, coverage: request.coverage, joined: grant.joined))
        all.append(subscription)
        if life.mutation != .registerAfterRead { life.add(subscription) }
        readIfWanted(subscription)
    }

    func unsubscribe(_ channel: ChannelName) {
        guard let index = all.firstIndex(where: { $0.channel == channel }) else { return }
        let subscription = all.remove(at: index)
        life.remove(subscription)
        turns.left { $0 === subscription }
        life.server.observer(.left(channel, connection: connection.id))
    }

    func deliver(_ run: SimulatedRun, to subscription: ServerSubscription) {
        let delivery = subscription.machine.committed(
            after: run.prev, through: run.seq, mayWrite: connection.isWritable)
        switch delivery {
        case .send: connection.send(run.frames[...])
        case .sendAfter(let sequence): connection.send(run.frames(after: sequence))
        case .skip: readIfWanted(subscription)
        }
    }

    // MARK: Catch-up

    func readIfWanted(_ subscription: ServerSubscription) {
        guard subscription.machine.asksForTurn() else { return }
        turns.asked(subscription)
        readNext()
    }

    /// The connection can write again.
    func readAllIfWanted() { for subscription in all { readIfWanted(subscription) } }

    /// The peer has taken a page.
    func pageTaken() { turns.pageTaken() }

    func readNext() {
        while let subscription = turns.next(isWritable: connection.isWritable) {
            guard let read = subscription.machine.nextRead() else { continue }
            turns.readStarted()
            life.read(
                read, of: subscription.channel, ticket: subscription.machine.ticket,
                for: connection.id)
        }
    }

    func readAnswered(_ answer: ServerLife.ReadAnswer) {
        turns.readEnded()
        if let subscription = self[answer.channel] { handle(answer, for: subscription) }
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
        connection.sendPage(frames)
    }

    private func endTooEarly(_ subscription: ServerSubscription, _ target: LogChannelState) {
        subscription.target = nil
        guard life.mutation == .earlySyncComplete else { return }
        connection.send(
            .syncComplete(
                .init(
                    channel: subscription.channel, epoch: target.epoch, through: target.head,
                    time: life.process.clock.wall())))
    }

    private func retryLater(_ subscription: ServerSubscription) {
        life.simulation.after(.seconds(1), on: life.process) { [unowned self] in
            guard all.contains(where: { $0 === subscription }) else { return }
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
                connection.send(
                    .subscribed(
                        .init(
                            channel: subscription.channel, epoch: state.epoch, head: state.head,
                            floor: state.floor, reset: reset)))
            case .sendGone(let gone):
                connection.send(.gone(channel: subscription.channel, gone))
            case .sendSyncComplete(let epoch, let through):
                subscription.target = nil
                connection.send(
                    .syncComplete(
                        .init(
                            channel: subscription.channel, epoch: epoch, through: through,
                            time: life.process.clock.wall())))
            case .warnBeyondHead: break
            }
        }
    }
}
