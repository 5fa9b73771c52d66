import RepriseCore
import RepriseServer
import RepriseWire

/// What a server remembers from its start to its death: the committer, the hub and the connections,
/// in virtual time.
final class ServerLife {
    typealias Reply = (Result<[AppendResult], RepriseError>) -> Void
    typealias Queue = CommitQueue<Reply>

    /// What waits for the event loop; there is one of these.
    enum LoopEvent {
        case live([SimulatedRun])
        case uncertain(Set<ChannelName>)
        case answers(to: Int, [NewMessage], Result<[AppendResult], RepriseError>)
        case read(by: Int, ReadAnswer)
        case identified(Int, Result<Principal, RepriseError>)
        case replace(Int, by: Int?)
        case arrived(Int, Result<Generation, RepriseError>)
        case olderEnded(Int)
        case access(to: Int, [AccessAnswer])
        case accessChanged(SimulatedAccounts.Seat)
    }

    /// What a user may do in a channel; nil: it could not be found out.
    struct AccessAnswer {
        let question: ServerConnection.Cache.Question
        let grant: Grant?

        /// Whether it is known that the user has no right there.
        var isRefusal: Bool { grant.map { !$0.mayRead } ?? false }
        var unknown: Self { Self(question: question, grant: nil) }
    }

    /// What was read, for which subscription.
    struct ReadAnswer {
        let channel: ChannelName
        let ticket: UInt32
        var content: ServerSubscriptionMachine.Answer
        var page: [SimulatedFrame] = []
    }

    unowned let server: SimulatedServer
    let connectionLimits: ServerConnectionMachine.Limits
    private var queue: Queue
    var roster = DeviceRoster<Int>()
    private(set) var isStoring = false
    /// How many submissions were taken in and are not answered.
    private(set) var unanswered = 0
    /// Who comes is sent away.
    var isQuiescing = false
    private var box: ShardQueue<LoopEvent>
    private var heartbeats: Heartbeats<Int>
    private var isBeating = false
    private var connections: [Int: ServerConnection] = [:]
    /// Those that have ended: what was asked for them is still answered.
    private var former: [ServerConnection] = []
    private var subscribers: [ChannelName: [ServerSubscription]] = [:]
    private var unflushed: [ServerConnection] = []
    private var calendar: WallClockGuard

    init(_ server: SimulatedServer) {
        self.server = server
        let limits = server.settings.limits
        connectionLimits = ServerConnectionMachine.Limits(limits)
        queue = Queue(limits: server.settings.commits)
        box = ShardQueue(waitingBytes: server.settings.waitingBytes)
        heartbeats = Heartbeats(
            interval: limits.heartbeat, now: server.process.clock.uptime())
        calendar = WallClockGuard(stored: nil, now: server.process.clock.clockReading())
    }

    var process: SimulatedProcess { server.process }
    var simulation: Simulation { server.simulation }
    var now: Duration { process.clock.uptime() }
    var mutation: Mutation? { simulation.mutation }

    func begin() { keepHouse() }

    /// The process has died; nothing is said to anybody.
    func ended() {
        for connection in inOrder {
            server.observer(.ended(connection: connection.id))
        }
        former += inOrder
        connections = [:]
        subscribers = [:]
        unflushed = []
    }

    /// The run is over: what waits for an answer holds this.
    func forget() { queue = Queue(limits: server.settings.commits) }

    private func later(_ from: Duration, _ to: Duration, _ work: @escaping () -> Void) {
        simulation.after(server.random.latency(from, to), on: process, work)
    }

    // MARK: Committing

    func submit(_ messages: [NewMessage], reply: @escaping Reply) {
        let counted: Reply = { [unowned self] result in
            unanswered -= 1
            reply(result)
        }
        if let error = queue.add(.init(messages: messages, reply: counted)) {
            return reply(.failure(error))
        }
        unanswered += 1
        storeNext()
    }

    private func storeNext() {
        guard !isStoring else { return }
        let batch = queue.take()
        guard !batch.isEmpty else { return }
        isStoring = true
        answerTooEarly(batch)
        later(.microseconds(50), .milliseconds(30)) { [self] in commit(batch) }
    }

