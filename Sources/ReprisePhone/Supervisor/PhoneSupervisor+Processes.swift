import Foundation
import RepriseCore

/// The processes of apps: started, killed, missed.
extension PhoneSupervisor {
    func spawn(_ app: String, _ life: Int) -> PhoneFailure? {
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

    func kill(_ life: Int, _ identity: ProcessIdentity?) {
        // It is dead when this returns: the next launch meets nothing of it.
        processes.removeValue(forKey: life)?.end()
        leave(life)
        if let identity { step { machine, _ in machine.killed(identity) } }
    }

    func processEnded(_ life: Int, _ how: String) {
        guard processes.removeValue(forKey: life) != nil else { return }
        leave(life)
        step { $0.ended(life: life, how, at: $1) }
    }

    func leave(_ life: Int) {
        peers.removeValue(forKey: life)?.close()
        tokens = tokens.filter { $0.value != life }
    }
}
