import Foundation
import NIOCore
import NIOPosix
import RepriseCore

/// A running phone: the operating system for the app processes that it launches.
///
/// ```swift
/// try await PhoneSupervisor.run(in: PhoneFolder(folder))
/// ```
///
/// `PhoneMachine` decides, `PhoneDisk` remembers, and this one does: each step is on the disk before anything of it happens.
public actor PhoneSupervisor {
    private let folder: PhoneFolder
    private let disk: PhoneDisk
    private let clocks = SystemTimekeeper()
    private let phoneBrowser = PhoneBrowser()
    private var machine: PhoneMachine
    private var log: PhoneLog
    private var processes: [Int: PhoneProcess] = [:]
    private var extensions = ExtensionRuns()
    /// Who may say with which token that it is which life's process; once.
    private var tokens: [String: Int] = [:]
    private var peers: [Int: LineConnection] = [:]
    private var timer: (at: Int64, task: Task<Void, Never>)?
    private var pollers: [Int: (CheckedContinuation<Void, Never>, Task<Void, Never>)] = [:]
    private var lastPoller = 0
    private var server: (any Channel)?
    private static let pollerLimit = 1_000
    private var failure: (any Error)?
    private var isEnding = false

    /// Runs a phone until it is asked to shut down or the task is cancelled; then nothing of it runs any more.
    ///
    /// - Parameters:
    ///   - folder: where it keeps everything; made if it is not there. What a former phone has left there goes on.
    ///   - ready: is called when the socket takes connections.
    /// - Throws: ``RepriseCore/RepriseError`` `.journalOwned` if a phone runs there already, `.badConfiguration` if the folder's path is too
    ///   long for a socket, `.notWritable`, `.diskFull`, `.corrupt`.
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
        // The phone was killed between the two writes of a step: the log gets what it lacks.
        let last = log.last
        try log.append(content.events.filter { $0.number > last })
        self.log = log
        var state = content.state
        if content.boot != clocks.boot {
            // The machine was restarted, and its clock began anew: the phone's goes on by the calendar.
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

    /// Lets the machine decide; what it decides is on the disk when this returns, and is yet to be done.
    private func decide<T>(
        _ body: (inout PhoneMachine, PhoneMoment) throws -> T
    ) throws -> (T, [PhoneMachine.Action]) {
        var next = machine
        let now = now()
        let result = try body(&next, now)
        var (actions, events) = next.drain()
        for index in events.indices {
            events[index].number = log.last + 1 + index
            events[index].detail = events[index].detail.cut(to: PhoneLimits.detailBytes)
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

    /// A step that nobody asked for.
    ///
    /// If it cannot be remembered the phone ends, as one with a broken disk.
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
            case .stop(let life): processes[life]?.signal(SIGSTOP)
            case .go(let life): processes[life]?.signal(SIGCONT)
            case .kill(let life, let identity): kill(life, identity)
            case .killLeftover(let identity):
                PhoneProcess.endLeftover(identity)
                step { machine, _ in machine.killed(identity) }
            case .order(let life, let id, let order):
                peers[life]?.send(PhoneMessage.order(id: id, order))
            case .tellClock: tell(.clock(machine.state.clock))
            case .tellNetwork: tell(.network(machine.state.network))
            case .runExtension(let run, let app, let push): startExtension(run, app, push)
            case .warnExtension(let run): extensions.warn(run)
            case .endExtension(let run): extensions.end(run)
            case .removeData(let app):
                try? FileManager.default.removeItem(at: folder.data(of: app))
                try? FileManager.default.removeItem(at: folder.output(of: app))
            }
        }
        return failure
    }

    private func tell(_ message: PhoneMessage) {
        for (_, peer) in peers.sorted(by: { $0.key < $1.key }) { peer.send(message) }
    }

    // MARK: Processes

    private func spawn(_ app: String, _ life: Int) -> PhoneFailure? {
        guard let spec = machine.state.apps[app]?.spec else { return nil }
        let token = EntryID.random().text
        var environment = ProcessInfo.processInfo.environment
        environment.merge(spec.environment) { $1 }
        environment[PhoneEnvironment.socket] = folder.socket
        environment[PhoneEnvironment.token] = token
        do {
            let data = folder.data(of: app)
            try FileManager.default.createDirectory(at: data, withIntermediateDirectories: true)
            let process = try PhoneProcess(
                [spec.executable] + spec.arguments, environment: environment,
                output: folder.output(of: app)
            ) { [weak self] how in
                Task { await self?.processEnded(life, how) }
            }
            processes[life] = process
            tokens[token] = life
            step { machine, _ in machine.spawned(life: life, process.identity) }
            return nil
        } catch {
            step { $0.spawnFailed(life: life, "\(error)", at: $1) }
            return PhoneFailure(.unavailable, "\(spec.executable) cannot be started: \(error)")
        }
    }

    private func kill(_ life: Int, _ identity: ProcessIdentity?) {
        // It is dead when this returns: what is launched next meets nothing of it.
        processes.removeValue(forKey: life)?.end()
        leave(life)
        if let identity { step { machine, _ in machine.killed(identity) } }
    }

    private func processEnded(_ life: Int, _ how: String) {
        guard processes.removeValue(forKey: life) != nil else { return }
        leave(life)
        step { $0.ended(life: life, how, at: $1) }
    }

    private func leave(_ life: Int) {
        peers.removeValue(forKey: life)?.close()
        tokens = tokens.filter { $0.value != life }
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
                channel.eventLoop.makeCompletedFuture { try LineConnection.wrap(channel) }
            }
        self.server = server.channel
        await ready()
        try? await withTaskCancellationHandler {
            try await server.executeThenClose { clients, _ in
                try await withThrowingDiscardingTaskGroup { group in
                    for try await client in clients {
                        let connection = LineConnection(client)
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
        if let life { await left(life) }
    }

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
        let app = machine.state.extensions[run]?.app
        switch try? PhoneJSON.decode(ExtensionMessage.self, from: line) {
        case .content(let content):
            step { $0.extensionFinished(run: run, content: content, at: $1) }
        case .report(let what, let detail):
            let now = now()
            put(
                PhoneEvent(
                    number: 0, at: now.wall, microseconds: now.microseconds, app: app,
                    what: "app." + what.cut(to: 64), detail: detail))
        case nil: note(.nonsense, app, "A line is no message of a service extension.")
        }
    }

    /// An app without its connection is of no use; one that ends closes it too, and is given the time to be seen ended.
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
            // The answer may take long; what is asked after it need not wait.
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
                machine.status(
                    at: now(), process: getpid(), lastEvent: log.last, folder: folder))
        case .log(let since, _): return .log(page(since))
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

    // MARK: Apps

    /// Takes in a process that says who it is.
    private func connect(_ token: String, _ connection: LineConnection) -> Int? {
        guard let life = tokens.removeValue(forKey: token), let app = machine.app(of: life) else {
            return nil
        }
        do {
            let (launch, actions) = try decide { $0.connected(life: life, at: $1) }
            guard let launch else { return nil }
            peers[life] = connection
            connection.send(
                PhoneMessage.welcome(
                    AppWelcome(
                        app: app, launch: launch, folder: folder.data(of: app).path,
                        clock: machine.state.clock, network: machine.state.network)))
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
                if let answer { connection.send(PhoneMessage.answer(id: id, answer)) }
                _ = perform(actions)
            } catch {
                end(error)
            }
        }
    }

    private func answerBrowser(_ id: Int, _ connection: LineConnection) {
        // It may take a second to start: the app says other things meanwhile.
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
                app: app, what: "app." + what.cut(to: 64), detail: detail))
    }

    // MARK: Log

    private func note(_ what: PhoneEvent.What, _ app: String?, _ detail: String) {
        put(PhoneEvent(what, app: app, detail, at: now()))
    }

    /// Logs what changes no state.
    private func put(_ event: PhoneEvent) {
        var event = event
        event.number = log.last + 1
        event.detail = event.detail.cut(to: PhoneLimits.detailBytes)
        do { try append([event]) } catch { end(error) }
    }

    private func append(_ events: [PhoneEvent]) throws {
        guard !events.isEmpty else { return }
        try log.append(events)
        for id in pollers.keys { wake(id) }
    }

    private func page(_ number: Int) -> [PhoneEvent] {
        var room = LineConnection.lineLimit / 2
        return log.after(number, limit: 1_000).prefix { event in
            room -= event.detail.utf8.count * 2 + 256
            return room > 0
        }
    }

    private func events(since number: Int, waitMilliseconds: Int) async -> [PhoneEvent] {
        let limit = ContinuousClock.now + .milliseconds(min(waitMilliseconds, 30_000))
        while page(number).isEmpty, ContinuousClock.now < limit, !isEnding,
            pollers.count < Self.pollerLimit
        {
            lastPoller += 1
            let id = lastPoller
            await withCheckedContinuation { poller in
                let bell = Task { [weak self] in
                    try? await Task.sleep(until: limit)
                    await self?.wake(id)
                }
                pollers[id] = (poller, bell)
            }
        }
        return page(number)
    }

    private func wake(_ id: Int) {
        guard let (poller, bell) = pollers.removeValue(forKey: id) else { return }
        bell.cancel()
        poller.resume()
    }

    // MARK: Time and end

    private func armTimer() {
        let now = now()
        let next = machine.nextDue(from: now)
        guard timer?.at != next else { return }
        timer?.task.cancel()
        timer = next.map { at in
            let wait = Duration.microseconds(max(0, at - now.microseconds))
            return (
                at,
                Task { [weak self] in
                    guard (try? await Task.sleep(for: wait)) != nil else { return }
                    await self?.rang()
                }
            )
        }
    }

    private func rang() {
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
        for id in pollers.keys { wake(id) }
        step { $0.shutDown(at: $1) }
        for process in processes.values { process.end() }
        extensions.endAll()
        for peer in peers.values { peer.close() }
        await phoneBrowser.end()
        try? FileManager.default.removeItem(atPath: folder.socket)
        disk.release()
    }
}

extension String {
    /// The beginning, at most so many bytes of UTF-8.
    fileprivate func cut(to bytes: Int) -> String {
        guard utf8.count > bytes else { return self }
        return String(decoding: utf8.prefix(bytes - 3), as: UTF8.self) + "…"
    }
}