    private func commit(_ batch: [Queue.Submission]) {
        let messages = batch.flatMap(\.messages)
        guard process.survives("a commit of \(messages.count) messages") else { return }
        if let gateway = server.gateway { return commit(batch, messages, by: gateway) }
        let actions: [Queue.Action]
        do {
            let results = try server.store.append(messages, now: process.clock.wall()) {
                server.disk.commit()
            }
            simulation.trace(server.name, "has stored \(Self.text(results))")
            for (message, result) in zip(messages, results) {
                if case .duplicate = result { server.observer(.came(message.id)) }
                if !result.events.isEmpty { server.observer(.durable(result.events)) }
            }
            queue.logAnswered(hasFailed: false)
            actions = Queue.stored(batch, results)
        } catch {
            simulation.trace(server.name, "could not store \(messages.count) messages: \(error)")
            server.observer(.uncertain(messages.map(\.id)))
            queue.logAnswered(hasFailed: true)
            actions = Queue.failed(batch, error)
        }
        stored(actions)
    }

    private func stored(_ actions: [Queue.Action]) {
        later(.microseconds(10), .milliseconds(20)) { [self] in
            guard perform(actions) else { return }
            isStoring = false
            storeNext()
        }
    }

    /// - Returns: false if the server died of it.
    private func perform(_ actions: [Queue.Action]) -> Bool {
        for action in actions {
            guard process.survives("telling of a commit") else { return false }
            switch action {
            case .fanOut(let events):
                // In a cluster the events come with the journal.
                if mutation != .fanOutBeforeCommit, server.gateway == nil { fanOut(events) }
            case .doubt(let channels): post(.uncertain(channels))
            case .answer(let reply, let result):
                if mutation != .acknowledgeBeforeCommitOnServer { reply(result) }
            }
        }
        return true
    }

    /// Wrong drivers: they tell what a commit will bring before there is one.
    private func answerTooEarly(_ batch: [Queue.Submission]) {
        guard mutation == .fanOutBeforeCommit || mutation == .acknowledgeBeforeCommitOnServer,
            let results = try? server.store.preview(
                batch.flatMap(\.messages), now: process.clock.wall())
        else { return }
        for action in Queue.stored(batch, results) {
            switch action {
            case .fanOut(let events): if mutation == .fanOutBeforeCommit { fanOut(events) }
            case .doubt: break
            case .answer(let reply, let result):
                if mutation == .acknowledgeBeforeCommitOnServer { reply(result) }
            }
        }
    }

    private static func text(_ results: [AppendResult]) -> String {
        results.map { result in
            switch result {
            case .stored(let event), .buried(_, let event):
                "\(event.channel) \(event.seq) (\(event.id))"
            case .duplicate(let seq): "nothing: \(seq) was known"
            case .refused(let code, _): "nothing: \(code)"
            }
        }.joined(separator: ", ")
    }

    // MARK: The hub

    /// Whether anybody listens is asked after the commit, as `Hub.committed(_:)` does.
    private func fanOut(_ events: [ServerFrame.Event]) {
        let runs = SimulatedRun.runs(of: events, bytesPerRun: server.settings.bytesPerRun) {
            subscribers[$0] != nil
        }
        guard !runs.isEmpty else { return }
        let bytes = runs.reduce(0) { $0 + $1.byteCount }
        let mustSchedule = box.post(live: .live(runs), bytes: bytes, of: runs.map(\.channel))
        if mustSchedule { openLater() }
    }

    func post(_ letter: LoopEvent) {
        if box.post(letter) { openLater() }
    }

    /// A loop that is busy with others lets its events wait: that is when live events are left
    /// out.
    private func openLater() {
        let isBusy = server.random.chance(0.1)
        later(.microseconds(5), isBusy ? .seconds(1) : .milliseconds(5)) { [self] in
            let (events, missed) = box.open()
            for event in events { handle(event) }
            if !missed.isEmpty { handle(.uncertain(missed)) }
            flush()
        }
    }

