import RepriseCore
import RepriseServer
import RepriseWire

/// The last thing in some runs of a cluster: nobody is connected, and gateways die and freeze.
final class ClusterEnding {
    private let simulation: Simulation
    private unowned let cluster: SimulatedCluster
    /// So many messages were published.
    private var lateMessages = 0

    private var journal: SimulatedStream { cluster.journal }
    private var truth: JournalTruth { cluster.truth }
    private var servers: [SimulatedServer] { cluster.servers }
    private var gateways: [SimulatedGateway] { cluster.gateways }
    private var channels: [ChannelName] { cluster.channels }

    init(_ simulation: Simulation, _ cluster: SimulatedCluster) {
        self.simulation = simulation
        self.cluster = cluster
    }

    // MARK: Bases

    /// Bases are made of views and the journal is purged behind them, while everything goes wrong
    /// that can; gateways whose view is gone, or behind the purge, make it anew from a base.
    func keepBases() {
        var random = simulation.random("bases in a cluster")
        // A view that differs is found by what the others say, so these are not killed then.
        let differs = random.chance(0.4)
        cluster.forgetDevices()
        let bases = SimulatedBases(simulation, journal, BasesChecker(simulation, truth))
        journal.keepsBases = true
        for gateway in gateways { begin(bases, at: gateway) }
        let length = random.duration(.seconds(50), .seconds(80))
        for number in gateways.indices {
            for _ in 0..<4 + random.index(8) {
                let channel = channels[random.index(channels.count)]
                publish(in: channel, by: number, after: length * random.fraction())
            }
        }
        var damaged: Int?
        if differs {
            simulation.after(.seconds(8) + .seconds(8) * random.fraction()) { [self] in
                damaged = damageOne()
            }
        } else {
            bases.struck = strikes(for: "bases' strikes")
        }
        for _ in 0..<2 + random.index(5) {
            let (moment, bits) = (length * random.fraction(), random.next())
            simulation.after(moment) { [self] in
                if !bases.isHealed { disturb(bits, mayKill: !differs) { bases.isHealed } }
            }
        }
        simulation.run(until: simulation.now + length)
        healBases(bases, damaged)
        awaitBase(bases)
        comeBack(bases, &random)
        if simulation.violation == nil { cluster.check() }
    }

    private func begin(_ bases: SimulatedBases, at gateway: SimulatedGateway) {
        let part = BasesGateway(gateway, bases)
        gateway.bases = part
        if gateway.process.state == .running { part.begin() }
    }

    /// The view of who makes bases differs from all others, as after a fault of its disk.
    private func damageOne() -> Int? {
        let holder = truth.view.lease(.base)?.holder ?? 0
        let number = Keepers.gateway(of: holder)
        simulation.trace("fault", "the view of gateway-\(number) differs from now on")
        do {
            try gateways[number].damageView()
        } catch {
            simulation.violated(.agreement, "a view cannot be changed: \(error)")
        }
        return number
    }

    private func healBases(_ bases: SimulatedBases, _ damaged: Int?) {
        guard simulation.violation == nil else { return }
        simulation.trace("fault", "everything heals")
        bases.isHealed = true
        // As the error says, the view that is alone with its own is removed.
        if let damaged { loseView(of: damaged) }
        healGateways()
    }

    private func loseView(of number: Int) {
        gateways[number].loseView()
        kill(number, for: .seconds(1), losingPower: false)
    }

    /// Somebody gets the lease and makes a base.
    private func awaitBase(_ bases: SimulatedBases) {
        let (last, end) = (Int64(journal.entries.count), simulation.now + .seconds(150))
        while simulation.violation == nil, bases.newest?.position.sequence ?? 0 <= last {
            guard simulation.now < end else {
                return simulation.violated(.alive, "no base was made after all had healed")
            }
            simulation.run(until: simulation.now + .seconds(5))
        }
    }

    /// One more view is lost, behind a journal whose beginning is gone.
    private func comeBack(_ bases: SimulatedBases, _ random: inout SeededRandom) {
        simulation.run(until: simulation.now + .seconds(5))
        guard simulation.violation == nil else { return }
        loseView(of: random.index(gateways.count))
        simulation.run(until: simulation.now + .seconds(15))
        bases.isOver = true
        simulation.run(until: simulation.now + .seconds(30))
    }

    // MARK: Going back

    /// The journal goes back under running gateways, as a stream does that was restored from an
    /// older copy: who has applied what it no longer holds says so and serves nobody; the others go
    /// on.
    ///
    /// Nothing that was promised to devices holds after it.
    func goBack() {
        var random = simulation.random("going back")
        cluster.forgetDevices()
        let behind = random.chance(0.5) ? random.index(gateways.count) : nil
        if let behind { gateways[behind].cutOff(for: .seconds(5)) }
        let former = Int64(journal.entries.count)
        for number in gateways.indices where number != behind {
            write(by: number, at: .zero, &random)
        }
        simulation.run(until: simulation.now + .seconds(4))
        let written = journal.entries.count - Int(former)
        guard written > 0, simulation.violation == nil else { return }
        let last = former + Int64(random.index(written))
        journal.goBack(to: last)
        do {
            try truth.begin(again: journal.entries)
        } catch {
            return simulation.violated(.agreement, "the journal cannot be applied: \(error)")
        }
        let mustStop = gateways.map { $0.view.position.sequence > last }
        cutOneOff()
        restartOne(&random)
        for number in gateways.indices {
            for _ in 0..<1 + random.index(3) {
                write(by: number, at: .seconds(2) + .seconds(8) * random.fraction(), &random)
            }
        }
        simulation.run(until: simulation.now + .seconds(40))
        expectStopped(mustStop)
        makeAnew()
        simulation.run(until: simulation.now + .seconds(20))
        if simulation.violation == nil { cluster.check() }
    }

