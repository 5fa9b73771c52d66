import Foundation
import RepriseChains
import RepriseCore
import RepriseJournal

/// The schedules of a device: what its app says of them, and what its person does to the clock and
/// the zone.
final class SimulatedSchedules {
    static let names = ["tidy", "report"]

    let checker: SchedulesChecker
    private(set) var zone: TimeZone = .gmt
    private let simulation: Simulation
    private unowned let device: ChainsDevice
    private var random: SeededRandom
    /// What the app says at each launch; that there is no schedule of the other names.
    private var said: [String: ScheduleSaying] = [:]
    /// Kills that wait for a run to begin.
    private var pendingKills: [Fault]
    private var runs = 0

    init(_ simulation: Simulation, _ device: ChainsDevice, index: Int) {
        (self.simulation, self.device) = (simulation, device)
        random = simulation.random("schedules of device \(index)")
        let faults = simulation.schedule.faults.filter {
            $0.target % simulation.schedule.devices == index
        }
        pendingKills = faults.filter { [.killDevice, .powerLossDevice].contains($0.kind) }
        checker = SchedulesChecker(
            simulation, name: "device \(index)", clock: device.process.clock, faults: faults)
        for (number, name) in Self.names.enumerated() {
            said[name] = ScheduleSaying(name, number: number, &random)
        }
        checkLater()
    }

    /// The next run's id.
    func newRun() -> String {
        runs += 1
        return "\(device.process.name.last ?? "0")-schedule-\(runs)"
    }

    private func checkLater() {
        simulation.after(.seconds(900)) { [self] in
            checker.look(device.owner)
            checkLater()
        }
    }

    // MARK: The app

    /// A process of the app has opened the journal.
    func launched(_ app: SimulatedChainsApp) {
        checker.looked()
        simulation.after(random.spread(.milliseconds(1), .seconds(5)), on: app.process) {
            [self] in for name in Self.names { tell(name) }
        }
    }

    /// Whether this version of the app has the definition.
    func drawDefinition(isHealed: Bool) -> Bool { random.chance(0.75) || isHealed }

    /// Until it is durable, or the process ends.
    private func tell(_ name: String) {
        guard let app = device.owner, app.process.state == .running, let journal = app.journal
        else { return }
        let saying = said[name]
        // `schedule` throws.
        if let saying, !app.canStart(saying) { return }
        let zone = zone
        journal.write(
            { [checker] transaction in
                let shipping = try shipping(transaction)
                if let saying {
                    _ = try ChainSchedules.save(
                        saying.new, in: zone, shipping.db, shipping.journal)
                    checker.performed(.scheduled(saying))
                } else {
                    _ = try ChainSchedules.remove(name, shipping.db, shipping.journal)
                    checker.performed(.unscheduled(name))
                }
            },
            then: { [self] (result: Result<Void, any Error>) in
                guard case .failure = result else { return }
                simulation.after(.seconds(5), on: app.process) { [self] in tell(name) }
            })
    }

    /// The app has no schedules any more.
    func end() {
        said = [:]
        for name in Self.names { tell(name) }
    }

    private func start(_ saying: ScheduleSaying, as id: String) {
        guard let app = device.owner, app.process.state == .running, let journal = app.journal,
            app.canStart(saying),
            let plan = try? ChainsScript.chain(version: app.version).plan(for: saying.input)
        else { return }
        let new = NewChain(
            id: id, definition: ChainsScript.definition, version: app.version, plan: plan,
            input: saying.input, name: saying.name, onConflict: .keep,
            constraints: saying.constraints, delay: nil, deadline: saying.deadline)
        checker.isStartedByApp(id)
        let chains = device.checker
        journal.write(
            { transaction in
                let shipping = try shipping(transaction)
                let id = try new.insert(shipping.db, shipping.journal)
                if let seq = try ChainReading.seq(of: id, shipping.db) {
                    chains.touched.insert(seq)
                }
            }, then: { (_: Result<Void, any Error>) in })
    }

    // MARK: The person

    func happens(_ message: ScheduleMessage) {
        switch message.what {
        case .say(var saying, let keepsRule):
            if keepsRule, let former = said[saying.name] { saying.rule = former.rule }
            simulation.trace(
                device.process.name, "says \(saying.name) runs \(saying.rule)")
            said[saying.name] = saying
            tell(saying.name)
        case .unsay(let name):
            simulation.trace(device.process.name, "says that there is no \(name)")
            said[name] = nil
            tell(name)
        case .setClock(let step):
            setClock(by: step ?? .zero - device.process.clock.error)
        case .travel(let minutes): travel(to: minutes)
        case .foreground: foreground()
        case .cancel(let name):
            guard let run = checker.underWay(name) else { return }
            device.cancel(run, as: "cancel-\(message.index)")
        case .start(let saying): start(saying, as: "hand-\(message.index)")
        case .reply: device.replies(1_000 + message.index)
        }
    }

    private func setClock(by step: Duration) {
        guard step != .zero else { return }
        simulation.met(.clockJump)
        simulation.trace(device.process.name, "the clock is set by \(step)")
        device.process.clock.jump(by: step)
        clockWasSet(by: step)
    }

    func clockWasSet(by step: Duration) {
        device.checker.isClockSet = true
        checker.clockWasSet(by: step)
    }

    private func travel(to minutes: Int) {
        let arrive = { [self] in
            simulation.met(.travels)
            simulation.trace(device.process.name, "is \(minutes) minutes east of Greenwich")
            zone = TimeZone(secondsFromGMT: minutes * 60) ?? .gmt
            checker.travelled(to: Int64(minutes))
            guard random.chance(0.6) else { return }
            simulation.after(random.spread(.seconds(1), .seconds(60))) { [self] in foreground() }
        }
        // What a frozen process had begun goes on by the former zone, before it sees the new one.
        if device.process.state == .suspended {
            simulation.after(.zero, on: device.process, arrive)
        } else {
            arrive()
        }
    }

    /// The app comes to the foreground.
    func foreground() {
        guard let app = device.owner, app.process === device.process,
            app.process.state == .running, let chains = app.chains
        else { return }
        checker.looked()
        guard simulation.mutation != .chainZoneChangeIgnored else { return }
        chains.scheduler.lookAtSchedules()
    }

    // MARK: Kills

    /// A command of a schedule was dispatched: one of the kills that wait comes now.
    ///
    /// By chance alone hardly any falls between two effects of a run's beginning.
    func runBegins(in process: SimulatedProcess) {
        guard process === device.process, let fault = pendingKills.first,
            fault.at <= simulation.now,
            simulation.now < simulation.schedule.length
        else { return }
        pendingKills.removeFirst()
        let isPower = fault.kind == .powerLossDevice
        process.arm(after: Int(fault.bits >> 24 % 6)) { [self] in
            simulation.met(fault.kind)
            process.kill(isPower ? "loses power" : "is killed")
            device.machine.crash(isPower)
            if isPower { process.clock.restart() }
            simulation.after(fault.length) { process.start() }
        }
    }
}
