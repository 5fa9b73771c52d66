import RepriseCore
import RepriseServer
import RepriseWire

/// The journal goes back under running gateways, as a stream does that was restored from an older
/// copy: who has applied what it no longer holds says so and serves nobody; the others go on.
extension SimulatedCluster {
    /// The last thing in a run: nothing that was promised to devices holds after it.
    func goBack() {
        var random = simulation.random("going back")
        forgetDevices()
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
        if simulation.violation == nil { check() }
    }

    func forgetDevices() {
        (truth.observer, truth.membersChanged, truth.accounts) = ({ _ in }, { _ in }, nil)
        for server in servers { server.observer = { _ in } }
        receipts?.switchOff()
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

    func expectStored(_ id: EntryID, in channel: ChannelName, by number: Int) {
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
}
