import Foundation
import NIOCore
import NIOPosix
import RepriseCore
import RepriseNIO

/// The peers on the phone's socket: controls and service extensions.
extension PhoneSupervisor {
    func serve(_ ready: @Sendable () async -> Void) async throws {
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
    func meet(_ connection: LineConnection) async {
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
            peers.removeValue(forKey: life)
            await left(life)
        }
    }

    func startExtension(_ run: Int, _ app: String, _ push: PhonePush) {
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
    func extensionEnded(_ run: Int) {
        step { $0.extensionFinished(run: run, content: nil, at: $1) }
    }

    func hear(_ line: ByteBuffer?, fromExtension run: Int) {
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

    /// An app without its connection is useless; an ending one closes it too, and gets time to be
    /// seen ended.
    func left(_ life: Int) async {
        try? await Task.sleep(for: .seconds(2))
        guard !isEnding else { return }
        step { machine, now in
            guard let app = machine.app(of: life) else { return }
            machine.terminate(app, "it has left the phone", at: now)
        }
    }

    func hear(_ line: ByteBuffer?, _ connection: LineConnection) async {
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

    func answer(_ command: PhoneCommand) -> PhoneAnswer {
        switch command {
        case .status:
            return .status(
                withProgress(
                    machine.status(
                        at: now(), process: getpid(), lastEvent: log.last, folder: folder)))
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
}
