import Foundation
import Logging
import NIOCore
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

/// A server process with few file descriptors.
@Suite("File descriptors", .timeLimit(.minutes(1)))
struct DescriptorTests {
    @Test("the soft limit is raised to the hard one at the start")
    func raised() async throws {
        try await Self.withServer(limits: "ulimit -Sn 60; ulimit -Hn 200") { _, process, _ in
            let limits = try String(
                contentsOfFile: "/proc/\(process)/limits", encoding: .utf8)
            let line = limits.split(separator: "\n").first { $0.hasPrefix("Max open files") }
            #expect(line?.split(separator: " ").dropFirst(3).prefix(2) == ["200", "200"])
        }
    }

    @Test(
        "one address cannot use them up: others are served",
        arguments: ["", TestClient.handshake()])
    func oneAddress(_ beginning: String) async throws {
        try await Self.withServer(limits: "ulimit -n 128") { port, _, _ in
            var sockets: [PlainSocket] = []
            for _ in 0..<150 {
                sockets.append(try PlainSocket(port: port))
                try? await sockets.last?.send(beginning)
            }
            try await Self.untilServed(port, from: "127.0.0.2", within: .seconds(8))
            #expect(sockets.count == 150)
        }
    }

    @Test("without descriptors it says so, and accepts again when there are some")
    func none() async throws {
        try await Self.withServer(limits: "ulimit -n 64") { port, _, errors in
            var clients: [TestClient] = []
            let deadline = ContinuousClock.now + .seconds(60)
            // Welcomed WebSockets, because the bounds for strangers do not count them.
            let hello = ClientFrame.hello(.init(device: .random(), client: "test")).encoded()
            let beginning = Array(TestClient.handshake().utf8) + TestClient.frame(0x81, hello)
            while !errors().contains("no file descriptor is left") {
                try #require(ContinuousClock.now < deadline, "\(errors())")
                let client = TestClient(socket: try PlainSocket(port: port))
                try await client.socket.send(beginning)
                clients.append(client)
                try await Task.sleep(for: .milliseconds(10))
            }
            clients = []
            try await Self.untilServed(port, from: "127.0.0.2")
        }
    }

    @Test(
        "a warning that a peer can cause is logged once, and then with a count",
        .limit("server.warnings"))
    func warnings() {
        let lines = LogLines()
        let clock = ManualClock()
        let warning = ThrottledWarning(
            logger: Logger(label: "test", factory: { _ in lines }), clock: clock)
        for _ in 0..<5 { warning.warn("too many", ["address": "a"]) }
        #expect(lines.text.components(separatedBy: "too many").count == 2)
        clock.advance(by: ThrottledWarning.pause)
        for _ in 0..<5 { warning.warn("again") }
        #expect(lines.text.components(separatedBy: "again").count == 2)
        #expect(lines.text.contains("alsoSinceTheLast") && lines.text.contains("4"))
    }

    private static func untilServed(
        _ port: Int, from source: String, within limit: Duration = .seconds(60)
    ) async throws {
        let deadline = ContinuousClock.now + limit
        while true {
            let socket = try PlainSocket(port: port, from: source)
            try await socket.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            let answer = try? await socket.receive(until: "ok\"}", within: .seconds(3))
            if answer?.hasPrefix("HTTP/1.1 200 ") == true { return }
            try #require(ContinuousClock.now < deadline, "nobody is served")
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// Runs `reprise serve` in a shell that has set its limits.
    private static func withServer(
        limits: String, _ body: (Int, Int32, () -> String) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        try FileManager.default.createDirectory(
            atPath: folder.path, withIntermediateDirectories: true)
        let (output, error) = (folder.path + "/output", folder.path + "/error")
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = [
            "-c", "\(limits); exec \"$0\" \"$@\" >'\(output)' 2>'\(error)'", tool.path, "serve",
            "--port", "0", "--data", folder.path + "/data",
        ]
        try process.run()
        let number = process.processIdentifier
        defer { kill(number, SIGKILL) }
        let text = { (try? String(contentsOfFile: $0, encoding: .utf8)) ?? "" }
        try await eventually("it is ready") { text(output).contains("\n") }
        let ready = text(output)
        let address = try #require(
            ready.firstMatch(of: /http:\/\/127\.0\.0\.1:([0-9]+)/), "\(text(error))")
        try await body(try #require(Int(address.1)), number) { text(error) }
    }

    private static var tool: URL {
        let tests = URL(fileURLWithPath: CommandLine.arguments[0])
        return tests.deletingLastPathComponent().appendingPathComponent("reprise")
    }
}
