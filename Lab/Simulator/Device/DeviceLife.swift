import RepriseChannels
import RepriseCore
import RepriseJournal
import RepriseWire

/// One life of an app's process: what it knows, and the drivers of its machines.
///
/// In virtual time what `ChannelsDriver`, `Outbox` and `Channels` are in real time. Each effect
/// asks the process first whether it is still alive.
final class DeviceLife {
    unowned let device: SimulatedDevice
    let journal: SimulatedJournal
    var machine: ChannelsMachine
    private var outbox: SimulatedOutboxDriver
    private(set) var states: [ChannelName: ChannelState] = [:]
    private(set) var connection = ConnectionState.idle
    /// Frames that wait until the machine may read them.
    private(set) var unread: ArraySlice<[UInt8]> = []
    private var random: SeededRandom
    var wrong: DeviceMutations

    /// Snapshots that the app loads.
    private var snapshots = SnapshotLoads()

    private(set) var socket: SimulatedSocket?
    /// The peer has ended the connection; what had arrived is read first.
    private var ended: CloseCode??
    private var alarm = 0
    private var readers: [ChannelName: [any SimulatedReader]] = [:]

    var simulation: Simulation { device.simulation }
    var process: SimulatedProcess { device.process }
    var now: Duration { process.clock.uptime() }
    var jitter: Double { random.fraction() }

    init(_ device: SimulatedDevice) throws {
        self.device = device
        let simulation = device.simulation
        journal = try SimulatedJournal(
            simulation, on: device.process, store: device.store, kinds: [OutboxMachine.kind])
        machine = ChannelsMachine(settings: device.plan.settings)
        random = simulation.random("device \(device.name) \(device.process.life)")
        wrong = DeviceMutations(simulation.mutation)
        outbox = SimulatedOutboxDriver(settings: device.plan.outbox)
    }

    func begin() {
        journal.committed = { [unowned self] _ in device.committed(device) }
        journal.handle(OutboxMachine.kind.name) { [unowned self] entry, done in
            send(entry, done)
        }
        perform(machine.started(as: EntryID(unchecked: device.name), at: now))
        for plan in device.plan.channels {
            if plan.takesSnapshots { perform(machine.snapshotsWanted(plan.name)) }
            add(plan)
        }
    }

    /// Some time on the way to the disk and back.
    func reading(_ work: @escaping () -> Void) {
        simulation.after(random.duration(.microseconds(30), .milliseconds(2)), on: process, work)
    }

    // MARK: Readers and subscriptions

    private func add(_ plan: SimulatedDevice.ChannelPlan) {
        var left = plan.readers.count
        guard left > 0 else { return subscribe(plan.name) }
        for reader in plan.readers {
            begin(reader, of: plan.name, failures: 0) { [unowned self] in
                left -= 1
                if left == 0 { subscribe(plan.name) }
            }
        }
    }

    private func begin(
        _ plan: SimulatedDevice.ReaderPlan, of channel: ChannelName, failures: Int,
        then: @escaping () -> Void
    ) {
        let rows = ReaderRows(
            channel: channel, name: plan.name, order: plan.options.order)
        let wall = process.clock.wall()
        journal.write({ try $0.begin(rows, plan.options, now: wall) }) { [unowned self] result in
            switch result {
            case .success(let position):
                let line = SimulatedReaderLine(self, plan, rows, position)
                let reader: any SimulatedReader =
                    plan.kind == .inside
                    ? SimulatedTransactionalReader(line) : SimulatedAtLeastOnceReader(line)
                readers[channel, default: []].append(reader)
                reader.begin()
                then()
            case .failure(let error):
                guard
                    let wait = ReaderRetryPolicy.wait(
                        after: error, failures: failures + 1, jitter: jitter)
                else { return }
                simulation.after(wait, on: process) { [unowned self] in
                    begin(plan, of: channel, failures: failures + 1, then: then)
                }
            }
        }
    }

