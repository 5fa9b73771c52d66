package import Foundation
import RepriseTesting
import Synchronization
import Testing

/// A real nats-server of one node with JetStream, in a folder of its own; killed with the last
/// reference to it.
package final class NatsServer: Sendable {
    /// The program, which `make setup` gets.
    package static let program = Command.root.appending(path: ".build/python/bin/nats-server")
    /// One that is too old for a gateway.
    package static let oldProgram = Command.otherVersions.appending(path: "bin/nats-server")

    /// `nats://127.0.0.1:PORT`.
    package let url: String
    package let port: Int
    /// Of its monitoring port: `http://127.0.0.1:PORT`.
    package let monitor: String
    private let folder: URL
    private let child: Mutex<ChildProcess?>

    /// Starts one in a folder, with more lines of settings, and waits for its port.
    package static func start(
        in folder: URL, _ settings: String = "", program: URL = NatsServer.program
    ) async throws -> NatsServer {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let child = try launch(program, in: folder, port: -1, settings)
        var url: URL?
        var monitor = ""
        try await eventually("nats-server listens") {
            let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            guard let ports = files.first(where: { $0.hasSuffix(".ports") }),
                let data = FileManager.default.contents(atPath: folder.path + "/" + ports),
                let lists = try? JSONDecoder().decode([String: [String]].self, from: data)
            else { return false }
            url = (lists["nats"] ?? lists["tls"])?.first.flatMap(URL.init(string:))
            monitor = lists["monitoring"]?.first ?? ""
            return url != nil
        }
        return NatsServer(port: try #require(url?.port), monitor, folder, child)
    }

    private init(port: Int, _ monitor: String, _ folder: URL, _ child: ChildProcess) {
        self.port = port
        self.monitor = monitor
        url = "nats://127.0.0.1:\(port)"
        self.folder = folder
        self.child = Mutex(child)
    }

    /// What it has written to its log.
    package var log: String {
        (try? String(contentsOfFile: folder.path + "/log", encoding: .utf8)) ?? ""
    }

    package func kill() { child.withLock { $0.take() }?.kill() }

    /// Starts it again on its port, with what it has stored; another program, if it was of another.
    package func restart(_ settings: String = "") throws {
        let next = try Self.launch(Self.program, in: folder, port: port, settings)
        child.withLock { $0 = next }
    }

    private static func launch(
        _ program: URL, in folder: URL, port: Int, _ settings: String
    ) throws -> ChildProcess {
        let file = folder.appending(path: "settings")
        try """
        listen: "127.0.0.1:\(port)"
        http: "127.0.0.1:-1"
        ports_file_dir: "\(folder.path)"
        log_file: "\(folder.path)/log"
        max_payload: 1MB
        jetstream { store_dir: "\(folder.path)/store" }
        \(settings)
        """.write(to: file, atomically: true, encoding: .utf8)
        return try ChildProcess(program, ["-c", file.path])
    }
}