    private func handle(_ letter: LoopEvent) {
        switch letter {
        case .live(let runs): runs.forEach(deliver)
        case .uncertain(let channels):
            guard mutation != .failedCommitUnchecked else { return }
            channels.sorted().forEach(doubt)
        case .answers(let id, let messages, let result):
            connections[id]?.publishesAnswered(messages, result)
        case .read(let id, let answer): connections[id]?.subscriptions.readAnswered(answer)
        case .identified(let id, let answer): connections[id]?.identified(answer)
        case .replace(let id, let newer):
            connections[id]?.replaced()
            if let newer { post(.olderEnded(newer)) }
        case .arrived(let id, let answer): connections[id]?.arrivedLater(answer)
        case .olderEnded(let id): connections[id]?.olderEnded()
        case .access(let id, let answers): connections[id]?.accessAnswered(answers)
        case .accessChanged(let seat):
            for connection in connections(of: seat.user) { connection.accessChanged(seat.channel) }
        }
    }

    private func deliver(_ run: SimulatedRun) {
        guard let subscribers = subscribers[run.channel] else { return }
        heartbeats.eventsCame(in: run.channel)
        for subscription in subscribers {
            subscription.connection.subscriptions.deliver(run, to: subscription)
        }
    }

    private func doubt(_ channel: ChannelName) {
        for subscription in subscribers[channel] ?? [] {
            subscription.machine.logBecameUncertain()
            subscription.connection.subscriptions.readIfWanted(subscription)
        }
    }

    func add(_ subscription: ServerSubscription) {
        guard !subscription.isRegistered else { return }
        subscription.isRegistered = true
        subscribers[subscription.channel, default: []].append(subscription)
    }

    func remove(_ subscription: ServerSubscription) {
        guard subscription.isRegistered else { return }
        let channel = subscription.channel
        subscribers[channel]?.removeAll { $0 === subscription }
        guard subscribers[channel]?.isEmpty ?? false else { return }
        subscribers[channel] = nil
        heartbeats.interestEnded(in: channel)
    }

    // MARK: People

    /// A moment later: its token is being looked at.
    func identify(_ token: AccessToken?, for id: Int) {
        later(.microseconds(50), .milliseconds(40)) { [self] in
            guard let accounts = server.accounts else { return }
            post(.identified(id, accounts.principal(of: token, now: process.clock.wall())))
        }
    }

    /// A gateway refuses nobody before it knows what was acknowledged by then, as `LogReader` does.
    func ask(_ questions: [ServerConnection.Cache.Question], for who: Principal, at id: Int) {
        look(questions, for: who) { [self] answers in
            guard let gateway = server.gateway, answers.contains(where: \.isRefusal) else {
                return post(.access(to: id, answers))
            }
            gateway.submit([.nop]) { [self] result in
                switch result {
                case .success: look(questions, for: who) { [self] in post(.access(to: id, $0)) }
                case .failure: post(.access(to: id, answers.map { $0.isRefusal ? $0.unknown : $0 }))
                }
            }
        }
    }

    /// Reads at one moment and answers at a later one, so that something may have changed in
    /// between.
    private func look(
        _ questions: [ServerConnection.Cache.Question], for who: Principal,
        then answer: @escaping ([AccessAnswer]) -> Void
    ) {
        later(.microseconds(50), .milliseconds(20)) { [self] in
            guard let accounts = server.accounts else { return }
            let fails = server.random.chance(server.settings.failingReads)
            let answers = questions.map { question in
                let known = server.gateway.map { grant(who, in: question.channel, at: $0) }
                return AccessAnswer(
                    question: question,
                    grant: fails ? nil : known ?? accounts.grant(who, in: question.channel))
            }
            later(.microseconds(50), .milliseconds(20)) { answer(answers) }
        }
    }

    private func connections(of user: UserID) -> [ServerConnection] {
        connections.values.filter { $0.machine.principal.user == user }.sorted { $0.id < $1.id }
    }

