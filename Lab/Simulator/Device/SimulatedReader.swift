import RepriseChannels
import RepriseCore
import RepriseWire

/// A reader in one life of a process.
protocol SimulatedReader: AnyObject {
    func begin()
    /// The channel may have something new.
    func signal()
}

/// What every reader has.
final class SimulatedReaderLine {
    unowned let life: DeviceLife
    let plan: SimulatedDevice.ReaderPlan
    let rows: ReaderRows
    let position: ReaderStore.Position

    private var isSignalled = false
    private var resting: (() -> Void)?
    private var alarm = 0

    init(
        _ life: DeviceLife, _ plan: SimulatedDevice.ReaderPlan, _ rows: ReaderRows,
        _ position: ReaderStore.Position
    ) {
        self.life = life
        self.plan = plan
        self.rows = rows
        self.position = position
    }

    var device: SimulatedDevice { life.device }
    var process: SimulatedProcess { life.process }
    var wall: WallTime { process.clock.wall() }

    /// Reads, a little later; `then` is not called if that is of no use.
    func read<T>(
        _ body: @escaping (any DeviceTransaction) throws -> T, failures: Int = 0,
        then: @escaping (T) -> Void
    ) {
        life.reading { [unowned self] in
            switch Result(catching: { try life.journal.read(body) }) {
            case .success(let value): then(value)
            case .failure(let error):
                again(after: error, failures + 1) { [unowned self] in
                    read(body, failures: failures + 1, then: then)
                }
            }
        }
    }

    /// Writes, and tries again while the disk cannot: nothing that was done may be forgotten.
    func persist<T>(
        _ body: @escaping (any DeviceTransaction) throws -> T, failures: Int = 0,
        then: @escaping (T) -> Void
    ) {
        life.journal.write(body) { [unowned self] result in
            switch result {
            case .success(let value): then(value)
            case .failure(let error):
                again(after: error, failures + 1) { [unowned self] in
                    persist(body, failures: failures + 1, then: then)
                }
            }
        }
    }

    private func again(after error: any Error, _ failures: Int, _ work: @escaping () -> Void) {
        guard
            let wait = ReaderRetryPolicy.wait(after: error, failures: failures, jitter: life.jitter)
        else {
            return life.simulation.trace(process.name, "the reader \(plan.name) ends: \(error)")
        }
        life.simulation.after(wait, on: process, work)
    }

    func signal() {
        isSignalled = true
        wake()
    }

    /// Waits until it is signalled, or the calendar says `due`.
    func wait(until due: WallTime?, then: @escaping () -> Void) {
        resting = then
        alarm += 1
        guard !isSignalled else { return life.simulation.after(.zero, on: process, wake) }
        guard let due else { return }
        let left = min(max(wall.duration(to: due), .zero), plan.options.backoff.longest)
        let alarm = alarm
        life.simulation.after(left, on: process) { [unowned self] in
            if alarm == self.alarm { wake() }
        }
    }

    private func wake() {
        guard let rested = resting else { return }
        resting = nil
        isSignalled = false
        alarm += 1
        rested()
    }
}

/// In virtual time what `AtLeastOnceReader` is in real time.
final class SimulatedAtLeastOnceReader: SimulatedReader {
    private let line: SimulatedReaderLine
    private var machine: AtLeastOnceReaderMachine
    private var isAwaitingWrite = false

    init(_ line: SimulatedReaderLine) {
        self.line = line
        var options = line.plan.options
        if line.life.simulation.mutation == .orderedGoesOn { options.order = .arrival }
        machine = AtLeastOnceReaderMachine(options: options, cursor: line.position.cursor)
    }

    private var life: DeviceLife { line.life }
    private var process: SimulatedProcess { line.process }
    private var id: Int64 { line.position.reader }

    func begin() { step() }

    func signal() { line.signal() }

    private func step() {
        let rows = line.rows
        let id = id
        while process.state == .running {
            switch machine.next(at: process.clock.uptime(), wall: line.wall) {
            case .loadDue(let now):
                return line.read({ try $0.due(rows, of: id, now: now) }) { [unowned self] due in
                    machine.dueLoaded(due.messages, next: due.next, at: now)
                    step()
                }
            case .loadPage(let cursor):
                return line.read({ try $0.page(rows, after: cursor) }) { [unowned self] page in
                    machine.pageLoaded(page)
                    step()
                }
            case .dispatch(let arrived): return dispatch(arrived)
            case .write(let write): begin(write)
            case .awaitWrite:
                isAwaitingWrite = true
                return
            case .mark(let arrival):
                return line.persist({ try $0.markDispatched(rows, of: id, arrival: arrival) }) {
                    [unowned self] in
                    machine.marked()
                    step()
                }
            case .settle(let acknowledgement):
                return line.persist({ try $0.settle(rows, of: id, acknowledgement) }) {
                    [unowned self] in
                    machine.settled()
                    step()
                }
            case .wait(let due):
                return line.wait(until: due) { [unowned self] in
                    machine.woke()
                    step()
                }
            case .finish: return
            }
        }
    }

