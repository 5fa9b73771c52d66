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
    private(set) var machine: ServerConnectionMachine
    private(set) lazy var subscriptions = SimulatedSubscriptions(of: self)
    /// Requests that wait for what the user may do.
    private var cache: Cache
    private var publishes: [NewMessage] = []
    /// Frames behind a token that is being looked at.
    private var waiting: Deque<[UInt8]> = []
    private var decoder = FrameDecoder()
    private var output = SimulatedOutput()
    /// Where it stands in the roster of devices; nil before it is known whose it is.
    private var entered: ConnectingDevice?
    /// In a cluster, what its publishes carry.
    private var fence: FencingToken?
    private var hasEnded = false
    private var taken = 0
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
    var isWritable: Bool { output.isWritable }

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

    private func perform(
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
    private func goOn() {
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

    private func takeOver(as device: EntryID) {
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
        case .publish(let publish):
            if let refusal = PublishAnswer.refusal(of: publish) { return send(refusal) }
            request(.publish(publish), in: publish.channel)
        case .subscribe(let requests): requests.forEach { request(.subscribe($0), in: $0.channel) }
        case .unsubscribe(let channels): channels.forEach(leave)
        case .hello, .receipt, .typing, .presence, .watch, .authenticate: break
        }
    }

    // MARK: Publishing

    private func publish(_ publish: ClientFrame.Publish, _ grant: Grant) {
        let message = NewMessage(
            publish, from: machine.principal.user, mayChangeOthers: grant.mayManage, fence: fence)
        if let refusal = life.server.refusal(of: message) { return send(refusal) }
        publishes.append(message)
    }

    private func submitPublishes() {
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
        if output.isEmpty { life.flushLater(self) }
        // Now and not at the flush: what is asked in between is answered later.
        for frame in frames { life.server.observer(.sent(frame.frame, connection: id)) }
        output.append(frames, unsent: socket.unsentBytes, limits)
        awaitTaken()
    }

    func sendPage(_ frames: [SimulatedFrame]) {
        output.expectPage(frames)
        send(frames[...])
    }

    func sendHeartbeat(_ time: WallTime, _ heads: [ChannelName: Int64]) {
        if machine.isOpen { send(.heartbeat(time: time, heads: heads)) }
    }

    func flush() {
        guard !hasEnded, !output.isEmpty else { return }
        socket.send(output.flush())
        noteTaken()
    }

    /// The peer has taken bytes: what was kept back goes on.
    private func bytesTaken() {
        noteTaken()
        life.flush()
    }

    private func noteTaken() {
        guard !hasEnded else { return }
        let count = output.written - socket.unsentBytes
        for _ in 0..<output.pagesTaken(by: count) { subscriptions.pageTaken() }
        if output.resumes(unsent: socket.unsentBytes, limits) {
            updateReading()
            subscriptions.readAllIfWanted()
        }
        awaitTaken()
        subscriptions.readNext()
    }

    /// Being told of every byte is half of what happens on a network, and matters to few.
    private func awaitTaken() { socket.isTakenAwaited = output.isTakenAwaited }

    private func updateReading() {
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
        let count = output.written - socket.unsentBytes
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

    private func perform(_ action: ServerConnectionMachine.Action?) {
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
        subscriptions.end()
        life.ended(self)
    }
}

/// What the user of the connection may do: what `ConnectionRequests` does with the shipping
/// `AuthorizationCache`.
extension ServerConnection {
    typealias Cache = AuthorizationCache<Request, Grant>

    /// What a connection wants of one channel.
    enum Request {
        case subscribe(ClientFrame.Subscription)
        case unsubscribe
        case publish(ClientFrame.Publish)
        /// It is subscribed, and what its user may do has changed.
        case lookAgain
    }

    private func request(_ request: Request, in channel: ChannelName) {
        guard life.server.accounts != nil else { return perform(request, in: channel, .everything) }
        guard let grant = cache.arrived(request, in: channel) else { return }
        perform(request, in: channel, grant)
    }

    private func leave(_ channel: ChannelName) {
        if cache.isAsking(channel) {
            request(.unsubscribe, in: channel)
        } else {
            subscriptions.unsubscribe(channel)
        }
    }

    private func askForAccess() {
        let questions = cache.nextQuestions(32)
        guard !questions.isEmpty else { return }
        life.ask(questions, for: machine.principal, at: id)
    }

    func accessAnswered(_ answers: [ServerLife.AccessAnswer]) {
        guard machine.maySend else { return }
        cache.questionsEnded()
        for answer in answers {
            let channel = answer.question.channel
            let known = answer.grant.flatMap { $0.mayRead || $0.mayPublish ? $0 : nil }
            for request in cache.answered(answer.question, known) {
                if let grant = answer.grant {
                    perform(request, in: channel, grant)
                } else {
                    postpone(request, in: channel)
                }
            }
        }
        submitPublishes()
        askForAccess()
        updateReading()
    }

    func accessChanged(_ channel: ChannelName) {
        if life.mutation != .authorizationStaysCached { cache.changed(channel) }
        if let subscription = subscriptions[channel] {
            subscription.machine.accessBecameUncertain()
            request(.lookAgain, in: channel)
        }
        askForAccess()
    }

    private func perform(_ request: Request, in channel: ChannelName, _ grant: Grant) {
        var grant = grant
        if life.mutation == .historyBeforeJoinSent { grant.joined = 0 }
        switch request {
        case .subscribe(let wanted):
            guard grant.mayRead else { return endSubscription(of: channel, isAsked: true) }
            subscriptions.subscribe(wanted, grant)
        case .unsubscribe: subscriptions.unsubscribe(channel)
        case .publish(let message):
            guard grant.mayPublish else { return refuse(message, .forbidden) }
            publish(message, grant)
        case .lookAgain:
            guard let subscription = subscriptions[channel] else { return }
            guard grant.mayRead else { return endSubscription(of: channel, isAsked: false) }
            subscription.grant = grant
            subscription.machine.accessWasGranted(joined: grant.joined)
            subscriptions.readIfWanted(subscription)
        }
    }

    /// The accounts could not be asked.
    private func postpone(_ request: Request, in channel: ChannelName) {
        switch request {
        case .subscribe:
            refuse(channel, .unavailable, retryAfter: .seconds(1))
            subscriptions.unsubscribe(channel)
        case .publish(let message): refuse(message, .unavailable, retryAfter: .seconds(1))
        case .unsubscribe: subscriptions.unsubscribe(channel)
        case .lookAgain:
            life.simulation.after(.seconds(1), on: life.process) { [unowned self] in
                guard machine.isOpen, subscriptions[channel] != nil else { return }
                self.request(.lookAgain, in: channel)
                askForAccess()
                life.flush()
            }
        }
    }

    /// The user may not read the channel: nothing of it is sent after this.
    private func endSubscription(of channel: ChannelName, isAsked: Bool) {
        let isOpen = subscriptions[channel] != nil
        guard isAsked || isOpen else { return }
        subscriptions.unsubscribe(channel)
        refuse(channel, .forbidden)
    }

    private func refuse(
        _ channel: ChannelName, _ code: RefusalCode, retryAfter: Duration? = nil
    ) {
        send(
            .refused(
                .init(
                    channel: channel.text, id: nil, code: code, message: "", retryAfter: retryAfter)
            ))
    }

    private func refuse(
        _ message: ClientFrame.Publish, _ code: RefusalCode, retryAfter: Duration? = nil
    ) {
        send(
            .refused(
                .init(
                    channel: message.channel.text, id: message.id.text, code: code, message: "",
                    retryAfter: retryAfter)))
    }
}

/// A hello in a cluster: its place in the journal orders it among those of its device.
extension ServerConnection {
    private func sayHello(of device: ConnectingDevice, by gateway: SimulatedGateway) {
        let life = life
        gateway.submit([.hello(device)]) { [life, id] result in
            if case .arrived(let arrival, _)? = (try? result.get())?.first {
                life.server.observer(.arrived(arrival, connection: id))
            }
            life.post(.arrived(id, result.flatMap(Self.generation)))
        }
        guard life.mutation == .clusterWelcomesEarly else { return }
        perform(machine.takeOver(from: 0, now: life.now), for: nil)
    }

    private static func generation(
        of outcomes: [CommandOutcome]
    ) -> Result<Generation, RepriseError> {
        guard case .arrived(let arrival, _)? = outcomes.first else {
            return .failure(RepriseError(.internal, "A hello has another outcome than its own."))
        }
        return .success(arrival.generation)
    }

    func arrivedLater(_ answer: Result<Generation, RepriseError>) {
        guard !hasEnded, let entered else { return }
        switch answer {
        case .failure(let error):
            let code: CloseCode = error.code == .full ? .overloaded : .unavailable
            perform(machine.violated(code, error.message, now: life.now))
        case .success(var generation):
            guard case .newest(let older) = life.roster.arrived(id, as: entered, generation) else {
                return replaced()
            }
            // Only here: the roster would end a connection that seems older than its own hello.
            if life.mutation == .clusterHellosShareGeneration { generation.place = 0 }
            if life.mutation != .clusterForgetsFences {
                fence = FencingToken(device: entered.device, generation: generation)
            }
            for other in older { life.post(.replace(other, by: id)) }
            if life.mutation != .clusterWelcomesEarly {
                perform(machine.takeOver(from: older.count, now: life.now), for: nil)
            }
        }
        goOn()
    }
}
