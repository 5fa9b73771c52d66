import Crypto
import Foundation
import RepriseFakes
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
        let apple = try await FakePushServer.start { request in
            taken.withLock { $0.append(request["apns-collapse-id"].first ?? "") }
            return .status(200)
        }
        let folder = try Folder()
        let key = try folder.write(P256.Signing.PrivateKey().pemRepresentation, to: "key.p8")
        let options = [
            "--dev", "--apns-key", key, "--apns-key-id", "KEY0000001", "--apns-team",
            "TEAM000001", "--apns-topic", "org.example.chat", "--apns-environment",
            apple.url.replacingOccurrences(of: "localhost", with: "127.0.0.1"),
        ]
        let data = folder.path("data")
        var server = try await TestServer(data: data, options: options)
        // What was stored before pushing began is not pushed: so it is to have begun.
        try await Task.sleep(for: .milliseconds(500))
        try await people(server.url)
        try await send("POST", "/messages", #"{"id":"m1","body":{"text":"Hi"}}"#, server.url, "ada")
        server.tool.signal(SIGKILL)
        _ = await server.tool.end()
        #expect(taken.withLock { $0 }.isEmpty)
        server = try await TestServer(data: data, options: options)
        try await until { taken.withLock { $0 } == ["m1"] }
        // What became of it is written down within the same moment.
        try await Task.sleep(for: .milliseconds(500))
        server.tool.signal(SIGKILL)
        _ = await server.tool.end()
        server = try await TestServer(data: data, options: options)
        try await Task.sleep(for: .seconds(7))
        #expect(taken.withLock { $0 } == ["m1"])
        #expect(!server.tool.error.contains("PRIVATE KEY"))
        server.tool.signal(SIGTERM)
        #expect(await server.tool.end(within: 6) == 0)
        await apple.stop()
    }

    @Test("settings of push that cannot be used end it at once: 78, and what to do")
    func refused() async throws {
        let folder = try Folder()
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

    private func until(_ condition: () -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(20)
        while !condition() {
            try #require(ContinuousClock.now < deadline, "it was not pushed")
            try await Task.sleep(for: .milliseconds(10))
        }
    }
}
