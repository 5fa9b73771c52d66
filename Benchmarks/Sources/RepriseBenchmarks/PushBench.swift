import Foundation
import GRDB
import NIOCore
import RepriseFakes

/// Pushes of one message to the members of a channel, by a server in a process of its own on one
/// core, to a stand-in in this process.
struct PushBench {
    /// What became of a run.
    struct Outcome {
        var perSecond: Double
        /// Processor time of the sender for each push, in microseconds.
        var cpu: Double
        /// The sender's resident memory at its highest, and by how much it grew.
        var memory: (most: Int, grown: Int)
    }

    let folder: URL
    private let certificate: FakePushServer.Certificate

    static func run<T>(_ body: (PushBench) async throws -> T) async throws -> T {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("reprise-bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        return try await body(try PushBench(folder: folder))
    }

    private init(folder: URL) throws {
        self.folder = folder
        let (chain, key) = (
            folder.appendingPathComponent("cert.pem").path,
            folder.appendingPathComponent("key.pem").path
        )
        try Self.openssl([
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-keyout", key, "-out", chain, "-subj", "/CN=localhost", "-days", "2",
            "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
        ])
        try Self.openssl([
            "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out",
            folder.appendingPathComponent("vapid.pem").path,
        ])
        certificate = .init(certificate: chain, key: key)
    }

    private static func openssl(_ arguments: [String]) throws {
        try run("/usr/bin/openssl", arguments)
    }

    private static func run(_ tool: String, _ arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: tool)
        process.arguments = arguments
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw BenchmarkError("\(tool) \(arguments[0]) failed")
        }
    }

    // MARK: The server

    func apns(_ count: Int) async throws -> Outcome {
        let fake = FakeAPNs(topic: "org.example.chat")
        fake.keepTaken(false)
        try Data(fake.makeKey("KEY0000001", team: "TEAM000001").utf8)
            .write(to: folder.appendingPathComponent("apns.p8"))
        let stand = try await FakePushServer.start(certificate) { fake.answer($0) }
        for number in 0..<count { fake.install(Self.token(number)) }
        return try await server("--apns", stand, count, taken: { fake.takenCount }) { number, db in
            try db.execute(
                sql: """
                    INSERT INTO devices (user, id, platform, push_token, seen, push_since)
                    VALUES (?, 'phone', 'ios', ?, 0, 0)
                    """, arguments: ["user-\(number)", Self.token(number)])
        }
    }

    func webPush(_ count: Int) async throws -> Outcome {
        let fake = FakePushService()
        fake.keepTaken(false)
        let stand = try await FakePushServer.start(certificate) { fake.answer($0) }
        fake.listens(at: stand.url)
        return try await server("--web", stand, count, taken: { fake.takenCount }) { number, db in
            let browser = fake.subscribe("b\(number)")
            try db.execute(
                sql: """
                    INSERT INTO devices
                    (user, id, platform, web_endpoint, web_key, web_secret, seen, push_since)
                    VALUES (?, 'web', 'web', ?, ?, ?, 0, 0)
                    """,
                arguments: [
                    "user-\(number)", browser.endpoint, Self.bytes(browser.p256dh),
                    Self.bytes(browser.auth),
                ])
        }
    }

    private static func token(_ number: Int) -> String {
        let text = String(number, radix: 16)
        return String(repeating: "0", count: 64 - text.count) + text
    }

    private static func bytes(_ text: String) -> Data? {
        let plain = text.replacingOccurrences(of: "-", with: "+")
            .replacingOccurrences(of: "_", with: "/")
        return Data(
            base64Encoded: plain + String(repeating: "=", count: (4 - plain.count % 4) % 4))
    }

    private func server(
        _ option: String, _ stand: FakePushServer, _ count: Int,
        taken: @escaping @Sendable () -> Int, device: @escaping (Int, Database) throws -> Void
    ) async throws -> Outcome {
        let server = try ServerProcess([
            "serve-reprise", option, stand.url, "--push-files", folder.path,
        ])
        // What was stored before pushing began is not pushed: so it is to have begun.
        try await Task.sleep(for: .seconds(1))
        try fill(server, count, device)
        try Self.pin(server.identifier)
        let before = server.residentBytes
        try await CatchUp(server: server, channel: "room").fill(1)
        let outcome = try await Self.watch(
            count, taken: taken, before: before,
            process: (
                seconds: { server.processorSeconds }, bytes: { server.residentBytes }
            ))
        server.stop()
        await stand.stop()
        return outcome
    }

    /// One channel, so many members, a device each: written into the accounts, because a hundred
    /// thousand requests would measure something else.
    private func fill(
        _ server: ServerProcess, _ count: Int, _ device: (Int, Database) throws -> Void
    ) throws {
        var settings = GRDB.Configuration()
        settings.busyMode = .timeout(5)
        let queue = try DatabaseQueue(
            path: server.data.appendingPathComponent("accounts.sqlite").path,
            configuration: settings)
        try queue.write { db in
            try db.execute(
                sql: """
                    INSERT INTO channels (name, visibility, history, made, members)
                    VALUES ('room', 'public', 'all', 0, ?)
                    """, arguments: [count])
            for number in 0..<count {
                try db.execute(
                    sql: """
                        INSERT INTO members (channel, user, role, joined, since)
                        VALUES ('room', ?, 'member', 0, 0)
                        """, arguments: ["user-\(number)"])
                try device(number, db)
            }
        }
        try queue.close()
    }

    /// On one core, and the stand-in on the others.
    private static func pin(_ process: Int32) throws {
        try run("/usr/bin/taskset", ["-acp", "0", "\(process)"])
        try run("/usr/bin/taskset", ["-acp", "1", "\(ProcessInfo.processInfo.processIdentifier)"])
    }

    static func watch(
        _ count: Int, taken: @escaping @Sendable () -> Int, before: Int,
        process: (seconds: () -> Double, bytes: () -> Int)
    ) async throws -> Outcome {
        let clock = ContinuousClock()
        let deadline = clock.now + .seconds(180)
        var began: (moment: ContinuousClock.Instant, taken: Int, seconds: Double)?
        var most = 0
        while taken() < count {
            guard clock.now < deadline else {
                throw BenchmarkError("\(taken()) of \(count) pushes came")
            }
            most = max(most, process.bytes())
            // The five seconds in which a device may receive it by itself are not measured.
            if began == nil, taken() > 0 { began = (clock.now, taken(), process.seconds()) }
            try await Task.sleep(for: .milliseconds(5))
        }
        guard let began else { throw BenchmarkError("too few pushes to measure") }
        let done = Double(count - began.taken)
        return Outcome(
            perSecond: done / (clock.now - began.moment).inSeconds,
            cpu: (process.seconds() - began.seconds) / done * 1e6,
            memory: (most, most - before))
    }

    // MARK: The bare loop

    /// The same requests by AsyncHTTPClient alone: one body, no queue, nothing sealed.
    func bare(_ count: Int, path: String, bytes: Int, concurrency: Int) async throws -> Outcome {
        let counted = FakeAPNs(topic: "bare")
        counted.keepTaken(false)
        counted.script { _, _ in .status(200) }
        let stand = try await FakePushServer.start(certificate) { counted.answer($0) }
        let loop = try ServerProcess([
            "push-bare", "--url", stand.url + path, "--count", "\(count)", "--bytes", "\(bytes)",
            "--concurrency", "\(concurrency)", "--ca", certificate.certificate,
        ])
        try Self.pin(loop.identifier)
        let outcome = try await Self.watch(
            count, taken: { counted.requestCount }, before: loop.residentBytes,
            process: (seconds: { loop.processorSeconds }, bytes: { loop.residentBytes }))
        loop.stop()
        await stand.stop()
        return outcome
    }
}