    /// Makes somebody a member, or ends that; `reply` hears whether that is durable.
    func setMember(
        _ seat: SimulatedAccounts.Seat, _ role: Member.Role?, reply: @escaping (Bool) -> Void
    ) {
        if let gateway = server.gateway { return setMember(seat, role, by: gateway, reply) }
        let (head, from) = (server.state(of: seat.channel).head, simulation.now)
        later(.microseconds(50), .milliseconds(30)) { [self] in
            guard let accounts = server.accounts, process.survives("a change of a member") else {
                return
            }
            let fate = { [server] in server.disk.commit() }
            let member = role.map {
                Member(user: seat.user, role: $0, joined: head, since: process.clock.wall())
            }
            let isDurable =
                member.map { accounts.seat(seat, as: $0, from: from, fate) }
                ?? accounts.unseat(seat, fate)
            guard let isDurable else { return reply(true) }
            guard isDurable else { return reply(false) }
            simulation.trace(
                server.name, "\(seat.user) is \(role == nil ? "no" : "a") member of \(seat.channel)"
            )
            if role != nil { server.membersChanged(.began(seat)) }
            later(.microseconds(10), .milliseconds(1)) { [self] in
                if role == nil { server.membersChanged(.ended(seat)) }
                if mutation != .removalUnannounced { post(.accessChanged(seat)) }
                reply(true)
            }
        }
    }

    // MARK: Connections

    /// Those that have not ended, the oldest first.
    private var inOrder: [ServerConnection] { connections.values.sorted { $0.id < $1.id } }

    /// The network loses all connections.
    func cutAll() { for connection in inOrder { connection.cut() } }

    /// The network loses a connection.
    func cut(_ id: Int) { connections[id]?.cut() }

    func accept(_ socket: SimulatedSocket, id: Int) {
        let connection = ServerConnection(id, socket, self)
        connections[id] = connection
        if isQuiescing {
            connection.quiesce()
            flush()
        }
        beatLater()
    }

    func ended(_ connection: ServerConnection) {
        guard connections.removeValue(forKey: connection.id) != nil else { return }
        former.append(connection)
        server.observer(.ended(connection: connection.id))
    }

    func flushLater(_ connection: ServerConnection) { unflushed.append(connection) }

    func flush() {
        while !unflushed.isEmpty {
            let connections = unflushed
            unflushed.removeAll(keepingCapacity: true)
            for connection in connections {
                guard process.survives("a flush to connection \(connection.id)") else { return }
                connection.flush()
            }
        }
    }

    // MARK: Time

    private func beatLater() {
        guard !isBeating, !connections.isEmpty else { return }
        isBeating = true
        simulation.after(server.settings.limits.heartbeat, on: process) { [self] in
            isBeating = false
            let heads = heartbeats.ticked(now: now) { channel in
                (subscribers[channel] ?? []).lazy.map {
                    (connection: $0.connection.id, head: $0.machine.headToTell)
                }
            }
            let time = process.clock.wall()
            for (id, heads) in (heads ?? [:]).sorted(by: { $0.key < $1.key }) {
                connections[id]?.sendHeartbeat(time, heads)
            }
            flush()
            beatLater()
        }
    }

    private func keepHouse() {
        guard let policy = server.settings.retention else { return }
        simulation.after(.seconds(60), on: process) { [self] in
            calendar.observe(process.clock.clockReading())
            if calendar.mayExpire { server.trim(policy) }
            keepHouse()
        }
    }
}

extension ServerLife {
    /// Reads at one moment and answers at a later one, so that events are committed and dispatched
    /// in between.
    func read(
        _ read: ServerSubscriptionMachine.Read, of channel: ChannelName, ticket: UInt32, for id: Int
    ) {
        later(.microseconds(50), .milliseconds(40)) { [self] in
            let fails = server.random.chance(server.settings.failingReads)
            var answer = ReadAnswer(channel: channel, ticket: ticket, content: .failed)
            if !fails { server.attempt { try fill(&answer, read) } }
            later(.microseconds(50), .milliseconds(40)) { [self] in post(.read(by: id, answer)) }
        }
    }

    private func fill(_ answer: inout ReadAnswer, _ read: ServerSubscriptionMachine.Read) throws {
        let channel = answer.channel
        switch read {
        case .state: answer.content = .state(try server.store.state(of: channel))
        case .page(let missing):
            let limits = server.settings.limits
            let page = try server.store.page(
                of: channel, missing: missing, limit: limits.pageMessages,
                byteLimit: limits.pageBytes)
            answer.content = .page(through: page.through, epoch: page.state.epoch)
            answer.page =
                page.gone.map { SimulatedFrame(.gone(channel: channel, $0)) }
                + page.events.map { SimulatedFrame(.event($0)) }
        }
    }
}