    /// It hears nothing of what takes the numbers of what was lost, and then stores.
    private func cutOneOff() {
        var own = simulation.random("cut off")
        guard own.chance(0.3) else { return }
        gateways[own.index(gateways.count)].cutOff(for: own.spread(.seconds(4), .seconds(9)))
    }

    /// It finds what others have stored meanwhile, and stores at once.
    private func restartOne(_ random: inout SeededRandom) {
        guard random.chance(0.3) else { return }
        let number = random.index(servers.count)
        let process = servers[number].process
        var own = simulation.random("restart of one")
        let outage = own.spread(.seconds(1), .seconds(9))
        process.kill()
        simulation.after(outage) { process.start() }
        write(by: number, at: outage + .milliseconds(1), &own)
    }

    /// A gateway publishes a few messages; what it answers must be in the journal then.
    private func write(by number: Int, at moment: Duration, _ random: inout SeededRandom) {
        let (channel, count) = (channels[random.index(channels.count)], 1 + random.index(3))
        simulation.after(moment) { [self] in
            guard servers[number].process.state == .running else { return }
            for _ in 0..<count {
                lateMessages += 1
                let id = EntryID(unchecked: "late-\(lateMessages)")
                let publish = PublishMessages(
                    [.init(channel: channel, id: id, body: Array("null".utf8))],
                    by: Principal(user: nil, isAdmin: true))
                let wasBack = journal.hasGoneBack
                gateways[number].submit([.publish(publish)]) { [unowned self] result in
                    guard wasBack, case .success = result else { return }
                    expectStored(id, in: channel, by: number)
                }
            }
        }
    }

    private func expectStopped(_ mustStop: [Bool]) {
        for (number, gateway) in gateways.enumerated() where simulation.violation == nil {
            if mustStop[number], gateway.stopped == nil {
                simulation.violated(
                    .agreement,
                    "gateway \(number) has applied what the journal does not hold, and goes on")
            } else if !mustStop[number], let why = gateway.stopped {
                simulation.violated(
                    .alive, "gateway \(number) has stopped (\(why)), and the journal is its own")
            }
        }
    }

    /// As the error says: the view of who has stopped is removed.
    private func makeAnew() {
        for (number, gateway) in gateways.enumerated() where gateway.stopped != nil {
            gateway.loseView()
            servers[number].process.start()
        }
    }

    // MARK: Pushes

    /// Messages are pushed to devices that are not connected, by one gateway at a time, while
    /// gateways die and freeze between deciding, sending and noting.
    func push() {
        do {
            try push(SimulatedPushes(simulation, truth))
        } catch {
            simulation.violated(.agreement, "a view cannot be read: \(error)")
        }
    }

    private func push(_ pushes: SimulatedPushes) throws {
        var random = simulation.random("pushes in a cluster")
        cluster.forgetDevices()
        for gateway in gateways {
            let part = PushesGateway(gateway, pushes)
            gateway.pushes = part
            pushes.parts.append(part)
            if gateway.process.state == .running { part.begin() }
        }
        let length = random.duration(.seconds(50), .seconds(100))
        for _ in 0..<12 + random.index(20) {
            let number = random.index(gateways.count)
            publish(in: pushes.channel, by: number, after: length * random.fraction())
        }
        for _ in 0..<random.index(8) {
            let (user, _) = pushes.devices[random.index(pushes.devices.count)]
            read(by: user, pushes, at: random.index(gateways.count), length * random.fraction())
        }
        pushes.struck = strikes(for: "pushes' strikes")
        for _ in 0..<2 + random.index(5) {
            let (moment, bits) = (length * random.fraction(), random.next())
            simulation.after(moment) { [self] in
                disturb(bits, mayKill: true) { pushes.isHealed }
            }
        }
        simulation.run(until: simulation.now + length)
        simulation.trace("fault", "everything heals")
        pushes.isHealed = true
        healGateways()
        try awaitPushes(pushes)
        try takeOver(pushes)
        // What is late or comes twice has its chance to do harm.
        simulation.run(until: simulation.now + .seconds(10))
        pushes.isOver = true
        simulation.run(until: simulation.now + .seconds(20))
        if simulation.violation == nil { cluster.check() }
    }