    private func begin(_ write: ReaderWrite) {
        let (rows, id, write) = (line.rows, id, life.wrong.written(write))
        line.persist({ try $0.write(rows, of: id, write) }) { [unowned self] in
            machine.written()
            guard isAwaitingWrite else { return }
            isAwaitingWrite = false
            step()
        }
    }

    private func dispatch(_ arrived: Arrived) {
        let message = arrived.message
        guard process.survives("handing \(message.id) to \(line.plan.name)") else { return }
        let device = line.device
        if message.attempt > 1, line.plan.kind == .outsideAsking,
            device.applied.contains(line.plan.effectText(message.channel, message.id))
        {
            return ended(nil)
        }
        let simulation = life.simulation
        simulation.trace(
            process.name, "\(line.plan.name) gets \(message.id), attempt \(message.attempt)")
        let handling = device.handling(device, line.plan, message)
        if line.rows.order == .ordered {
            device.handsInOrder(device, line.plan, arrived, handling)
        }
        switch handling {
        case .hang: return
        case .fail(let time):
            simulation.after(time, on: process) { [unowned self] in
                ended(SimulatedDevice.HandlerFailed())
            }
        case .succeed(let time):
            simulation.after(time, on: process) { [unowned self] in
                guard process.survives("the effect of \(message.id)") else { return }
                // One step for the app: its effect, and in its own store the id.
                if line.plan.kind == .outsideAsking {
                    device.applied.insert(line.plan.effectText(message.channel, message.id))
                }
                device.effect(device, line.plan, message.channel, message.id, message.attempt)
                ended(nil)
            }
        }
    }

    private func ended(_ error: (any Error)?) {
        guard process.survives("the return of a handler") else { return }
        machine.handled(
            error, at: process.clock.uptime(), wall: line.wall, jitter: life.jitter)
        step()
    }
}

/// In virtual time what `TransactionalReader` is in real time.
final class SimulatedTransactionalReader: SimulatedReader {
    private let line: SimulatedReaderLine
    private var cursor: Int64
    private var nextDue: WallTime?
    private var hadDue = false

    init(_ line: SimulatedReaderLine) {
        self.line = line
        cursor = line.position.cursor
    }

    private var id: Int64 { line.position.reader }

    func begin() { look() }

    func signal() { line.signal() }

    private func look() {
        let (rows, id, now) = (line.rows, id, line.wall)
        line.read({ try $0.due(rows, of: id, now: now) }) { [unowned self] due in
            nextDue = due.messages.count == ReaderStore.dueLimit ? now : due.next
            hadDue = !due.messages.isEmpty
            retry(due.messages[...])
        }
    }

    private func retry(_ due: ArraySlice<ReaderStore.Exceptional>) {
        guard let exceptional = due.first else { return load() }
        let (rows, id) = (line.rows, id)
        line.persist({ [unowned self] transaction in
            let acknowledgement = try inside(transaction).retry(exceptional)
            try transaction.settle(rows, of: id, acknowledgement)
            return acknowledgement
        }) { [unowned self] acknowledgement in
            if let ending = acknowledgement.ending, ending.state == .waiting {
                nextDue = min(nextDue ?? ending.due, ending.due)
            }
            retry(due.dropFirst())
        }
    }

    private func load() {
        let (rows, cursor) = (line.rows, cursor)
        if rows.order == .ordered {
            // In order the next that waits, if there is one, comes before everything else.
            if hadDue { return look() }
            if nextDue != nil { return line.wait(until: nextDue) { [unowned self] in look() } }
        }
        line.read({ try $0.page(rows, after: cursor) }) { [unowned self] page in
            guard page.isEmpty else { return apply(page) }
            line.wait(until: nextDue) { [unowned self] in look() }
        }
    }

    private func apply(_ page: [Arrived]) {
        let (rows, id) = (line.rows, id)
        guard line.life.simulation.mutation != .effectApart else { return applyApart(page) }
        line.persist({ [unowned self] transaction in
            let write = try inside(transaction).apply(page)
            try transaction.write(rows, of: id, write)
            return write
        }) { [unowned self] write in applied(write) }
    }

    /// The mutation `effectApart`.
    private func applyApart(_ page: [Arrived]) {
        let (rows, id) = (line.rows, id)
        line.persist({ [unowned self] transaction in try inside(transaction).apply(page) }) {
            [unowned self] write in
            line.persist({ try $0.write(rows, of: id, write) }) { [unowned self] in applied(write) }
        }
    }

    private func applied(_ write: ReaderWrite) {
        cursor = write.cursor
        if let soonest = write.soonest { nextDue = min(soonest, nextDue ?? soonest) }
        look()
    }

    private func inside(_ transaction: any DeviceTransaction) -> TransactionalPage {
        let (device, plan) = (line.device, line.plan)
        return TransactionalPage(
            options: plan.options, now: line.wall, jitter: { [unowned self] in line.life.jitter },
            effect: { messages in
                try transaction.attempt {
                    for message in messages {
                        guard case .succeed = device.handling(device, plan, message) else {
                            throw SimulatedDevice.HandlerFailed()
                        }
                        try transaction.addEffect(plan.effectText(message.channel, message.id))
                    }
                }
            }, isItsOwn: { $0 is SimulatedDevice.HandlerFailed || $0 is DispatchFailure })
    }
}