    func subscribe(_ channel: ChannelName) {
        guard !machine.isSubscribed(channel) else {
            return perform(machine.subscribedAgain(channel, at: now))
        }
        guard machine.mayLoad(channel) else {
            return simulation.after(.milliseconds(5), on: process) { [unowned self] in
                subscribe(channel)
            }
        }
        reading { [unowned self] in
            switch Result(catching: { try journal.read { try $0.stored(channel) } }) {
            case .success(let stored):
                perform(machine.subscribed(channel, stored: stored, at: now))
            case .failure:
                // The app tries again.
                simulation.after(.milliseconds(100), on: process) { [unowned self] in
                    subscribe(channel)
                }
            }
        }
    }

    func unsubscribe(_ channel: ChannelName) {
        snapshots.stop(channel)
        perform(machine.unsubscribed(channel))
    }

    // MARK: Effects

    private func perform(_ actions: [ChannelsMachine.Action]) {
        for action in actions {
            guard process.survives("\(action)") else { return }
            switch action {
            case .dial: dial()
            case .abandonDial: break  // it is answered when the network answers
            case .askToken(let number, let reason): askToken(number, reason)
            case .abandonToken: break  // an answer that nobody waits for is not heard
            case .probe(let number): probe(number)
            case .stop(let error):
                simulation.trace(device.name, "gives up: \(error)")
                device.stopped(device, error)
            case .send(let frames): socket?.send(wrong.outgoing(frames))
            case .close(let code): close(code)
            case .commit(let batch, let positions): commit(batch, at: positions)
            case .reload(let channels): reload(channels)
            case .wake(let moment): setAlarm(at: moment)
            case .announce(let state):
                connection = state
                device.connectionChanged(device, state)
            case .enter(let channel, let state): enter(channel, state)
            case .openSession(let time, _, _, _): openSession(serverTime: time)
            case .closeSession:
                journal.setNotReady(.session)
                hangUpOutbox()
            case .heard: break
            case .published(let published, _): answered(published)
            case .refused(let refused): answered(refused)
            case .requestSnapshot(let channel, let snapshot): load(snapshot, of: channel)
            case .signalReaders(let channels):
                for channel in channels { for reader in readers[channel] ?? [] { reader.signal() } }
            }
        }
        tellSnapshots()
        read()
    }

    func reconnect() { perform(machine.dialRequested(at: now)) }

    private func askToken(_ number: Int, _ reason: TokenRequest.Reason) {
        if simulation.mutation == .renewalIgnored, reason == .expires { return }
        device.tokens(reason) { [unowned self] answer in
            guard process.state != .dead, process.survives("an answer about a token")
            else { return }
            switch answer {
            case .success(let token):
                perform(machine.tokenReceived(token, for: number, at: now, jitter: jitter))
            case .failure(let error):
                perform(machine.tokenFailed(error, for: number, at: now, jitter: jitter))
            }
        }
    }

    private func enter(_ channel: ChannelName, _ state: ChannelState) {
        guard states[channel] != state else { return }
        simulation.trace(device.name, "\(channel) is \(state)")
        states[channel] = state
        device.stateChanged(device, channel, state)
    }

    private func commit(_ batch: StagedBatch, at positions: [ChannelName: LogPosition]) {
        if !wrong.isHonest {
            for (channel, state) in wrong.early(machine, batch, at: now) { enter(channel, state) }
        }
        let batch = wrong.isHonest ? batch : wrong.staged(batch)
        if simulation.mutation == .coverageApart {
            return journal.write({ try $0.write(batch.withoutMessages, at: positions) }) {
                [unowned self] result in
                guard case .success(let moved) = result else { return committed(result, batch) }
                journal.write({ try $0.write(batch.withoutEpochs, at: moved) }) {
                    [unowned self] result in committed(result, batch)
                }
            }
        }
        journal.write({ try $0.write(batch, at: positions) }) { [unowned self] result in
            committed(result, batch)
        }
    }

    private func committed(
        _ result: Result<[ChannelName: LogPosition], any Error>, _ batch: StagedBatch
    ) {
        switch result {
        case .success(let moved): perform(machine.committed(moved, at: now, jitter: jitter))
        case .failure where simulation.mutation == .keepMemoryAfterFailedCommit:
            perform(machine.committed([:], at: now, jitter: jitter))
        case .failure(let error):
            perform(machine.commitFailed(error, at: now, jitter: jitter))
        }
    }

