import Foundation
import RepriseCommandLine
import RepriseCore
import RepriseFakes
import RepriseNIO
import RepriseWire

/// The server as a process of its own, and the stand-in for Apple, which delivers accepted pushes.
actor NoticesServer {
    static let topic = "org.example.chat"

    nonisolated let apns: FakeAPNs
    private let folder: URL
    private let apple: FakePushServer
    private let certificate: FakePushServer.Certificate
    private var process: DemoProcess?
    private var starts = 0
    private(set) var url = ""

    /// Starts both.
    ///
    /// - Parameters:
    ///   - folder: the server's data.
    ///   - taken: called with each push that Apple's stand-in has accepted.
    /// - Throws: ``CommandFailure``; what writing a file throws.
    init(in folder: URL, taken: @escaping @Sendable (FakeRequest) -> Void) async throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        self.folder = folder
        let apns = FakeAPNs(topic: Self.topic)
        self.apns = apns
        certificate = try .make(in: folder)
        apple = try await FakePushServer.start(certificate) { request in
            let answer = apns.answer(request)
            if case .status(200, _, _) = answer { taken(request) }
            return answer
        }
        let key = apns.makeKey("KEY0000001", team: "TEAM000001")
        try Data(key.utf8).write(to: folder.appendingPathComponent("AuthKey.p8"))
        try await start()
    }

    /// Sets both up, calls `body` with them, and ends them.
    static func with<T: Sendable>(
        _ folder: URL, taken: @escaping @Sendable (FakeRequest) -> Void,
        _ body: (NoticesServer) async throws -> T
    ) async throws -> T {
        let server = try await NoticesServer(in: folder, taken: taken)
        do {
            let result = try await body(server)
            await server.end()
            return result
        } catch {
            await server.end()
            throw error
        }
    }

    /// Starts the server, at the second time on the same port and data; returns when it is ready.
    func start() async throws {
        starts += 1
        let port = url.split(separator: ":").last.map(String.init) ?? "0"
        let child = try DemoProcess(
            .reprise,
            [
                "serve", "--dev", "--port", port, "--json", "--until-input-ends",
                "--data", folder.appendingPathComponent("data").path,
                "--apns-key", folder.appendingPathComponent("AuthKey.p8").path,
                "--apns-key-id", "KEY0000001", "--apns-team", "TEAM000001",
                "--apns-topic", Self.topic, "--apns-environment", apple.url,
                "--apns-ca", certificate.certificate,
            ], log: folder.appendingPathComponent("\(starts).log"))
        process = child
        url = try await child.url()
    }

    /// SIGKILL.
    func kill() async {
        await process?.kill()
        process = nil
    }

    /// Apple's service ends each connection, or answers again.
    nonisolated func setDown(_ isDown: Bool) {
        if isDown {
            apns.script { _, _ in .cut }
            apple.cutAll()
        } else {
            apns.script(nil)
        }
    }

    func end() async {
        await process?.terminate()
        await apple.stop()
    }
}

/// An HTTP client of the server: the sender, and the person at another device.
struct NoticesCaller: Sendable {
    let server: String
    let token: AccessToken

    static func make(_ user: String, at server: String) async throws -> NoticesCaller {
        guard let token = try await DevToken.fetch(server: server, user: try UserID(user)) else {
            throw CommandFailure(.internal, "The server gives no tokens.")
        }
        return NoticesCaller(server: server, token: token)
    }

    @discardableResult
    func send(_ method: String, _ path: [String], _ body: String? = nil) async throws
        -> HTTPMembers?
    {
        try await ServerAPI(server: server, caller: Caller(server: server, source: .token(token)))
            .send(method, ["v1"] + path, body: body.map { Array($0.utf8) })
    }

    /// Returns when it is stored.
    func publish(_ id: String, _ text: String, to channel: String) async throws -> Int64 {
        let answer = try await send(
            "POST", ["channels", channel, "messages"],
            #"{"id":"\#(id)","body":{"text":"\#(text)"}}"#)
        guard let seq = answer?.integer("seq") else {
            throw CommandFailure(
                .internal, "The server has not said where it has stored a message.")
        }
        return seq
    }

    func read(_ channel: String, through seq: Int64) async throws {
        try await send("PUT", ["channels", channel, "positions"], #"{"read":\#(seq)}"#)
    }

    /// The user's read state.
    func standing(in channel: String) async throws -> NoticesStatus {
        let answer = try await send("GET", ["channels", channel, "positions"])
        let mine = try answer?.list("positions").first.map { try HTTPMembers($0) }
        return NoticesStatus(
            read: mine?.integer("read") ?? 0, unread: answer?.integer("unread") ?? 0,
            head: answer?.integer("head") ?? 0)
    }
}

/// A person's read position in a conversation, by the server.
struct NoticesStatus: Hashable, Sendable {
    var read: Int64 = 0
    var unread: Int64 = 0
    var head: Int64 = 0
}