    /// Another gateway goes on where the last one has come to.
    private func takeOver(_ pushes: SimulatedPushes) throws {
        guard simulation.violation == nil else { return }
        let holder = Keepers.gateway(of: truth.view.lease(.apns)?.holder ?? 0)
        kill(holder, for: .seconds(1), losingPower: false)
        publish(in: pushes.channel, by: (holder + 1) % gateways.count, after: .seconds(2))
        simulation.run(until: simulation.now + .seconds(40))
        try awaitPushes(pushes)
    }

    /// Somebody reads all that his gateway has by then.
    private func read(
        by user: UserID, _ pushes: SimulatedPushes, at number: Int, _ delay: Duration
    ) {
        simulation.after(delay) { [self] in
            guard servers[number].process.state == .running,
                let head = try? gateways[number].state(of: pushes.channel).head, head > 0
            else { return }
            let move = MovePosition(
                channel: pushes.channel, user: user, device: nil, read: head)
            gateways[number].submit([.account(move)]) { _ in }
        }
    }

    private func awaitPushes(_ pushes: SimulatedPushes) throws {
        let end = simulation.now + .seconds(90)
        while simulation.violation == nil {
            let head = try truth.state(of: pushes.channel).head
            guard let push = pushes.missing(upTo: head) else { return }
            guard simulation.now < end else {
                return simulation.violated(
                    .alive, "message \(push.seq) was never pushed to \(push.device)")
            }
            simulation.run(until: simulation.now + .seconds(5))
        }
    }

    // MARK: What goes on, and what goes wrong

    /// A gateway publishes a message; what it answers must be in the journal then.
    private func publish(in channel: ChannelName, by number: Int, after delay: Duration) {
        simulation.after(delay) { [self] in
            guard servers[number].process.state == .running, !gateways[number].isJoining else {
                return
            }
            lateMessages += 1
            let id = EntryID(unchecked: "late-\(lateMessages)")
            let publish = PublishMessages(
                [.init(channel: channel, id: id, body: Array("null".utf8))],
                by: Principal(user: nil, isAdmin: true))
            gateways[number].submit([.publish(publish)]) { [unowned self] result in
                if case .success = result { expectStored(id, in: channel, by: number) }
            }
        }
    }

    private func expectStored(_ id: EntryID, in channel: ChannelName, by number: Int) {
        do {
            guard try !truth.everything(in: channel).events.contains(where: { $0.id == id }) else {
                return
            }
            simulation.violated(
                .recorded, "\(id) is acknowledged by gateway \(number) and is not in the journal")
        } catch {
            simulation.violated(.agreement, "the view cannot be read: \(error)")
        }
    }

    /// Kills or freezes a gateway right where it is.
    private func strikes(for purpose: String) -> (SimulatedGateway) -> Void {
        var random = simulation.random(purpose)
        return { [unowned self] gateway in
            if random.chance(0.5) {
                freeze(gateway.number, for: random.spread(.seconds(1), .seconds(40)))
            } else {
                kill(
                    gateway.number, for: random.spread(.milliseconds(20), .seconds(20)),
                    losingPower: random.chance(0.3))
            }
        }
    }

    /// Lets something go wrong that `bits` choose.
    private func disturb(_ bits: UInt64, mayKill: Bool, isHealed: @escaping () -> Bool) {
        var random = SeededRandom(seed: bits)
        let number = random.index(gateways.count)
        var kinds: [Fault.Kind] = [
            .gatewayStops, .gatewayCutOff, .journalDelays, .journalRepeats,
        ]
        if mayKill {
            kinds += [
                .killServer, .powerLossServer, .viewLost, .viewLost, .journalLoses,
                .journalLeaderless,
            ]
        }
        let kind = kinds[random.index(kinds.count)]
        let length = random.spread(.milliseconds(200), mayKill ? .seconds(30) : .seconds(5))
        simulation.trace("fault", "\(kind.text) (\(number))")
        switch kind {
        case .gatewayStops: freeze(number, for: length)
        case .gatewayCutOff: gateways[number].cutOff(for: length)
        case .killServer:
            // Before one of its next effects, wherever that is.
            servers[number].process.arm(after: random.index(20)) { [unowned self] in
                if !isHealed() { kill(number, for: length, losingPower: false) }
            }
        case .powerLossServer: kill(number, for: length, losingPower: true)
        case .viewLost:
            gateways[number].loseView()
            kill(number, for: length, losingPower: false)
        default: journal.inflict(Fault(kind, at: .zero, length: length))
        }
    }

    private func freeze(_ number: Int, for length: Duration) {
        let process = servers[number].process
        guard process.state == .running else { return }
        process.suspend()
        let life = process.life
        simulation.after(length) { if process.life == life { process.resume() } }
    }

    private func kill(_ number: Int, for outage: Duration, losingPower: Bool) {
        let server = servers[number]
        guard server.process.state != .dead else { return }
        server.process.kill(losingPower ? "loses power" : "is killed")
        server.machine.crash(losingPower)
        if losingPower { server.process.clock.restart() }
        simulation.after(outage) { server.process.start() }
    }

    private func healGateways() {
        journal.heal()
        for gateway in gateways { gateway.heal() }
        for server in servers {
            server.process.resume()
            server.process.start()
        }
    }
}