    private func reload(_ channels: [ChannelName]) {
        reading { [unowned self] in
            let found = Result {
                try journal.read { transaction in
                    var found: [ChannelName: ChannelStore.Stored?] = [:]
                    for channel in channels {
                        found.updateValue(try transaction.stored(channel), forKey: channel)
                    }
                    return found
                }
            }
            switch found {
            case .success(let found): perform(machine.reloaded(found, at: now, jitter: jitter))
            case .failure(let error):
                perform(machine.reloadFailed(error, at: now, jitter: jitter))
            }
        }
    }

    private func setAlarm(at moment: Duration?) {
        alarm += 1
        guard let moment else { return }
        let alarm = alarm
        simulation.after(max(moment - now, .zero), on: process) { [unowned self] in
            guard alarm == self.alarm else { return }
            perform(wrong.woke(&machine, self, at: now, jitter: jitter))
        }
    }

    private func openSession(serverTime: WallTime) {
        outbox.machine.connected(serverTime: serverTime)
        let socket = socket
        journal.write({ try $0.serverTimeReceived(serverTime) }) { [unowned self] _ in
            if socket === self.socket { journal.setReady(.session) }
        }
    }

    // MARK: The connection

    private func dial() {
        device.network.dial(from: process, to: device.plan.server) { [unowned self] socket in
            guard let socket else {
                let error = RepriseError(.unreachable, "Nothing answers.")
                return perform(machine.dialFailed(error, at: now, jitter: jitter))
            }
            self.socket = socket
            ended = nil
            unread = []
            socket.received = { [unowned self] frames in
                unread += wrong.isHonest ? frames : wrong.incoming(frames, machine)
                read()
            }
            socket.closed = { [unowned self] code in
                guard socket === self.socket else { return }
                ended = .some(code)
                read()
            }
            perform(machine.dialSucceeded(at: now))
        }
    }

    /// Gives the machine what has arrived, as long as it may read; then tells it of the end, if
    /// that has come.
    private func read() {
        guard let socket, process.state != .dead else { return }
        if !unread.isEmpty, machine.mayRead, !machine.isFatal {
            let chunk = unread.prefix(device.plan.settings.framesPerCommit)
            unread = unread.dropFirst(chunk.count)
            if !wrong.isHonest { wrong.read(chunk, machine) }
            return perform(machine.framesReceived(chunk, at: now, jitter: jitter))
        }
        socket.isReading = unread.isEmpty
        guard let code = ended, unread.isEmpty || machine.isFatal else { return }
        hangUp(code)
    }

    /// The network of the simulation says when a connection ends, so a ping of one that has not is
    /// answered.
    private func probe(_ number: Int) {
        let probed = socket
        simulation.after(random.duration(.milliseconds(10), .seconds(8)), on: process) {
            [unowned self] in
            guard let probed, probed === socket else { return }
            perform(machine.probeAnswered(number, at: now))
        }
    }

    private func close(_ code: CloseCode) {
        guard let socket else { return }
        socket.close(code)
        // What has arrived is read, and then the end.
        simulation.after(.zero, on: process) { [unowned self] in
            guard socket === self.socket, ended == nil else { return }
            ended = .some(nil)
            read()
        }
    }

    private func hangUp(_ code: CloseCode?) {
        socket?.close(.normal)
        socket = nil
        ended = nil
        unread = []
        perform(machine.disconnected(closeCode: code, error: nil, at: now, jitter: jitter))
    }
}

/// What `ChannelsDriver` does about snapshots.
extension DeviceLife {
    /// Has the app load it, again and again until it has.
    private func load(_ snapshot: SubscriptionMachine.Snapshot, of channel: ChannelName) {
        guard let epoch = machine.machine(of: channel)?.epoch else { return }
        let request = SimulatedDevice.SnapshotRequest(
            channel: channel, epoch: epoch, snapshot: snapshot)
        attempt(request, snapshots.start(channel), failures: 0)
    }

