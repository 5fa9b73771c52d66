import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire

/// The routes over a log of their own, without a socket.
struct APIUnderTest: Sendable {
    let client: any TestClientProtocol
    let log: any MessageLog
    let committer: Committer
    let accounts: Accounts

    func get(_ path: String) async throws -> TestResponse {
        try await client.executeRequest(uri: path, method: .get, headers: [:], body: nil)
    }

    func post(
        _ path: String, _ headers: HTTPFields, _ body: String
    ) async throws -> TestResponse {
        try await send(.post, path, headers, Array(body.utf8))
    }

    func send(
        _ method: HTTPRequest.Method, _ path: String, _ headers: HTTPFields, _ body: [UInt8]
    ) async throws -> TestResponse {
        try await client.executeRequest(
            uri: path, method: method, headers: headers, body: ByteBuffer(bytes: body))
    }
}

/// Runs `test` on routes over SQLite, or over `log`.
func withAPI(
    _ limits: HTTPLimits = HTTPLimits(), queue: Committer.Limits = Committer.Limits(),
    log given: (any MessageLog)? = nil, over framework: TestingSetup = .router,
    implicitChannels: Bool = true,
    services configure: (inout HTTPServices) -> Void = { _ in },
    _ test: @escaping @Sendable (APIUnderTest) async throws -> Void
) async throws {
    let folder = try TemporaryFolder()
    let log = try given ?? SQLiteMessageLog.open(at: folder.path)
    let committer = Committer(log: log, limits: queue) { _ in }
    let running = Task { await committer.run() }
    let router = Router()
    let accounts = try Accounts.open(
        at: folder.path, implicitChannels: implicitChannels, heads: { try log.head(of: $0) })
    var services = HTTPServices(log: log, committer: committer, accounts: accounts)
    configure(&services)
    HTTPRoutes(services, limits: limits).add(to: router)
    router.refuseOtherMethods()
    let application = Application(
        router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)))
    let outcome = await Result {
        try await application.test(framework) { client in
            try await test(
                APIUnderTest(client: client, log: log, committer: committer, accounts: accounts))
        }
    }
    committer.shutdown()
    await running.value
    await accounts.close()
    await log.close()
    folder.remove()
    try outcome.get()
}

extension Result where Failure == any Error {
    init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}

extension TestResponse {
    var text: String { String(buffer: body) }

    var object: [String: Any]? {
        try? JSONSerialization.jsonObject(with: Data(body.readableBytesView)) as? [String: Any]
    }

    var errorCode: String? { error?["code"] as? String }
    var errorMessage: String? { error?["message"] as? String }
    private var error: [String: Any]? { object?["error"] as? [String: Any] }
}
