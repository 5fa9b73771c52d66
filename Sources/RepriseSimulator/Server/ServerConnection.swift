import RepriseCore
import RepriseServer
import RepriseWire

/// One channel of one connection.
final class ServerSubscription {
    let channel: ChannelName
    unowned let connection: ServerConnection
    var machine: SubscriptionMachine
    var isRegistered = false
    /// The target of the catch-up, for a wrong driver that ends it too early; nil once it has.
    var target: ChannelState?

    init(_ channel: ChannelName, _ connection: ServerConnection, machine: SubscriptionMachine) {
        self.channel = channel
        self.connection = connection
        self.machine = machine
    }
}

/// One connection: the effects of what the shipping `ConnectionMachine`, `SubscriptionMachine`s and `ReadTurns` decide.
final class ServerConnection {
    let id: Int
    private let socket: SimulatedSocket
    private unowned let life: ServerLife
    private var machine: ConnectionMachine
    /// In the order in which they were asked for.
    private var subscriptions: [ServerSubscription] = []
    private var turns = ReadTurns<ServerSubscription>()
    private var publishes: [NewMessage] = []
    private var decoder = FrameDecoder()
    private var outbox: [SimulatedFrame] = []
    private var outboxBytes = 0
    private var isWritable = true
    private var hasEnded = false
    /// Bytes handed to the network since the beginning.
    private var written = 0
    private var taken = 0
    /// Where pages end in what was written, that the peer has not taken yet.
    private var pageEnds: [Int] = []
    private var turn = 0

    init(_ id: Int, _ socket: SimulatedSocket, _ life: ServerLife) {
        self.id = id
        self.socket = socket
        self.life = life
        machine = ConnectionMachine(now: life.now)
        socket.received = { [weak self] in self?.received($0) }
        socket.closed = { [weak self] _ in self?.end() }
        socket.taken = { [weak self] in self?.bytesTaken() }
        socket.ponged = { [weak self] in
            guard let self else { return }
            machine.bytesReceived(now: life.now)
        }
        lookLater()
    }

    private var limits: ServerLimits { life.server.settings.limits }

    // MARK: Receiving

    private func received(_ frames: ArraySlice<[UInt8]>) {
        for bytes in frames {
            guard !hasEnded else { return }
            machine.bytesReceived(now: life.now)
            guard machine.maySend else { return }
            received(bytes)
        }
        submitPublishes()
        life.flush()
        updateReading()
    }

    private func received(_ bytes: [UInt8]) {
        do {
            let frame = try decoder.clientFrame(bytes)
            switch machine.frameReceived(frame, now: life.now) {
            case .welcome: welcome()
            case .accept: accept(frame)
            case .ignore: break
            case .close(let code, let message): close(code, message)
            }
        } catch {
            let error = error as? RepriseError
            if let refused = machine.isOpen ? PublishAnswer.refusal(of: bytes, error) : nil {
                return send(.refused(refused))
            }
            perform(machine.violated(.malformedFrame, error?.message ?? "", now: life.now))
        }
    }

    private func welcome() {
        send(
            .welcome(
                .init(
                    version: ClientFrame.Hello.currentVersion, time: life.process.clock.wall(),
                    heartbeat: limits.heartbeat, server: "reprise")))
    }

    private func accept(_ frame: ClientFrame) {
        switch frame {
        case .publish(let publish):
            if let refusal = PublishAnswer.refusal(of: publish) { return send(refusal) }
            publishes.append(publish)
        case .subscribe(let requests): requests.forEach(subscribe)
        case .unsubscribe(let channels): channels.forEach(unsubscribe)
        case .hello: break
        }
    }

    // MARK: Publishing

    private func submitPublishes() {
        guard !publishes.isEmpty else { return }
        let messages = publishes
        publishes = []
        machine.publishesAccepted(messages.count)
        life.submit(messages) { [life, id] result in
            life.post(.answers(to: id, messages, result))
        }
    }

    func publishesAnswered(
        _ messages: [NewMessage], _ result: Result<[AppendResult], RepriseError>
    ) {
        if machine.maySend {
            switch result {
            case .success(let results):
                for (message, result) in zip(messages, results) {
                    send(PublishAnswer.frame(to: message, result))
                }
            case .failure(let error):
                for message in messages { send(PublishAnswer.frame(to: message, error)) }
            }
        }
        perform(machine.publishesAnswered(messages.count, now: life.now))
        updateReading()
    }

