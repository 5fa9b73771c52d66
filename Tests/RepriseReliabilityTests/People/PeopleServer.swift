import Foundation
import Logging
import RepriseCore
import RepriseServer
import RepriseTesting
import RepriseWire
import ServiceLifecycle
import Synchronization

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The real server that asks for tokens, on a free port and over real files, for the time of one
/// test.
final class PeopleServer: Sendable {
    private let folder: TemporaryFolder
    let data: String
    private let issuer: Mutex<TokenIssuer>
    private let server = Mutex<Server?>(nil)
    private let group = Mutex<(ServiceGroup, Task<Void, any Error>)?>(nil)
    private let listening = Mutex<Int>(0)
    let wall = SystemTimekeeper()
    private let presence: Bool

    private init(_ folder: TemporaryFolder, _ issuer: TokenIssuer, presence: Bool) {
        self.presence = presence
        self.folder = folder
        self.issuer = Mutex(issuer)
        data = folder.appending("data").path
    }

    static func with(
        restart: Bool = false, presence: Bool = false, _ body: (PeopleServer) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        let key = try await newKey(in: folder)
        let people = PeopleServer(folder, key, presence: presence)
        try await people.start()
        do { try await body(people) } catch {
            try? await people.stop()
            throw error
        }
        try await people.stop()
    }

    var port: Int { listening.withLock(\.self) }
    var url: String { "http://127.0.0.1:\(port)" }

    /// Starts it, after a stop on the same port, over the data folder as it is then.
    func start(isRestored: Bool = false) async throws {
        var limits = NetworkServer.shortLimits
        limits.heartbeat = .milliseconds(300)
        limits.idle = .seconds(20)
        limits.pingAfter = .seconds(10)
        var configuration = ServerConfiguration(port: port, data: data, limits: limits)
        configuration.access = .tokens(.file(folder.appending("key").path))
        configuration.tokenLeeway = .zero
        configuration.isRestored = isRestored
        configuration.presence = presence
        let logger = Logger(label: "people") { _ in SwiftLogNoOpLogHandler() }
        let (ready, isReady) = AsyncStream<Int>.makeStream()
        let server = Server(configuration: configuration, logger: logger) {
            isReady.yield($0.port)
        }
        let services = ServiceGroup(services: [server], logger: logger)
        let running = Task {
            defer { isReady.finish() }
            try await services.run()
        }
        var ports = ready.makeAsyncIterator()
        guard let port = await ports.next() else {
            try await running.value
            throw RepriseError(.unavailable, "The server has not started.")
        }
        listening.withLock { $0 = port }
        self.server.withLock { $0 = server }
        group.withLock { $0 = (services, running) }
    }

    func stop() async throws {
        guard let (services, running) = group.withLock(\.self) else { return }
        group.withLock { $0 = nil }
        await services.triggerGracefulShutdown()
        try await running.value
    }

    // MARK: Keys and tokens

    private static func newKey(in folder: TemporaryFolder) async throws -> TokenIssuer {
        let secret = (0..<32).map { _ in UInt8.random(in: 0...255) }
        try Data(Data(secret).base64EncodedString().utf8).write(to: folder.appending("key"))
        return try TokenIssuer(key: await SigningKey(secret: secret))
    }

    /// Another key takes the place of the one: tokens of the former count no more.
    func rotateKeys() async throws {
        let fresh = try await Self.newKey(in: folder)
        issuer.withLock { $0 = fresh }
        await server.withLock(\.self)?.reload()
    }

    func token(
        for user: UserID, isAdmin: Bool = false, lifetime: Duration = .seconds(600)
    ) throws -> AccessToken {
        try issuer.withLock(\.self).token(
            for: user, isAdmin: isAdmin, now: wall.wall(), lifetime: lifetime)
    }

    // MARK: HTTP, as an admin

    @discardableResult
    func call(_ method: String, _ path: String, _ json: String? = nil, as user: UserID? = nil)
        async throws -> [String: Any]
    {
        guard let url = URL(string: url + path) else { return [:] }
        var request = URLRequest(url: url)
        request.httpMethod = method
        let token = try token(for: user ?? UserID(unchecked: "root"), isAdmin: user == nil)
        request.setValue("Bearer \(token.secret)", forHTTPHeaderField: "Authorization")
        if let json {
            request.httpBody = Data(json.utf8)
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        }
        let (body, response) = try await URLSession.shared.data(for: request)
        let status = (response as? HTTPURLResponse)?.statusCode ?? 0
        guard status / 100 == 2 else {
            throw RepriseError(
                .refused, "\(method) \(path): \(status) \(String(decoding: body, as: UTF8.self))")
        }
        return (try? JSONSerialization.jsonObject(with: body)) as? [String: Any] ?? [:]
    }

    func make(_ channel: String, history: String = "all") async throws {
        try await call(
            "PUT", "/v1/channels/\(channel)",
            #"{"visibility":"private","history":"\#(history)"}"#)
    }

    func add(_ user: UserID, to channel: String, role: String = "member") async throws {
        try await call(
            "PUT", "/v1/channels/\(channel)/members/\(user)", #"{"role":"\#(role)"}"#)
    }

    func remove(_ user: UserID, from channel: String) async throws {
        try await call("DELETE", "/v1/channels/\(channel)/members/\(user)")
    }
}
