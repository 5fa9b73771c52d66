import DequeModule
import RepriseCore
import RepriseServer
import RepriseWire

/// One connection: performs what the shipping `ServerConnectionMachine`, `ReadTurns` and
/// `ServerSubscriptionMachine`s decide.
final class ServerConnection {
    let id: Int
    private let socket: SimulatedSocket
    unowned let life: ServerLife
    var machine: ServerConnectionMachine
    /// In the order in which they were asked for.
    var subscriptions: [ServerSubscription] = []
    var turns = ReadTurns<ServerSubscription>()
    /// Requests that wait for what the user may do.
    var cache: Cache
    private var publishes: [NewMessage] = []
    /// Frames behind a token that is being looked at.
    private var waiting: Deque<[UInt8]> = []
    private var decoder = FrameDecoder()
    private var outbox: [SimulatedFrame] = []
    var outboxBytes = 0
    var isWritable = true
    /// Where it stands in the roster of devices; nil before it is known whose it is.
    private(set) var entered: ConnectingDevice?
    /// In a cluster, what its publishes carry.
    var fence: FencingToken?
    private(set) var hasEnded = false
    /// Bytes handed to the network since the beginning.
    var written = 0
    private var taken = 0
    /// Where pages end in what was written, that the peer has not taken yet.
    var pageEnds: Deque<Int> = []
    private var turn = 0

    init(_ id: Int, _ socket: SimulatedSocket, _ life: ServerLife) {
        self.id = id
        self.socket = socket
        self.life = life
        machine = ServerConnectionMachine(now: life.now, asksWho: life.server.accounts != nil)
        cache = Cache(remembered: life.server.settings.remembered)
        socket.received = { [unowned self] in received($0) }
        socket.closed = { [unowned self] _ in end() }
        socket.taken = { [unowned self] in bytesTaken() }
        socket.ponged = { [unowned self] in
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
            if machine.mustWait { waiting.append(bytes) } else { received(bytes) }
        }
        submitPublishes()
        askForAccess()
        life.flush()
        updateReading()
    }

    private func received(_ bytes: [UInt8]) {
        do {
            let frame = try decoder.clientFrame(bytes)
            perform(machine.frameReceived(frame, now: life.now), for: frame)
        } catch {
            let error = error as? RepriseError
            if let refused = machine.isOpen ? PublishAnswer.refusal(of: bytes, error) : nil {
                return send(.refused(refused))
            }
            perform(machine.violated(.malformedFrame, error?.message ?? "", now: life.now))
        }
    }

    func perform(
        _ disposition: ServerConnectionMachine.Disposition, for frame: ClientFrame?
    ) {
        switch disposition {
        case .identify(let token): life.identify(token, for: id)
        case .takeOver(let device): takeOver(as: device)
        case .welcome: welcome()
        case .authenticated: if let session { send(.authenticated(session)) }
        case .accept: if let frame { accept(frame) }
        case .ignore: break
        case .close(let code, let message): close(code, message)
        }
    }

    func identified(_ answer: Result<Principal, RepriseError>) {
        guard !hasEnded else { return }
        let ends = (try? answer.get())?.expires.map { expires in
            life.now + life.process.clock.wall().duration(to: expires)
                + (life.server.accounts?.leeway ?? .zero)
        }
        let disposition = machine.identified(answer, ends: ends, now: life.now)
        if let user = machine.principal.user, case .takeOver = disposition {
            life.server.observer(.identified(user, connection: id))
        }
        perform(disposition, for: nil)
        goOn()
    }

    /// What waited for an answer about it may go on.
    func goOn() {
        lookLater()
        var frames = waiting
        waiting = []
        while !machine.mustWait, machine.maySend, let frame = frames.popFirst() { received(frame) }
        if machine.mustWait { waiting = frames }
        submitPublishes()
        askForAccess()
        updateReading()
    }

    // MARK: The device's other connections

