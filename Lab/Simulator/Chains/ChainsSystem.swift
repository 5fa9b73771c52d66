import RepriseCore

/// The operating system under a device: takes the app to the background, freezes it at the end of
/// its time, kills it there now and then, and grants the slots that it has requested.
final class ChainsSystem {
    private enum Phase { case foreground, background, slot, frozen }

    private let simulation: Simulation
    private unowned let device: ChainsDevice
    private var random: SeededRandom
    private var phase = Phase.foreground
    /// Timers of earlier phases mean nothing.
    private var number = 0
    private var request: BackgroundRequest?
    /// Until when tasks may begin; nil: without an end.
    private var end: Duration?
    private var isFrozen = false
    /// It has killed the app, and may launch it.
    private var hasKilled = false
    private var launchesForSlot = false
    /// The person leaves the app and opens it again, as in the time of faults.
    private var isOpened = true
    /// The person never leaves the app.
    private var stays = false

    private var process: SimulatedProcess { device.process }

    init(_ simulation: Simulation, _ device: ChainsDevice) {
        (self.simulation, self.device) = (simulation, device)
        random = simulation.random("system of \(device.process.name)")
    }

    /// In this phase alone.
    private func after(_ wait: Duration, _ work: @escaping () -> Void) {
        let number = number
        simulation.after(max(wait, .zero)) { [self] in if self.number == number { work() } }
    }

    private func become(_ phase: Phase, until end: Duration?) {
        simulation.trace(process.name, "is \(phase)")
        number += 1
        (self.phase, self.end) = (phase, end)
    }

    // MARK: In the foreground

    /// A process of the app begins: a person opens it, or it is launched into a slot.
    func launched() {
        (isFrozen, hasKilled) = (false, false)
        guard !launchesForSlot else {
            launchesForSlot = false
            return
        }
        become(.foreground, until: nil)
        leaveLater()
    }

    /// A person opens the app.
    func open() {
        become(.foreground, until: nil)
        if process.state == .dead, hasKilled { return process.start() }
        thaw()
        time?.foreground()
        leaveLater()
    }

    /// From now on the app has the time that it requests, and is opened where something outside
    /// comes that it waits for.
    func heal() { isOpened = false }

    /// The app is opened, and stays in the foreground.
    func stay() {
        stays = true
        open()
    }

    private var time: SimulatedTime? {
        guard process.state == .running, let owner = device.owner, owner.process === process else {
            return nil
        }
        return owner.chains?.time
    }

    private func thaw() {
        guard isFrozen else { return }
        isFrozen = false
        process.resume()
    }

    /// A fault is over that had suspended it, and the system has frozen it meanwhile.
    func resumed() { if isFrozen { process.suspend() } }

    private func leaveLater() {
        after(random.spread(.seconds(2), .seconds(40))) { [self] in
            guard !stays, !isOpened || simulation.now < simulation.schedule.length else { return }
            guard let time, !time.isInSlot, !device.hasSecond else { return leaveLater() }
            leave(time)
        }
    }

    // MARK: In the background

    private func leave(_ time: SimulatedTime) {
        let granted = random.spread(.seconds(4), .seconds(30))
        become(.background, until: simulation.now + granted - SimulatedTime.margin(of: granted))
        after(granted) { [self] in freeze() }
        let number = number
        time.background(granted: granted) { [self] in isDone(number) }
    }

    /// The app says that it needs no more of its time, or that it has stopped.
    private func isDone(_ number: Int) {
        guard self.number == number else { return }
        end = min(end ?? simulation.now, simulation.now)
        device.checkRequest(request)
        // Not in the middle of what the process does at this moment.
        after(.zero) { [self] in freeze() }
    }

    private func freeze() {
        become(.frozen, until: end)
        if process.state == .running, !device.hasSecond {
            process.suspend()
            isFrozen = true
        }
        if isOpened { after(random.spread(.seconds(5), .seconds(120))) { [self] in open() } }
        if random.chance(0.25) {
            after(random.spread(.seconds(1), .seconds(20))) { [self] in
                guard isFrozen, process.state == .suspended else { return }
                (isFrozen, hasKilled) = (false, true)
                process.kill("is killed in the background")
                device.store.crash(losingPower: false)
            }
        }
        grantLater()
    }

    // MARK: Slots

    func submit(_ request: BackgroundRequest) {
        simulation.trace(process.name, "requests a slot")
        self.request = request
    }

    private func grantLater() {
        guard let request else { return }
        let early = request.earliest.map { process.clock.wall().duration(to: $0) } ?? .zero
        after(max(early, random.spread(.seconds(3), .seconds(40)))) { [self] in
            if mayGrant(request) { grant() } else { grantLater() }
        }
    }

    private func mayGrant(_ request: BackgroundRequest) -> Bool {
        if let earliest = request.earliest, process.clock.wall() < earliest { return false }
        if case .processing(needsNetwork: true, needsPower: _) = request.kind,
            !device.conditions.network
        {
            return false
        }
        return !device.hasSecond && (process.state != .dead || hasKilled)
    }

    private func grant() {
        request = nil
        let length = random.spread(.seconds(3), .seconds(90))
        become(.slot, until: simulation.now + length)
        after(length) { [self] in
            // One that a fault has frozen hears of it when it goes on.
            simulation.after(.zero, on: process) { [self] in time?.expire() }
        }
        after(length + .seconds(5)) { [self] in freeze() }
        if process.state == .dead {
            launchesForSlot = true
            process.start()
        } else {
            thaw()
            if let time { use(time) }
        }
    }

    /// Chains run in a process that may have been launched into a slot.
    func began(_ time: SimulatedTime) {
        guard phase != .foreground else { return }
        use(time)
        if let end, simulation.now >= end { time.expire() }
    }

    private func use(_ time: SimulatedTime) {
        let number = number
        time.slot { [self] in isDone(number) }
    }

    // MARK: What is checked

    /// A task begins in this process.
    func begins(_ what: String) {
        // What was frozen before its time was over hears of that when it goes on.
        guard let end, simulation.now > max(end, process.awakeSince) else { return }
        device.checker.violated(
            .released, "\(what) begins \(simulation.now - end) after the end of the time")
    }
}
