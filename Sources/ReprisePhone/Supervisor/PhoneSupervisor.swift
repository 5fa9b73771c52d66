import Foundation
import NIOCore
import NIOPosix
import RepriseCore
import RepriseNIO

/// A running phone: the operating system for the app processes that it launches.
///
/// ```swift
/// try await PhoneSupervisor.run(in: PhoneFolder(folder))
/// ```
///
/// `PhoneMachine` decides, `PhoneDisk` remembers, and this one does: each step is on the disk
/// before anything of it happens.
public actor PhoneSupervisor {
    /// The most requests that wait for the log.
    static let pollerLimit = 1_000

    private let folder: PhoneFolder
    private let disk: PhoneDisk
    private let clocks = SystemTimekeeper()
    private let phoneBrowser = PhoneBrowser()
    private var machine: PhoneMachine
    private var log: PhoneLog
    private var apps = AppProcesses()
    private var extensions = ExtensionRuns()
    private var transfers = TransferRuns()
    private var timer: (at: Int64, clock: PhoneClock, task: Task<Void, Never>)?
    private let logChanges = ConditionVariable()
    /// Requests that wait for the log.
    private var pollers = 0
    private var server: (any Channel)?
    private var failure: (any Error)?
    private var isEnding = false

    /// Runs a phone until it is shut down or the task is cancelled; then nothing of it runs any
    /// more.
    ///
    /// - Parameters:
    ///   - folder: its data; created if missing. A former phone's state continues.
    ///   - ready: called when the socket takes connections.
    /// - Throws: ``RepriseCore/RepriseError`` `.journalOwned` if a phone runs there already,
    ///   `.badConfiguration` if the folder's path is too long for a socket, `.notWritable`,
    ///   `.diskFull`, `.corrupt`.
    public static func run(
        in folder: PhoneFolder, ready: @Sendable () async -> Void = {}
    ) async throws {
        guard folder.socket.utf8.count <= 103 else {
            throw RepriseError(
                .badConfiguration, "The folder's path is too long for a socket in it.",
                remedy: "Use a folder with a path of at most 90 bytes.")
        }
        let phone = try PhoneSupervisor(folder)
        try await phone.serve(ready)
    }

    private init(_ folder: PhoneFolder) throws {
        self.folder = folder
        disk = try PhoneDisk(folder)
        var log = try PhoneLog(folder)
        guard let content = try disk.read() else {
            machine = PhoneMachine()
            self.log = log
            return
        }
        // The phone was killed between the two writes of a step: the log gets the missing part.
        let last = log.last
        try log.append(content.events.filter { $0.number > last })
        self.log = log
        var state = content.state
        if content.boot != clocks.boot {
            // The machine was restarted, and its clock began anew: the phone's continues by the
            // calendar.
            let off = content.at.wall.duration(to: Self.wall(clocks, state.clock)).milliseconds
            let wanted = content.at.microseconds / 1_000 + max(0, off)
            state.clock.uptimeMilliseconds = wanted - clocks.uptime().milliseconds
        }
        machine = PhoneMachine(state)
    }

    // MARK: Steps

    private static func wall(_ clocks: SystemTimekeeper, _ clock: PhoneClock) -> WallTime {
        clocks.wall().advanced(by: .milliseconds(clock.calendarMilliseconds))
    }

    private func now() -> PhoneMoment {
        let clock = machine.state.clock
        let uptime = clocks.uptime().components
        return PhoneMoment(
            wall: Self.wall(clocks, clock),
            microseconds: uptime.seconds * 1_000_000 + uptime.attoseconds / 1_000_000_000_000
                + clock.uptimeMilliseconds * 1_000)
    }

    /// Lets the machine decide; the decision is on disk when this returns, and still to be
    /// performed.
    private func decide<T>(
        _ body: (inout PhoneMachine, PhoneMoment) throws -> T
    ) throws -> (T, [PhoneMachine.Action]) {
        var next = machine
        let now = now()
        let result = try body(&next, now)
        var (actions, events) = next.drain()
        for index in events.indices {
            events[index].number = log.last + 1 + index
            events[index].detail = events[index].detail.limited(to: PhoneLimits.detailBytes)
        }
        if next.state != machine.state {
            try disk.write(
                .init(state: next.state, events: events, boot: clocks.boot, at: now))
        }
        machine = next
        try append(events)
        armTimer()
        return (result, actions)
    }

    /// A step without a request.
    ///
    /// If its state cannot be written the phone ends, as with a broken disk.
    @discardableResult
    private func step(_ body: (inout PhoneMachine, PhoneMoment) -> Void) -> PhoneFailure? {
        do {
            return perform(try decide(body).1)
        } catch {
            end(error)
            return nil
        }
    }

    /// - Returns: why a process could not be started.
    private func perform(_ actions: [PhoneMachine.Action]) -> PhoneFailure? {
        var failure: PhoneFailure?
        for action in actions {
            switch action {
            case .spawn(let app, let life): failure = spawn(app, life) ?? failure
            case .stop(let life): apps.signal(life, SIGSTOP)
            case .go(let life): apps.signal(life, SIGCONT)
            case .kill(let life, let identity): kill(life, identity)
            case .killLeftover(let identity):
                PhoneProcess.endLeftover(identity)
                step { machine, _ in machine.killed(identity) }
            case .order(let life, let id, let order): apps.send(.order(id: id, order), to: life)
            case .tellClock: apps.sendToAll(.clock(machine.state.clock))
            case .tellNetwork: apps.sendToAll(.network(machine.state.network))
            case .tellDevice: apps.sendToAll(.device(machine.state.device))
            case .startTransfer(let number, let run): startTransfer(number, run)
            case .stopTransfer(let number, let run): transfers.stop(number, run)
            case .removeTransfer(let number): transfers.remove(number, folder.transfer(number))
            case .keepTransfers(let numbers): keepTransfers(numbers)
            case .tellTransfer(let life, let transfer): apps.send(.transfer(transfer), to: life)
            case .runExtension(let run, let app, let push): startExtension(run, app, push)
            case .warnExtension(let run): extensions.warn(run)
            case .endExtension(let run): extensions.end(run)
            case .protectFiles: failure = protected { try $0.protect($1) } ?? failure
            case .releaseFiles: failure = protected { try $0.release($1.id) } ?? failure
            case .removeData(let app):
                try? FileManager.default.removeItem(at: folder.locked(of: app))
                try? FileManager.default.removeItem(at: folder.data(of: app))
                try? FileManager.default.removeItem(at: folder.output(of: app))
            }
        }
        return failure
    }

    private func protected(
        _ body: (ProtectedFiles, PhoneAppSpec) throws -> Void
    ) -> PhoneFailure? {
        do {
            for record in machine.state.apps.values {
                try body(ProtectedFiles(folder: folder), record.spec)
            }
            return nil
        } catch {
            return PhoneFailure(.diskFailed, "\(error)")
        }
    }

    // MARK: Time and end

    private func armTimer() {
        let now = now()
        let (next, clock) = (machine.nextDue(from: now), machine.state.clock)
        // A clock that was moved comes to the same moment sooner.
        guard timer?.at != next || timer?.clock != clock else { return }
        timer?.task.cancel()
        timer = next.map { at in
            let wait = Duration.microseconds(max(0, at - now.microseconds))
            let task = Task { [weak self] in
                guard (try? await Task.sleep(for: wait)) != nil else { return }
                await self?.timerFired()
            }
            return (at, clock, task)
        }
    }

    private func timerFired() {
        timer = nil
        guard !isEnding else { return }
        step { $0.timePassed(to: $1) }
        if timer == nil { armTimer() }
    }

    /// Begins the end; `failure` is why, if it was not asked for.
    private func end(_ failure: (any Error)?) {
        isEnding = true
        if self.failure == nil { self.failure = failure }
        server?.close(promise: nil)
    }

    private func close() async {
        isEnding = true
        timer?.task.cancel()
        logChanges.notifyAll()
        step { $0.shutDown(at: $1) }
        apps.endAll()
        extensions.endAll()
        transfers.cancelAll()
        await phoneBrowser.end()
        try? FileManager.default.removeItem(atPath: folder.socket)
        disk.release()
    }

    // MARK: Peers

    private func serve(_ ready: @Sendable () async -> Void) async throws {
        if let failure = perform(
            try decide { $0.started(after: log.last == 0 ? "first" : "power off", at: $1) }.1)
        {
            throw failure.error
        }
        let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .bind(unixDomainSocketPath: folder.socket, cleanupExistingSocketFile: true) { channel in
                channel.eventLoop.makeCompletedFuture {
                    AcceptedChannel(try LineConnection.wrap(channel))
                }
            }
        self.server = server.channel
        await ready()
        try? await withTaskCancellationHandler {
            try await server.executeThenClose { clients, _ in
                try await withThrowingDiscardingTaskGroup { group in
                    for try await client in clients {
                        let connection = LineConnection(client.take())
                        group.addTask { await self.meet(connection) }
                    }
                    group.cancelAll()
                }
            }
        } onCancel: {
            server.channel.close(promise: nil)
        }
        await close()
        if let failure { throw failure }
    }

    /// Listens to one peer until it leaves.
    private func meet(_ connection: LineConnection) async {
        var life: Int?
        var run: Int?
        var isGreeted = false
        await connection.readLines { line in
            if !isGreeted {
                isGreeted = true
                switch try? PhoneJSON.decode(PhoneGreeting.self, from: line) {
                case .control: return true
                case .app(let token):
                    life = connect(token, connection)
                    return life != nil
                case .extension(let token):
                    run = extensions.connected(token, connection)
                    return run != nil
                case nil:
                    note(.nonsense, nil, "Somebody did not say who it is.")
                    return false
                }
            }
            if let life {
                await hear(line, from: life, connection)
            } else if let run {
                hear(line, fromExtension: run)
            } else {
                await hear(line, connection)
            }
            return !isEnding
        }
        connection.close()
        if let life {
            apps.disconnected(life)
            await left(life)
        }
    }

    /// An app without its connection is useless; an ending one closes it too, and gets time to be
    /// seen ended.
    private func left(_ life: Int) async {
        try? await Task.sleep(for: .seconds(2))
        guard !isEnding else { return }
        step { machine, now in
            guard let app = machine.app(of: life) else { return }
            machine.terminate(app, "it has left the phone", at: now)
        }
    }

    private func hear(_ line: ByteBuffer?, _ connection: LineConnection) async {
        guard let request = try? PhoneJSON.decode(PhoneRequest.self, from: line) else {
            let failure =
                line == nil
                ? PhoneFailure(.tooLarge, "A line has more than \(LineConnection.lineLimit) bytes.")
                : PhoneFailure(.malformed, "A line is not a command.")
            note(.nonsense, nil, failure.message)
            connection.send(PhoneReply(id: nil, answer: .failed(failure)))
            return
        }
        if case .log(let since, let wait) = request.command, wait > 0 {
            // The answer may take long; later requests need not wait.
            Task {
                let events = await self.events(since: since, waitMilliseconds: wait)
                connection.send(PhoneReply(id: request.id, answer: .log(events)))
            }
            return
        }
        if request.command == .shutdown { step { $0.shutDown(at: $1) } }
        connection.send(PhoneReply(id: request.id, answer: answer(request.command)))
        if request.command == .shutdown {
            await connection.flush()
            end(nil)
        }
    }

    private func answer(_ command: PhoneCommand) -> PhoneAnswer {
        switch command {
        case .status:
            return .status(
                withProgress(
                    machine.status(
                        at: now(), process: getpid(), lastEvent: log.last, folder: folder)))
        case .log(let since, _): return .log(log.page(after: since))
        case .shutdown: return .done
        default: break
        }
        do {
            let actions = try decide { machine, now in
                guard case .push(let app, let payload, let headers) = command else {
                    return try machine.command(command, at: now)
                }
                let push = try PhonePush(payload: Array(payload.utf8), headers: headers)
                machine.pushArrived(try machine.named(app), push, at: now)
            }.1
            if let failure = perform(actions) {
                return .failed(failure)
            }
            return .done
        } catch let failure as PhoneFailure {
            return .failed(failure)
        } catch let refusal as PushRefusal {
            return .failed(PhoneFailure(.malformed, "\(refusal.reason.name): \(refusal.message)"))
        } catch {
            end(error)
            return .failed(PhoneFailure(.diskFailed, "\(error)"))
        }
    }

    // MARK: Processes

    private func spawn(_ app: String, _ life: Int) -> PhoneFailure? {
        guard let spec = machine.state.apps[app]?.spec else { return nil }
        do {
            let identity = try apps.start(life, spec, in: folder) { [weak self] how in
                Task { await self?.processEnded(life, how) }
            }
            step { machine, _ in machine.spawned(life: life, identity) }
            return nil
        } catch {
            step { $0.spawnFailed(life: life, "\(error)", at: $1) }
            return PhoneFailure(.unavailable, "\(spec.executable) cannot be started: \(error)")
        }
    }

    private func kill(_ life: Int, _ identity: ProcessIdentity?) {
        apps.end(life)
        if let identity { step { machine, _ in machine.killed(identity) } }
    }

    /// What the process said before its end counts: its socket is read to the end first, at most
    /// for a second, as a child of it may hold the socket open.
    private func processEnded(_ life: Int, _ how: String) async {
        for _ in 0..<100 where apps.isConnected(life) && !isEnding {
            try? await Task.sleep(for: .milliseconds(10))
        }
        guard apps.ended(life) else { return }
        step { $0.ended(life: life, how, at: $1) }
    }

    // MARK: Messages of apps

    /// Accepts a process by its token.
    private func connect(_ token: String, _ connection: LineConnection) -> Int? {
        guard let life = apps.authenticated(token), let app = machine.app(of: life) else {
            return nil
        }
        do {
            let (launch, actions) = try decide { $0.connected(life: life, at: $1) }
            guard let launch else { return nil }
            apps.connected(life, connection)
            connection.send(
                PhoneMessage.welcome(
                    AppWelcome(
                        app: app, launch: launch, folder: folder.data(of: app).path,
                        clock: machine.state.clock, network: machine.state.network,
                        device: machine.state.device, rules: machine.state.rules)))
            _ = perform(actions)
            return life
        } catch {
            end(error)
            return nil
        }
    }

    private func hear(_ line: ByteBuffer?, from life: Int, _ connection: LineConnection) async {
        switch try? PhoneJSON.decode(AppMessage.self, from: line) {
        case nil: note(.nonsense, machine.app(of: life), "A line is no message of an app.")
        case .returned(let order, let options):
            step { $0.returned(life: life, order: order, options: options, at: $1) }
        case .report(let what, let detail, let microseconds):
            report(life, what, detail, microseconds)
        case .call(let id, .browser): answerBrowser(id, connection)
        case .call(let id, let call):
            do {
                let (answer, actions) = try decide { $0.called(life: life, call, at: $1) }
                if let answer {
                    connection.send(
                        PhoneMessage.answer(id: id, withProgress(answer, life: life)))
                }
                _ = perform(actions)
            } catch {
                end(error)
            }
        }
    }

    private func answerBrowser(_ id: Int, _ connection: LineConnection) {
        // It may take a second to start: other messages are handled meanwhile.
        Task { [phoneBrowser] in
            let answer: AppAnswer
            do {
                answer = .browser(try await phoneBrowser.address())
            } catch let error as RepriseError {
                answer = .failed(PhoneFailure(error.code, error.message, remedy: error.remedy))
            } catch {
                answer = .failed(PhoneFailure(.unavailable, "\(error)"))
            }
            connection.send(PhoneMessage.answer(id: id, answer))
        }
    }

    private func report(_ life: Int, _ what: String, _ detail: String, _ microseconds: Int64) {
        guard let app = machine.app(of: life) else { return }
        let now = now()
        // An observation is a little older than its arrival, never newer.
        let when = max(now.microseconds - 60_000_000, min(microseconds, now.microseconds))
        let late = (now.microseconds - when) / 1_000
        put(
            PhoneEvent(
                number: 0, at: now.wall.advanced(by: .milliseconds(-late)), microseconds: when,
                app: app, what: "app." + what.limited(to: 64), detail: detail))
    }

    // MARK: Service extensions

    private func startExtension(_ run: Int, _ app: String, _ push: PhonePush) {
        guard let spec = machine.state.apps[app]?.spec else { return }
        do {
            try extensions.start(run, spec, push, in: folder) { [weak self] in
                Task { await self?.extensionEnded(run) }
            }
        } catch {
            note(.nonsense, app, "its service extension cannot be started: \(error)")
            extensionEnded(run)
        }
    }

    /// Its process is no more: without an answer, if this is the first that is heard of it.
    private func extensionEnded(_ run: Int) {
        step { $0.extensionFinished(run: run, content: nil, at: $1) }
    }

    private func hear(_ line: ByteBuffer?, fromExtension run: Int) {
        let app = machine.state.extensions.runs[run]?.app
        switch try? PhoneJSON.decode(ExtensionMessage.self, from: line) {
        case .content(let content):
            step { $0.extensionFinished(run: run, content: content, at: $1) }
        case .report(let what, let detail):
            let now = now()
            put(
                PhoneEvent(
                    number: 0, at: now.wall, microseconds: now.microseconds, app: app,
                    what: "app." + what.limited(to: 64), detail: detail))
        case nil: note(.nonsense, app, "A line is no message of a service extension.")
        }
    }

    // MARK: Transfers

    private func startTransfer(_ number: Int, _ run: Int) {
        guard let record = machine.state.transfers[number]?.record else { return }
        let keeps = machine.state.rules.interruptedDownload == .continued
        let attempt = TransferAttempt(
            request: record.request, file: folder.transfer(number),
            part: keeps ? record.part : nil, room: machine.state.device.freeBytes ?? .max,
            surroundings: surroundings(number, run))
        transfers.start(record, run, attempt) { [weak self] outcome in
            await self?.transferEnded(number, run, outcome)
        }
    }

    private func surroundings(_ number: Int, _ run: Int) -> TransferAttempt.Surroundings {
        TransferAttempt.Surroundings(
            network: { [weak self] in await self?.machine.state.network ?? .off },
            began: { [weak self] part in
                await self?.step { machine, _ in
                    machine.transferBegan(number, run: run, part: part)
                }
            },
            progress: { [weak self] in await self?.transferMoved(number, run, $0, $1) })
    }

    /// Removes unreferenced files of a former run.
    private func keepTransfers(_ numbers: Set<Int>) {
        let names = try? FileManager.default.contentsOfDirectory(atPath: folder.transfers.path)
        for name in names ?? [] where Int(name).map(numbers.contains) != true {
            try? FileManager.default.removeItem(at: folder.transfers.appendingPathComponent(name))
        }
    }

    private func transferEnded(_ number: Int, _ run: Int, _ outcome: TransferRecord.Outcome?) {
        guard let last = transfers.ended(number, run), let outcome, !isEnding else { return }
        var bytes = last.bytes
        if case .finished(_, let all) = outcome { bytes = all }
        step { machine, now in
            machine.transferEnded(
                number, run: run, outcome, bytes: bytes, total: last.total, at: now)
        }
    }

    private func transferMoved(_ number: Int, _ run: Int, _ bytes: Int64, _ total: Int64?) {
        guard transfers.moved(number, run, bytes, total),
            let (app, record) = machine.state.transfers[number], record.run == run,
            // Messages to a process that runs no code would pile up in its socket.
            let process = machine.state.apps[app]?.process, process.isRunning
        else { return }
        apps.send(.transfer(transfers.telling(record)), to: process.life)
    }

    private func withProgress(_ status: PhoneStatus) -> PhoneStatus {
        var status = status
        for index in status.apps.indices {
            status.apps[index].transfers = transfers.withProgress(
                status.apps[index].transfers, of: machine.state.transfers[status.apps[index].id])
        }
        return status
    }

    private func withProgress(_ answer: AppAnswer, life: Int) -> AppAnswer {
        guard case .transfers(let listed) = answer, let app = machine.app(of: life) else {
            return answer
        }
        return .transfers(transfers.withProgress(listed, of: machine.state.transfers[app]))
    }

    // MARK: The log

    private func note(_ what: PhoneEvent.What, _ app: String?, _ detail: String) {
        put(PhoneEvent(what, app: app, detail, at: now()))
    }

    /// Logs an event without a change of state.
    private func put(_ event: PhoneEvent) {
        var event = event
        event.number = log.last + 1
        event.detail = event.detail.limited(to: PhoneLimits.detailBytes)
        do { try append([event]) } catch { end(error) }
    }

    private func append(_ events: [PhoneEvent]) throws {
        guard !events.isEmpty else { return }
        try log.append(events)
        logChanges.notifyAll()
    }

    private func events(since number: Int, waitMilliseconds: Int) async -> [PhoneEvent] {
        guard pollers < Self.pollerLimit else { return log.page(after: number) }
        pollers += 1
        defer { pollers -= 1 }
        let limit =
            ContinuousClock.now + .milliseconds(min(waitMilliseconds, PhoneLimits.pageMilliseconds))
        let timer = Task { [logChanges] in
            guard (try? await Task.sleep(until: limit)) != nil else { return }
            logChanges.notifyAll()
        }
        await logChanges.wait {
            !log.page(after: number).isEmpty || ContinuousClock.now >= limit || isEnding
        }
        timer.cancel()
        return log.page(after: number)
    }
}
