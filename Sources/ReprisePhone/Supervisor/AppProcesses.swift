import Foundation
import RepriseCore

/// The processes of apps and their connections, by their lives; a part of the supervisor.
struct AppProcesses {
    private var processes: [Int: PhoneProcess] = [:]
    private var peers: [Int: LineConnection] = [:]
    /// The life that each token authenticates; once.
    private var tokens: [String: Int] = [:]

    /// Starts the process of a life.
    ///
    /// - Throws: ``PhoneProcess/Failure``, and what creating the folder throws.
    mutating func start(
        _ life: Int, _ app: PhoneAppSpec, in folder: PhoneFolder,
        ended: @escaping @Sendable (String) -> Void
    ) throws -> ProcessIdentity {
        let token = EntryID.random().text
        var environment = ProcessInfo.processInfo.environment
        environment.merge(app.environment) { $1 }
        environment[PhoneEnvironment.socket] = folder.socket
        environment[PhoneEnvironment.token] = token
        try FileManager.default.createDirectory(
            at: folder.data(of: app.id), withIntermediateDirectories: true)
        let process = try PhoneProcess(
            [app.executable] + app.arguments, environment: environment,
            output: folder.output(of: app.id), ended: ended)
        processes[life] = process
        tokens[token] = life
        return process.identity
    }

    /// The life that a token authenticates; nil if it is not awaited.
    mutating func authenticated(_ token: String) -> Int? { tokens.removeValue(forKey: token) }

    mutating func connected(_ life: Int, _ connection: LineConnection) { peers[life] = connection }

    mutating func disconnected(_ life: Int) { peers.removeValue(forKey: life) }

    func isConnected(_ life: Int) -> Bool { peers[life] != nil }

    func send(_ message: PhoneMessage, to life: Int) { peers[life]?.send(message) }

    func sendToAll(_ message: PhoneMessage) {
        for (_, peer) in peers.sorted(by: { $0.key < $1.key }) { peer.send(message) }
    }

    func signal(_ life: Int, _ signal: Int32) { processes[life]?.signal(signal) }

    /// Ends a process: it is dead when this returns, so that the next launch meets nothing of it.
    mutating func end(_ life: Int) {
        processes.removeValue(forKey: life)?.end()
        leave(life)
    }

    /// Forgets a process that has ended.
    ///
    /// - Returns: false if ``end(_:)`` did it.
    mutating func ended(_ life: Int) -> Bool {
        guard processes.removeValue(forKey: life) != nil else { return false }
        leave(life)
        return true
    }

    func endAll() {
        for process in processes.values { process.end() }
        for peer in peers.values { peer.close() }
    }

    private mutating func leave(_ life: Int) {
        peers.removeValue(forKey: life)?.close()
        tokens = tokens.filter { $0.value != life }
    }
}
