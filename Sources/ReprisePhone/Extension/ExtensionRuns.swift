import Foundation
import NIOCore
import RepriseCore

/// The processes of service extensions that are at work, by their runs; a part of the supervisor.
struct ExtensionRuns {
    private struct Run {
        let process: PhoneProcess
        let order: ExtensionOrder
        var peer: LineConnection?
    }

    private var runs: [Int: Run] = [:]
    /// The run that each token authenticates; once.
    private var tokens: [String: Int] = [:]

    /// Starts the process of a run.
    ///
    /// - Throws: ``PhoneProcess/Failure``, and what creating the folder throws.
    mutating func start(
        _ run: Int, _ app: PhoneAppSpec, _ push: PhonePush, in folder: PhoneFolder,
        ended: @escaping @Sendable () -> Void
    ) throws {
        guard let program = app.serviceExtension, let request = push.alert else {
            throw PhoneProcess.Failure(description: "there is no service extension")
        }
        let shared = folder.data(of: app.id)
        try FileManager.default.createDirectory(at: shared, withIntermediateDirectories: true)
        let token = EntryID.random().text
        var environment = ProcessInfo.processInfo.environment
        environment.merge(app.environment) { $1 }
        environment[PhoneEnvironment.socket] = folder.socket
        environment[PhoneEnvironment.token] = token
        environment[PhoneEnvironment.serviceExtension] = "1"
        let process = try PhoneProcess(
            [program] + (app.extensionArguments ?? []), environment: environment,
            output: folder.extensionOutput(of: app.id)
        ) { _ in ended() }
        runs[run] = Run(process: process, order: .request(request, folder: shared.path))
        tokens[token] = run
    }

    /// Accepts a process by its token, and sends it the request.
    ///
    /// - Returns: its run; nil if it is not awaited.
    mutating func connected(_ token: String, _ connection: LineConnection) -> Int? {
        guard let run = tokens.removeValue(forKey: token), runs[run] != nil else { return nil }
        runs[run]?.peer = connection
        if let order = runs[run]?.order { connection.send(order) }
        return run
    }

    /// Its time is nearly over.
    func warn(_ run: Int) { runs[run]?.peer?.send(ExtensionOrder.timeWillExpire) }

    /// Ends a run with its process; a second call does nothing.
    mutating func end(_ run: Int) {
        guard let ended = runs.removeValue(forKey: run) else { return }
        tokens = tokens.filter { $0.value != run }
        ended.peer?.close()
        ended.process.end()
    }

    mutating func endAll() { for run in runs.keys.sorted() { end(run) } }
}

extension PhoneEnvironment {
    /// Marks the process as a service extension, where one program is both.
    package static let serviceExtension = "REPRISE_PHONE_EXTENSION"
}

extension PhoneFolder {
    /// The output of the newest process of an app's service extension, at most 1 MiB.
    ///
    /// - Parameter app: the app's id.
    /// - Returns: the file.
    func extensionOutput(of app: String) -> URL {
        url.appendingPathComponent("apps").appendingPathComponent(app + ".extension.out")
    }
}
