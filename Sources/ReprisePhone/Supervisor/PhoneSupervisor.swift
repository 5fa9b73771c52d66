import Foundation
import NIOCore
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
    let folder: PhoneFolder
    let disk: PhoneDisk
    let clocks = SystemTimekeeper()
    let phoneBrowser = PhoneBrowser()
    var machine: PhoneMachine
    var log: PhoneLog
    private var processes: [Int: PhoneProcess] = [:]
    var extensions = ExtensionRuns()
    var transfers: [Int: TransferWork] = [:]
    let transport: any HTTPTransport = NIOTransport()
    /// The life that each token authenticates; once.
    var tokens: [String: Int] = [:]
    var peers: [Int: LineConnection] = [:]
    var timer: (at: Int64, clock: PhoneClock, task: Task<Void, Never>)?
    nonisolated let logChanges = ConditionVariable()
    /// Requests that wait for the log.
    var pollers = 0
    var server: (any Channel)?
    static let pollerLimit = 1_000
    var failure: (any Error)?
    var isEnding = false

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

    static func wall(_ clocks: SystemTimekeeper, _ clock: PhoneClock) -> WallTime {
        clocks.wall().advanced(by: .milliseconds(clock.calendarMilliseconds))
    }

    func now() -> PhoneMoment {
        let clock = machine.state.clock
        let uptime = clocks.uptime().components
        return PhoneMoment(
            wall: Self.wall(clocks, clock),
            microseconds: uptime.seconds * 1_000_000 + uptime.attoseconds / 1_000_000_000_000
                + clock.uptimeMilliseconds * 1_000)
    }

    /// Lets the machine decide; the decision is on disk when this returns, and still to be
    /// performed.
    func decide<T>(
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
    func step(_ body: (inout PhoneMachine, PhoneMoment) -> Void) -> PhoneFailure? {
        do {
            return perform(try decide(body).1)
        } catch {
            end(error)
            return nil
        }
    }

    /// - Returns: why a process could not be started.
    func perform(_ actions: [PhoneMachine.Action]) -> PhoneFailure? {
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
            case .tellDevice: tell(.device(machine.state.device))
            case .startTransfer(let number, let run): startTransfer(number, run)
            case .stopTransfer(let number, let run): stopTransfer(number, run)
            case .removeTransfer(let number): removeTransfer(number)
            case .keepTransfers(let numbers): keepTransfers(numbers)
            case .tellTransfer(let life, let transfer):
                peers[life]?.send(PhoneMessage.transfer(transfer))
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

    func tell(_ message: PhoneMessage) {
        for (_, peer) in peers.sorted(by: { $0.key < $1.key }) { peer.send(message) }
    }

    // MARK: Time and end

    func armTimer() {
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

    func timerFired() {
        timer = nil
        guard !isEnding else { return }
        step { $0.timePassed(to: $1) }
        if timer == nil { armTimer() }
    }

    /// Begins the end; `failure` is why, if it was not asked for.
    func end(_ failure: (any Error)?) {
        isEnding = true
        if self.failure == nil { self.failure = failure }
        server?.close(promise: nil)
    }

    func close() async {
        isEnding = true
        timer?.task.cancel()
        logChanges.notifyAll()
        step { $0.shutDown(at: $1) }
        for process in processes.values { process.end() }
        extensions.endAll()
        for work in transfers.values { work.task.cancel() }
        for peer in peers.values { peer.close() }
        await phoneBrowser.end()
        try? FileManager.default.removeItem(atPath: folder.socket)
        disk.release()
    }
}

/// The processes of apps: started, killed, missed.
extension PhoneSupervisor {
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
        // It is dead when this returns: the next launch meets nothing of it.
        processes.removeValue(forKey: life)?.end()
        leave(life)
        if let identity { step { machine, _ in machine.killed(identity) } }
    }

    /// What the process said before its end counts: its socket is read to the end first, at most
    /// for a second, as a child of it may hold the socket open.
    func processEnded(_ life: Int, _ how: String) async {
        for _ in 0..<100 where peers[life] != nil && !isEnding {
            try? await Task.sleep(for: .milliseconds(10))
        }
        guard processes.removeValue(forKey: life) != nil else { return }
        leave(life)
        step { $0.ended(life: life, how, at: $1) }
    }

    func leave(_ life: Int) {
        peers.removeValue(forKey: life)?.close()
        tokens = tokens.filter { $0.value != life }
    }
}
