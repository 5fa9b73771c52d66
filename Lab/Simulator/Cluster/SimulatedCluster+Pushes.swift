import RepriseCore
import RepriseServer
import RepriseWire

/// Messages are pushed to devices that are not connected, by one gateway at a time, while gateways
/// die and freeze between deciding, sending and noting.
extension SimulatedCluster {
    /// The last thing in a run.
    func push() {
        do {
            try push(SimulatedPushes(simulation, truth))
        } catch {
            simulation.violated(.agreement, "a view cannot be read: \(error)")
        }
    }

    private func push(_ pushes: SimulatedPushes) throws {
        var random = simulation.random("pushes in a cluster")
        forgetDevices()
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
        if simulation.violation == nil { check() }
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
}