    private func attempt(_ request: SimulatedDevice.SnapshotRequest, _ load: Int, failures: Int) {
        let channel = request.channel
        guard process.survives("asking for a snapshot"), snapshots.isCurrent(load, of: channel)
        else { return }
        if simulation.mutation == .snapshotTakenEarly {
            snapshots.taken.append((channel, load, request.snapshot))
            simulation.after(.zero, on: process) { [unowned self] in perform([]) }
        }
        device.snapshot(device, request) { [unowned self] error in
            guard process.state != .dead, snapshots.isCurrent(load, of: channel) else {
                return
            }
            guard let error else {
                snapshots.taken.append((channel, load, request.snapshot))
                return perform([])
            }
            perform(machine.snapshotFailed(error, of: channel))
            let wait = SnapshotLoads.again.delay(failures: failures + 1, jitter: jitter)
            simulation.after(wait, on: process) { [unowned self] in
                attempt(request, load, failures: failures + 1)
            }
        }
    }

    /// The machine is told once it may be: what it writes then has a place on its way to the disk.
    private func tellSnapshots() {
        guard !snapshots.taken.isEmpty, machine.mayRead, process.state != .dead else { return }
        let (channel, load, snapshot) = snapshots.taken.removeFirst()
        guard snapshots.isCurrent(load, of: channel) else { return tellSnapshots() }
        snapshots.stop(channel)
        perform(machine.snapshotTaken(snapshot, of: channel, at: now))
    }
}

extension DeviceLife {
    func send(_ entry: Entry, _ done: @escaping SimulatedJournal.Completion) {
        var frame: [UInt8]
        do {
            frame = try outbox.machine.dispatched(
                entry, wall: process.clock.wall(), at: now)
        } catch {
            return done(error)
        }
        if simulation.mutation == .outboxNewID, entry.attempt > 1 {
            frame = withNewID(frame, entry)
        }
        if simulation.mutation == .outboxForgetsPredecessor { frame = withoutPredecessor(frame) }
        guard process.survives("publishing \(entry.id)") else { return }
        outbox.waiters[entry.id] = (entry, done)
        socket?.send([frame])
        if simulation.mutation == .outboxEndsWhenSent {
            _ = outbox.machine.answered(entry.id, .published(seq: 0))
            resolve(entry.id)
        }
        simulation.after(outbox.timeout, on: process) { [unowned self] in
            for id in outbox.machine.timerFired(at: now) { resolve(id) }
        }
    }

    private func withNewID(_ frame: [UInt8], _ entry: Entry) -> [UInt8] {
        var decoder = FrameDecoder()
        guard case .publish(var publish)? = try? decoder.clientFrame(frame) else { return frame }
        publish.id = EntryID(unchecked: "\(entry.id)-\(entry.attempt)")
        outbox.invented[publish.id] = entry.id
        return ClientFrame.publish(publish).encoded()
    }

    private func withoutPredecessor(_ frame: [UInt8]) -> [UInt8] {
        var decoder = FrameDecoder()
        guard case .publish(var publish)? = try? decoder.clientFrame(frame) else { return frame }
        publish.after = nil
        return ClientFrame.publish(publish).encoded()
    }

    private func hangUpOutbox() {
        for id in outbox.machine.disconnected() { resolve(id) }
    }

    private func answered(_ published: ServerFrame.Published) {
        var published = published
        published.id = outbox.invented[published.id] ?? published.id
        if let id = outbox.machine.published(published) { resolve(id) }
    }

    private func answered(_ refused: ServerFrame.Refused) {
        if let id = outbox.machine.refused(refused) { resolve(id) }
    }

    private func resolve(_ id: EntryID) {
        guard let (entry, done) = outbox.waiters.removeValue(forKey: id) else { return }
        let refusal = outbox.machine.refusal(of: id)
        do {
            _ = try outbox.machine.ended(entry, jitter: jitter)
        } catch {
            if let code = refusal?.code, !code.isTemporary { device.refused(device, id, code) }
            return done(error)
        }
        guard process.survives("telling the app that \(id) is published") else { return }
        device.acknowledged(device, id)
        done(nil)
    }
}
