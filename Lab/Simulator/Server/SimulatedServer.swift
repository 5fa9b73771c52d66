package import RepriseCore
package import RepriseServer
package import RepriseWire

/// A server in virtual time: the shipping machines, on a log and a network that are simulated.
///
/// ```swift
/// let server = SimulatedServer(simulation, network: network, store: ModelLogStore(model))
/// server.observer = { sight in checker.saw(sight) }
/// server.process.start()
/// server.publish([message]) { result in producer.answered(result) }
/// ```
///
/// What outlives a kill is here: the process, the log, the producers' requests. What does not is
/// ``ServerLife``.
package final class SimulatedServer {
    /// What an observer outside of the server sees of it.
    package enum Sight {
        /// These are stored for good as of this moment.
        case durable([ServerFrame.Event])
        /// A message has come whose id is known.
        case came(EntryID)
        /// A commit of these has failed: what became of them is known to nobody.
        case uncertain([EntryID])
        /// A device asks for what it is missing in a channel.
        case asked(ClientFrame.Subscription, connection: Int)
        /// It is known whose connection it is.
        case identified(UserID, connection: Int)
        /// A device is welcomed: it goes on here with what was unanswered elsewhere.
        case welcomed(EntryID, connection: Int)
        /// In a cluster, a connection's hello is applied by its gateway.
        case arrived(Arrival, connection: Int)
        /// Messages of a device are about to be stored.
        case took([EntryID], connection: Int)
        /// A device wants nothing more of a channel.
        case left(ChannelName, connection: Int)
        /// A frame leaves for a device.
        case sent(ServerFrame, connection: Int)
        /// A connection has ended.
        case ended(connection: Int)
        /// A producer's request is answered.
        case answered([NewMessage], Result<[AppendResult], RepriseError>)
        /// Retention has been at work.
        case trimmed
        /// The server died and opens its log again; retried commits may have survived it (see
        /// `durable`).
        case crashed(losingPower: Bool)
        /// Another log is in place: a restored backup, or an empty one.
        case replaced(isRestored: Bool)
    }

    package let simulation: Simulation
    package let name: String
    /// What is dialled.
    private let address: String
    /// In a cluster, its part in it.
    let gateway: SimulatedGateway?
    /// The servers that this one stands for: it has no process then.
    var cluster: SimulatedCluster?
    package let process: SimulatedProcess
    package let store: any LogStore
    package let disk: SimulatedDisk
    package let settings: Settings
    /// Called with all that can be seen, as it happens; it must change nothing.
    package var observer: (Sight) -> Void = { _ in }
    /// What broke in the store itself: no fault explains it.
    package private(set) var storeError: (any Error)?

    let network: SimulatedNetwork
    /// nil: the server asks nobody who he is.
    var accounts: SimulatedAccounts?
    /// Called when a membership has begun or ended, and when rows may have changed otherwise.
    var membersChanged: (MemberChange) -> Void = { _ in }
    /// Latencies, and which reads fail.
    var random: SeededRandom
    private(set) var life: ServerLife?
    /// Lives that ended: a kill falls into the middle of their code, which goes on until it asks
    /// whether it is alive.
    private var former: [ServerLife] = []
    private var requests = Requests()
    /// Until when some publishes are refused, and how many.
    private var refusing: (until: Duration, share: Double) = (.zero, 0)
    private var connections: Int
    private var epochs = 1
    /// Whether the log is still as the process left it when it died.
    private var needsRecovery = false

    package convenience init(
        _ simulation: Simulation, name: String = "server", network: SimulatedNetwork,
        store: any LogStore, settings: Settings = Settings()
    ) {
        self.init(
            simulation, name: name, address: name, network: network, store: store,
            settings: settings, gateway: nil, firstConnection: 0)
    }

    init(
        _ simulation: Simulation, name: String, address: String, network: SimulatedNetwork,
        store: any LogStore, settings: Settings, gateway: SimulatedGateway?, firstConnection: Int
    ) {
        self.simulation = simulation
        self.name = name
        self.address = address
        self.gateway = gateway
        connections = firstConnection
        self.network = network
        self.store = store
        self.settings = settings
        process = SimulatedProcess(simulation, name: name)
        disk = SimulatedDisk(simulation, name: name, isServer: true)
        random = simulation.random("server \(name)")
        process.started = { [unowned self] in started() }
        process.ended = { [unowned self] in ended() }
        simulation.whenEnded { [weak self] in
            guard let self else { return }
            for life in former + [life].compactMap(\.self) { life.forget() }
        }
    }

    /// For the injector of faults.
    package var machine: FaultInjector.Machine {
        .init(process: process, disk: disk) { [unowned self] in crash(losingPower: $0) }
    }

    // MARK: What the log holds

    package func state(of channel: ChannelName) -> LogChannelState {
        attempt { try store.state(of: channel) }
            ?? LogChannelState(epoch: firstEpoch, head: 0, floor: 0)
    }

    /// All that is stored of a channel now.
    package func messages(in channel: ChannelName) -> [ServerFrame.Event] {
        attempt { try store.everything(in: channel).events } ?? []
    }

    /// When the server of a connection knew what had happened by a moment; nil before that.
    func knew(of moment: Duration, on connection: Int) -> Duration? {
        cluster.map { $0.applied(through: moment, by: connection) } ?? moment
    }

    /// For how long the process of a connection was suspended since a moment.
    func stoodStill(since moment: Duration, on connection: Int) -> Duration {
        (cluster?.process(of: connection) ?? process).stoodStill(since: moment)
    }

    // MARK: Life and death

    private func started() {
        if needsRecovery { crash(losingPower: false) }
        let life = ServerLife(self)
        self.life = life
        network.listen(as: address, on: process) { [unowned self] socket in
            guard self.life === life else { return }
            connections += 1
            life.accept(socket, id: connections)
        }
        gateway?.begin()
        life.begin()
    }

    private func ended() {
        life?.ended()
        if let life { former.append(life) }
        life = nil
        needsRecovery = true
        for (id, messages) in requests.all {
            simulation.after(.milliseconds(5)) { [self] in
                answer(id, messages, .failure(Self.lost))
            }
        }
    }

    /// The process is dead; its log is opened again, with or without what was not synced.
    package func crash(losingPower: Bool) {
        guard needsRecovery else { return }
        needsRecovery = false
        observer(.crashed(losingPower: losingPower))
        let keepsUnsynced = disk.keepsUnsynced()
        accounts?.crash(keepsUnsynced: keepsUnsynced)
        membersChanged(.unknown)
        let found = attempt {
            try store.crash(losingPower: losingPower, keepsUnsynced: keepsUnsynced)
        }
        if let found, !found.isEmpty {
            simulation.trace(name, "finds \(found.count) messages of a commit that had failed")
            observer(.durable(found))
        }
    }

    /// Ends in good order, as it does when it is told to, and is started again after `outage`.
    package func shutDown(outage: Duration) {
        guard let life, process.state == .running, !life.isQuiescing else { return }
        simulation.trace(name, "is told to end")
        life.shutDown { [self] in
            process.kill("has ended in good order")
            simulation.after(outage) { [self] in process.start() }
        }
    }

    // MARK: The log as a whole

    /// Copies the log away.
    package func backUp() {
        simulation.trace(name, "is backed up")
        attempt { try store.backUp() }
        accounts?.backUp()
    }

    /// Stops the server, puts the backup in place of its log, and starts it again after `outage`.
    package func restore(outage: Duration) {
        replaceLog(outage, "is restored from its backup") {
            let keepsEpoch = simulation.mutation == .restoreKeepsEpoch
            try store.restore(epoch: keepsEpoch ? nil : newEpoch())
            accounts?.restore()
        }
        observer(.replaced(isRestored: true))
    }

    /// Stops the server, puts an empty log in place of its own, and starts it again after `outage`.
    package func beginNewLog(outage: Duration) {
        replaceLog(outage, "begins a new log") { try store.replace(epoch: newEpoch()) }
        observer(.replaced(isRestored: false))
    }

    private func replaceLog(_ outage: Duration, _ why: String, _ replace: () throws -> Void) {
        process.kill(why)
        needsRecovery = false
        attempt(replace)
        accounts?.cutBack { state(of: $0).head }
        membersChanged(.unknown)
        simulation.after(outage) { [self] in process.start() }
    }

    private func newEpoch() throws -> Epoch {
        epochs += 1
        return try Epoch("\(name)-\(epochs)")
    }

    /// The epoch of the log that a run begins with.
    package static func firstEpoch(of name: String = "server") throws -> Epoch {
        try Epoch("\(name)-1")
    }

    private var firstEpoch: Epoch {
        (try? Self.firstEpoch(of: name)) ?? Epoch.random()  // never random: a name is a valid epoch
    }

    /// Takes messages away, as far as the server lives and its disk works.
    package func trim(_ policy: RetentionPolicy) {
        if let cluster {
            cluster.chosen(&random).gateway?.trim(policy, of: cluster.channels)
            return
        }
        guard process.state == .running, process.survives("trimming") else { return }
        do {
            try store.trim(policy, now: process.clock.wall()) { disk.commit() }
            simulation.trace(name, "trims its log")
            observer(.trimmed)
        } catch {
            simulation.trace(name, "could not trim its log: \(error)")
        }
    }

    // MARK: Members

    enum MemberChange {
        case began(SimulatedAccounts.Seat)
        /// Those who are connected are being told.
        case ended(SimulatedAccounts.Seat)
        case unknown
    }

    /// Asks, as over HTTP, to make somebody a member, or with nil to end that; `then` hears whether
    /// it is known to be done.
    func setMember(
        _ seat: SimulatedAccounts.Seat, _ role: Member.Role?, then: @escaping (Bool) -> Void
    ) {
        if let cluster { return cluster.chosen(&random).setMember(seat, role, then: then) }
        var isAnswered = false
        let answer = { (isDone: Bool) in
            guard !isAnswered else { return }
            isAnswered = true
            then(isDone)
        }
        let way = random.latency(.microseconds(300), .milliseconds(40))
        simulation.after(settings.timeout) { answer(false) }
        simulation.after(way) { [self] in
            guard process.state != .dead else { return answer(false) }
            simulation.after(.zero, on: process) { [self] in
                life?.setMember(seat, role) { [self] isDone in
                    simulation.after(way) { answer(isDone) }
                }
            }
        }
    }

    @discardableResult
    func attempt<Value>(_ body: () throws -> Value) -> Value? {
        do {
            return try body()
        } catch {
            storeError = error
            simulation.violated(.agreement, "the log of \(name) cannot be used: \(error)")
            return nil
        }
    }

    // MARK: Refusing

    /// Refuses a share of what devices publish, for now: as if it had too much to do.
    package func refusePublishes(for length: Duration, share: Double) {
        for server in cluster?.servers ?? [] { server.refusePublishes(for: length, share: share) }
        refusing = (simulation.now + length, share)
    }

    package func stopRefusing() {
        for server in cluster?.servers ?? [] { server.stopRefusing() }
        refusing = (.zero, 0)
    }

    func refusal(of message: NewMessage) -> ServerFrame? {
        guard simulation.now < refusing.until, random.chance(refusing.share) else { return nil }
        simulation.met(.refusePublish)
        let codes: [RefusalCode] = [.rateLimited, .overloaded, .unavailable]
        let code = codes[random.index(codes.count)]
        simulation.trace(name, "refuses \(message.id): \(code)")
        return PublishAnswer.frame(to: message, .refused(code, "Not now."))
    }

    // MARK: Producers

    private static let lost = RepriseError(
        .timedOut, "The connection to the server was lost; the message may be stored.")

    /// What producers have asked and not heard of.
    private struct Requests {
        private var open: [Int: ([NewMessage], (Result<[AppendResult], RepriseError>) -> Void)] =
            [:]
        private var last = 0

        var all: [(Int, [NewMessage])] {
            open.sorted { $0.key < $1.key }.map { ($0.key, $0.value.0) }
        }

        mutating func add(
            _ messages: [NewMessage],
            _ then: @escaping (Result<[AppendResult], RepriseError>) -> Void
        ) -> Int {
            last += 1
            open[last] = (messages, then)
            return last
        }

        mutating func take(_ id: Int) -> ((Result<[AppendResult], RepriseError>) -> Void)? {
            open.removeValue(forKey: id)?.1
        }
    }

    /// Asks, as over HTTP, to have messages stored together.
    ///
    /// After a failure the producer knows nothing: it asks again with the same ids.
    ///
    /// `then` is called once, away from the server.
    package func publish(
        _ messages: [NewMessage],
        then: @escaping (Result<[AppendResult], RepriseError>) -> Void
    ) {
        if let cluster { return cluster.chosen(&random).publish(messages, then: then) }
        let id = requests.add(messages, then)
        let way = random.latency(.microseconds(300), .milliseconds(40))
        simulation.after(settings.timeout) { [self] in
            answer(id, messages, .failure(Self.lost))
        }
        simulation.after(way) { [self] in
            guard process.state != .dead else {
                return answer(id, messages, .failure(Self.lost))
            }
            simulation.after(.zero, on: process) { [self] in
                life?.submit(messages) { [self] result in
                    observer(.answered(messages, result))
                    let back = random.latency(.microseconds(300), .milliseconds(40))
                    simulation.after(back) { [self] in answer(id, messages, result) }
                }
            }
        }
    }

    private func answer(
        _ id: Int, _ messages: [NewMessage], _ result: Result<[AppendResult], RepriseError>
    ) {
        requests.take(id)?(result)
    }
}