    func takeOver(as device: EntryID) {
        let device = ConnectingDevice(user: machine.principal.user, device: device)
        entered = device
        life.roster.entered(id, as: device)
        if let gateway = life.server.gateway { return sayHello(of: device, by: gateway) }
        guard case .newest(var older) = life.roster.arrived(id, as: device, nil) else {
            return replaced()
        }
        if life.mutation == .olderConnectionsStay { older = [] }
        for other in older { life.post(.replace(other, by: id)) }
        perform(machine.takeOver(from: older.count, now: life.now), for: nil)
    }

    func replaced() { perform(machine.replaced(now: life.now)) }

    func olderEnded() {
        perform(machine.olderEnded(now: life.now), for: nil)
        goOn()
    }

    private var session: ServerFrame.Session? {
        guard let user = machine.principal.user, let expires = machine.principal.expires else {
            return nil
        }
        return ServerFrame.Session(user: user, expires: expires)
    }

    private func welcome() {
        if let device = machine.device {
            life.server.observer(.welcomed(device, connection: id))
        }
        send(
            .welcome(
                .init(
                    version: ClientFrame.Hello.currentVersion, time: life.process.clock.wall(),
                    heartbeat: limits.heartbeat, server: "reprise", session: session)))
    }

    private func accept(_ frame: ClientFrame) {
        switch frame {
        case .publish(let publish): request(.publish(publish), in: publish.channel)
        case .subscribe(let requests): requests.forEach { request(.subscribe($0), in: $0.channel) }
        case .unsubscribe(let channels): channels.forEach(leave)
        case .hello, .receipt, .typing, .presence, .watch, .authenticate: break
        }
    }

    // MARK: Publishing

    func publish(_ publish: ClientFrame.Publish, _ grant: Grant) {
        let message = NewMessage(
            publish, from: machine.principal.user, mayChangeOthers: grant.mayManage, fence: fence)
        if let refusal = PublishAnswer.refusal(of: message) { return send(refusal) }
        if let refusal = life.server.refusal(of: message) { return send(refusal) }
        publishes.append(message)
    }

    func submitPublishes() {
        guard !publishes.isEmpty else { return }
        let messages = publishes
        publishes = []
        machine.publishesAccepted(messages.count)
        life.server.observer(.took(messages.map(\.id), connection: id))
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
        for frame in frames {
            outboxBytes += frame.bytes.count
            // Now and not at the flush: what is asked in between is answered later.
            life.server.observer(.sent(frame.frame, connection: id))
        }
        outbox.append(contentsOf: frames)
        if socket.unsentBytes + outboxBytes > limits.unsentBytes { isWritable = false }
        awaitTaken()
    }

    func flush() {
        guard !hasEnded, !outbox.isEmpty else { return }
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
        awaitTaken()
        readNext()
    }

    /// Being told of every byte is half of what happens on a network, and matters to few.
    private func awaitTaken() { socket.isTakenAwaited = !isWritable || !pageEnds.isEmpty }

    func updateReading() {
        guard !hasEnded else { return }
        socket.isReading =
            machine.mayRead(life.connectionLimits)
            && (!machine.maySend || isWritable && cache.waitingCount < limits.publishesInFlight)
    }

    // MARK: Time and the end

    private func lookLater() {
        turn += 1
        let turn = turn
        let delay = max(machine.nextTick(life.connectionLimits, now: life.now), limits.tick)
        life.simulation.after(delay, on: life.process) { [unowned self] in ticked(turn) }
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

    /// The network loses it.
    func cut() { if !hasEnded { socket.cut() } }

    /// The server is shutting down.
    func quiesce() { perform(machine.quiesceRequested(now: life.now)) }

    func perform(_ action: ServerConnectionMachine.Action?) {
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
        if let entered { life.roster.left(id, as: entered) }
        for subscription in subscriptions { life.remove(subscription) }
        subscriptions = []
        turns.left { _ in true }
        life.ended(self)
    }
}