    // MARK: Subscriptions

    private func subscribe(_ request: ClientFrame.Subscription) {
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
            request.channel, self,
            machine: SubscriptionMachine(epoch: request.epoch, coverage: request.coverage))
        subscriptions.append(subscription)
        if life.mutation != .registerAfterRead { life.add(subscription) }
        readIfWanted(subscription)
    }

    private func unsubscribe(_ channel: ChannelName) {
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

    private func readNext() {
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
        send(frames[...])
        pageEnds.append(written + outboxBytes)
    }

    private func endTooEarly(_ subscription: ServerSubscription, _ target: ChannelState) {
        subscription.target = nil
        guard life.mutation == .earlySyncComplete else { return }
        send(
            .syncComplete(
                .init(
                    channel: subscription.channel, epoch: target.epoch, through: target.head,
                    time: life.process.clock.wall())))
    }

    private func retryLater(_ subscription: ServerSubscription) {
        life.simulation.after(.seconds(1), on: life.process) { [weak self, weak subscription] in
            guard let self, let subscription,
                subscriptions.contains(where: { $0 === subscription })
            else { return }
            readIfWanted(subscription)
        }
    }

    private func perform(
        _ actions: [SubscriptionMachine.Action], for subscription: ServerSubscription
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

    // MARK: Sending

    private func send(_ frame: ServerFrame) { send([SimulatedFrame(frame)][...]) }

    private func send(_ frames: ArraySlice<SimulatedFrame>) {
        guard !hasEnded, !frames.isEmpty else { return }
        machine.frameSent(now: life.now)
        if outbox.isEmpty { life.flushLater(self) }
        for frame in frames { outboxBytes += frame.bytes.count }
        outbox.append(contentsOf: frames)
        if socket.unsentBytes + outboxBytes > limits.unsentBytes { isWritable = false }
    }

    func flush() {
        guard !hasEnded, !outbox.isEmpty else { return }
        for frame in outbox { life.server.observer(.sent(frame.frame, connection: id)) }
        let bytes = outbox.map(\.bytes)
        written += outboxBytes
        outbox = []
        outboxBytes = 0
        socket.send(bytes)
        noteTaken()
    }

    /// The peer has taken bytes: what was kept back goes on.
    private func bytesTaken() {
        noteTaken()
        life.flush()
    }

    private func noteTaken() {
        guard !hasEnded else { return }
        let count = written - socket.unsentBytes
        while let end = pageEnds.first, end <= count {
            pageEnds.removeFirst()
            turns.pageTaken()
        }
        if !isWritable, socket.unsentBytes + outboxBytes < limits.unsentBytesToResume {
            isWritable = true
            updateReading()
            for subscription in subscriptions { readIfWanted(subscription) }
        }
        readNext()
    }

    private func updateReading() {
        guard !hasEnded else { return }
        socket.isReading =
            machine.mayRead(life.connectionLimits) && (isWritable || !machine.maySend)
    }

    // MARK: Time and the end

    private func lookLater() {
        turn += 1
        let turn = turn
        let delay = max(machine.nextTick(life.connectionLimits, now: life.now), limits.tick)
        life.simulation.after(delay, on: life.process) { [weak self] in self?.ticked(turn) }
    }

    private func ticked(_ turn: Int) {
        guard !hasEnded, turn == self.turn else { return }
        let count = written - socket.unsentBytes
        if count > taken || socket.unsentBytes == 0 { machine.bytesTaken(now: life.now) }
        taken = count
        perform(
            machine.ticked(
                life.connectionLimits, isReading: socket.isReading, now: life.now))
        life.flush()
        if !hasEnded { lookLater() }
    }

    private func perform(_ action: ConnectionMachine.Action?) {
        switch action {
        case nil: break
        case .ping: socket.ping()
        case .heartbeat: send(.heartbeat(time: life.process.clock.wall(), heads: [:]))
        case .cut: end()
        case .close(let code, let message): close(code, message)
        }
    }

    private func close(_ code: CloseCode, _ message: String) {
        send(.error(code: code, message: message))
        guard life.process.survives("closing connection \(id)") else { return }
        flush()
        socket.close(code)
        end()
    }

    private func end() {
        guard !hasEnded else { return }
        hasEnded = true
        machine.connectionEnded(now: life.now)
        for subscription in subscriptions { life.remove(subscription) }
        subscriptions = []
        turns.left { _ in true }
        life.ended(self)
    }
}
