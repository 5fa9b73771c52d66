import RepriseCore
import RepriseServer
import RepriseWire

/// One connection: the effects of what the shipping `ConnectionMachine`, `SubscriptionMachine`s and `ReadTurns` decide.
final class ServerConnection {
    let id: Int
    private let socket: SimulatedSocket
    unowned let life: ServerLife
    var machine: ConnectionMachine
    /// In the order in which they were asked for.
    var subscriptions: [ServerSubscription] = []
    var turns = ReadTurns<ServerSubscription>()
    private var publishes: [NewMessage] = []
    private var decoder = FrameDecoder()
    private var outbox: [SimulatedFrame] = []
    var outboxBytes = 0
    var isWritable = true
    private var hasEnded = false
    /// Bytes handed to the network since the beginning.
    var written = 0
    private var taken = 0
    /// Where pages end in what was written, that the peer has not taken yet.
    var pageEnds: [Int] = []
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

    var limits: ServerLimits { life.server.settings.limits }

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
            case .identify, .authenticated: break  // this server's access is open
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
            let message = NewMessage(publish, mayChangeOthers: true)  // it asks nobody who he is
            if let refusal = PublishAnswer.refusal(of: message) { return send(refusal) }
            if let refusal = life.server.refusal(of: message) { return send(refusal) }
            publishes.append(message)
        case .subscribe(let requests): requests.forEach(subscribe)
        case .unsubscribe(let channels): channels.forEach(unsubscribe)
        case .hello, .receipt, .typing, .authenticate: break
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

    // MARK: Sending

    func send(_ frame: ServerFrame) { send([SimulatedFrame(frame)][...]) }

    func send(_ frames: ArraySlice<SimulatedFrame>) {
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
