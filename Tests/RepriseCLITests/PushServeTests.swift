import Crypto
import Foundation
import GRDB
import RepriseCommandLine
import RepriseFakes
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Synchronization
import Testing

@testable import RepriseCLI

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("serve that pushes", .timeLimit(.minutes(2)))
struct PushServeTests {
    @Test(
        "a message that was accepted before SIGKILL is pushed by the next process, and by no third")
    func killed() async throws {
        let taken = Mutex<[String]>([])
        let isAway = Mutex(true)
        let apple = try await FakePushServer.start { request in
            if isAway.withLock({ $0 }) { return .cut }
            taken.withLock { $0.append(request["apns-collapse-id"].first ?? "") }
            return .status(200)
        }
        let folder = try TemporaryFolder()
        let key = try folder.write(P256.Signing.PrivateKey().pemRepresentation, to: "key.p8")
        let options = [
            "--dev", "--apns-key", key, "--apns-key-id", "KEY0000001", "--apns-team",
            "TEAM000001", "--apns-topic", "org.example.chat", "--apns-environment",
            apple.url.replacingOccurrences(of: "localhost", with: "127.0.0.1"),
        ]
        let data = folder.path("data")
        var server = try await ToolServer(data: data, options: options)
        // What was stored before pushing began is not pushed: so it is to have begun.
        try await eventually("it has begun") { try await rows("push_services", data) == 1 }
        try await people(server.url)
        try await send("POST", "/messages", #"{"id":"m1","body":{"text":"Hi"}}"#, server.url, "ada")
        server.tool.signal(SIGKILL)
        _ = await server.tool.end()
        isAway.withLock { $0 = false }
        server = try await ToolServer(data: data, options: options)
        try await eventually("it is pushed") { taken.withLock { $0 } == ["m1"] }
        try await eventually("that is written down") { try await rows("push_queue", data) == 0 }
        server.tool.signal(SIGKILL)
        _ = await server.tool.end()
        server = try await ToolServer(data: data, options: options)
        // A later message is pushed: what was to be pushed before it has been by then.
        try await send("POST", "/messages", #"{"id":"m2","body":{"text":"Hi"}}"#, server.url, "ada")
        try await eventually("the later one is pushed") { taken.withLock { $0.contains("m2") } }
        #expect(taken.withLock { $0 } == ["m1", "m2"])
        #expect(!server.tool.error.contains("PRIVATE KEY"))
        server.tool.signal(SIGTERM)
        #expect(await server.tool.end() == 0)
        await apple.stop()
    }

    @Test("a dry run does everything but the sending, and logs no text, token or key")
    func dryRun() async throws {
        let taken = Mutex(0)
        let apple = try await FakePushServer.start { _ in
            taken.withLock { $0 += 1 }
            return .status(200)
        }
        let folder = try TemporaryFolder()
        let key = try folder.write(P256.Signing.PrivateKey().pemRepresentation, to: "key.p8")
        let server = try await ToolServer(
            data: folder.path("data"),
            options: [
                "--dev", "--push-dry-run", "--apns-key", key, "--apns-key-id", "KEY0000001",
                "--apns-team", "TEAM000001", "--apns-topic", "org.example.chat",
                "--apns-environment",
                apple.url.replacingOccurrences(of: "localhost", with: "127.0.0.1"),
            ])
        try await eventually("it has begun") {
            try await rows("push_services", folder.path("data")) == 1
        }
        try await people(server.url)
        try await send(
            "POST", "/messages", #"{"id":"m1","body":{"text":"a secret"}}"#, server.url, "ada")
        try await eventually("it is logged") { server.tool.error.contains("push: dry run") }
        #expect(server.tool.error.contains("collapse=m1"))
        for secret in ["a secret", "aabb", "PRIVATE KEY"] {
            #expect(!server.tool.error.contains(secret))
        }
        try await eventually("the queue is empty") {
            try await rows("push_queue", folder.path("data")) == 0
        }
        server.tool.signal(SIGTERM)
        #expect(await server.tool.end() == 0)
        #expect(taken.withLock { $0 } == 0)
        await apple.stop()
    }

    @Test("settings of push that cannot be used end it at once: 78, and what to do")
    func refused() async throws {
        let folder = try TemporaryFolder()
        let other = try folder.write(P384.Signing.PrivateKey().pemRepresentation, to: "p384.pem")
        let rest = ["--apns-key-id", "KEY0000001", "--apns-team", "TEAM000001"]
        let cases: [([String], String)] = [
            (["--apns-key", other], "--apns-key-id"),
            (["--apns-key", other, "--apns-topic", "org.example"] + rest, "P-384"),
            (["--apns-key", "none.p8", "--apns-topic", "org.example"] + rest, "none.p8"),
            (["--vapid-key", other], "--vapid-subject"),
            (["--vapid-key", other, "--vapid-subject", "mailto:a@example.org"], "P-384"),
            (["--vapid-key", other, "--vapid-subject", "me"], "mailto:"),
        ]
        for (arguments, words) in cases {
            let result = try await Tool.run(
                ["serve", "--port", "0", "--data", folder.path("data")] + arguments)
            #expect(result.status == 78, "\(arguments): \(result.error)")
            #expect(result.error.contains(words), "\(result.error)")
        }
    }

    private func people(_ url: String) async throws {
        try await send("PUT", "", #"{"visibility":"private"}"#, url, "ada")
        try await send("PUT", "/members/bob", #"{"role":"member"}"#, url, "ada")
        let device = #"{"platform":"ios","pushToken":"aabb"}"#
        try await request("PUT", "/v1/devices/phone", device, url, "bob")
    }

    private func send(
        _ method: String, _ path: String, _ body: String, _ url: String, _ user: String
    ) async throws {
        try await request(method, "/v1/channels/room" + path, body, url, user)
    }

    private func request(
        _ method: String, _ path: String, _ body: String, _ url: String, _ user: String
    ) async throws {
        let token = try #require(
            try await DevToken.fetch(server: url, user: try UserID(user)))
        var request = URLRequest(url: try #require(URL(string: url + path)))
        request.httpMethod = method
        request.httpBody = Data(body.utf8)
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.setValue("Bearer \(token.secret)", forHTTPHeaderField: "Authorization")
        let (data, response) = try await URLSession.shared.data(for: request)
        let status = (response as? HTTPURLResponse)?.statusCode ?? 0
        #expect((200..<300).contains(status), "\(String(decoding: data, as: UTF8.self))")
    }

    /// How many rows a table of the accounts has.
    private func rows(_ table: String, _ data: String) async throws -> Int {
        let queue = try DatabaseQueue(path: data + "/accounts.sqlite")
        defer { try? queue.close() }
        return try await queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM \(table)") }
            ?? 0
    }
}
