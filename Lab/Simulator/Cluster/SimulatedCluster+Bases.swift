import RepriseCore
import RepriseServer
import RepriseWire

/// Bases are made of views and the journal is purged behind them, while everything goes wrong that
/// can; gateways whose view is gone, or behind the purge, make it anew from a base.
extension SimulatedCluster {
    /// The last thing in a run.
    func keepBases() {
        var random = simulation.random("bases in a cluster")
        // A view that differs is found by what the others say, so these are not killed then.
        let differs = random.chance(0.4)
        forgetDevices()
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
        if simulation.violation == nil { check() }
    }

    private func begin(_ bases: SimulatedBases, at gateway: SimulatedGateway) {
        let part = BasesGateway(gateway, bases)
        gateway.bases = part
        if gateway.process.state == .running { part.begin() }
    }

    /// A gateway publishes a message; what it answers must be in the journal then.
    func publish(in channel: ChannelName, by number: Int, after delay: Duration) {
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

    // MARK: Faults

    /// Kills or freezes a gateway right where it is.
    func strikes(for purpose: String) -> (SimulatedGateway) -> Void {
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
    func disturb(_ bits: UInt64, mayKill: Bool, isHealed: @escaping () -> Bool) {
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

    func kill(_ number: Int, for outage: Duration, losingPower: Bool) {
        let server = servers[number]
        guard server.process.state != .dead else { return }
        server.process.kill(losingPower ? "loses power" : "is killed")
        server.machine.crash(losingPower)
        if losingPower { server.process.clock.restart() }
        simulation.after(outage) { server.process.start() }
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

    // MARK: The end

    private func healBases(_ bases: SimulatedBases, _ damaged: Int?) {
        guard simulation.violation == nil else { return }
        simulation.trace("fault", "everything heals")
        bases.isHealed = true
        // As the error says, the view that is alone with its own is removed.
        if let damaged { loseView(of: damaged) }
        healGateways()
    }

    func healGateways() {
        journal.heal()
        for gateway in gateways { gateway.heal() }
        for server in servers {
            server.process.resume()
            server.process.start()
        }
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
}