/// A shutdown in good order: what `Server` and its gateway do when the process is told to end.
extension ServerLife {
    /// Whoever is there or comes is told to come back, what was accepted is stored and answered,
    /// and then the process may end.
    ///
    /// - Parameter done: not called if the process is killed meanwhile.
    func shutDown(then done: @escaping () -> Void) {
        isQuiescing = true
        for connection in inOrder { connection.quiesce() }
        flush()
        leave(at: now + server.settings.limits.shutdown, done)
    }

    /// The committer takes nothing more once all connections have ended, or the time for that is
    /// up.
    private func leave(at deadline: Duration, _ done: @escaping () -> Void) {
        simulation.after(.milliseconds(20), on: process) { [self] in
            guard inOrder.isEmpty || now >= deadline else { return leave(at: deadline, done) }
            queue.close()
            whenStored(done)
        }
    }

    private func whenStored(_ done: @escaping () -> Void) {
        guard isStoring, mutation != .shutdownUnanswered else {
            if unanswered > 0 {
                simulation.violated(
                    .recorded, "\(server.name) has shut down, and \(unanswered) were not answered")
            }
            return done()
        }
        simulation.after(.milliseconds(5), on: process) { [self] in whenStored(done) }
    }
}

/// What a server does otherwise in a cluster.
extension ServerLife {
    // MARK: Through the journal

    private func commit(
        _ batch: [Queue.Submission], _ messages: [NewMessage], by gateway: SimulatedGateway
    ) {
        let commands = ClusterLog.commands(
            for: messages.map { message in
                var message = message
                if mutation == .clusterDecidesRights { message.isAdmin = message.mayChangeOthers }
                return message
            })
        answerTooEarly(batch, by: gateway)
        gateway.submit(commands) { [unowned self] result in
            do {
                let results = try ClusterLog.results(of: result.get())
                queue.logAnswered(hasFailed: false)
                stored(Queue.stored(batch, results))
            } catch {
                queue.logAnswered(hasFailed: true)
                stored(Queue.failed(batch, error))
            }
        }
    }

    private func setMember(
        _ seat: SimulatedAccounts.Seat, _ role: Member.Role?, by gateway: SimulatedGateway,
        _ reply: @escaping (Bool) -> Void
    ) {
        let admin = Principal(user: nil, isAdmin: true)
        let command: any JournaledCommand =
            if let role {
                SetMember(seat.user, role, in: seat.channel, by: admin)
            } else {
                RemoveMember(seat.user, from: seat.channel, by: admin)
            }
        gateway.submit([.account(command)]) { result in
            // Who is no member cannot be removed: he is none.
            if case .success = result { reply(true) } else { reply(false) }
        }
    }

    private func grant(
        _ who: Principal, in channel: ChannelName, at gateway: SimulatedGateway
    ) -> Grant? {
        server.attempt { try gateway.grant(who, in: channel) }
    }

    /// Wrong drivers: they answer what is on its way.
    private func answerTooEarly(_ batch: [Queue.Submission], by gateway: SimulatedGateway) {
        guard mutation == .clusterAnswersBeforeApplied else { return }
        for submission in batch {
            var heads: [ChannelName: Int64] = [:]
            let results = submission.messages.map { message in
                let head = (heads[message.channel] ?? server.state(of: message.channel).head) + 1
                heads[message.channel] = head
                return AppendResult.duplicate(seq: head)
            }
            submission.reply(.success(results))
        }
    }

    // MARK: From the journal

    /// An entry is applied here: in the order of the shipping server.
    func applied(_ entry: AppliedEntry) {
        for case .changed(_, let effects) in entry.outcomes {
            guard let access = effects.access, let user = access.user else { continue }
            post(.accessChanged(.init(channel: access.channel, user: user)))
        }
        for arrival in entry.arrivals {
            for other in roster.superseded(arrival.device, by: arrival.generation) {
                post(.replace(other, by: nil))
            }
        }
        fanOut(entry.events)
    }
}
