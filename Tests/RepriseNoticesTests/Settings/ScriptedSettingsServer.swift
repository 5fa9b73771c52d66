import Foundation
import Reprise
import RepriseChannels
import RepriseCore
import RepriseJournal
import RepriseNotices
import RepriseTesting
import RepriseWire
import Synchronization

/// A server of settings that answers as a test says, and writes down what it was told.
final class ScriptedSettingsServer: HTTPTransport {
    struct Call: Hashable, Sendable {
        var method: String
        var path: String
        var body: String
        var token: String?
    }

    typealias Said = (status: Int, headers: [String: String], body: String)
    typealias Answer = @Sendable (Call) -> Said?

    private struct State {
        var isOnline = true
        var isSilent = false
        var calls: [Call] = []
        var patiences: [Duration] = []
        var answer: Answer = { _ in nil }
        var mutes = "[]"
    }

    private let state = Mutex(State())

    var isOnline: Bool {
        get { state.withLock { $0.isOnline } }
        set { state.withLock { $0.isOnline = newValue } }
    }
    /// Whether it never answers.
    var isSilent: Bool {
        get { state.withLock { $0.isSilent } }
        set { state.withLock { $0.isSilent = newValue } }
    }
    /// As `GET /v1/mutes` has it.
    var mutes: String {
        get { state.withLock { $0.mutes } }
        set { state.withLock { $0.mutes = newValue } }
    }
    func answers(_ answer: @escaping Answer) { state.withLock { $0.answer = answer } }

    /// What it was told, without what it was asked.
    var told: [Call] { state.withLock { $0.calls.filter { $0.method != "GET" } } }
    var calls: [Call] { state.withLock { $0.calls } }
    /// How long each was to wait for an answer.
    var patiences: [Duration] { state.withLock { $0.patiences } }

    func exchange(
        _ request: HTTPCall, head: @Sendable (HTTPHead) async throws -> Void,
        chunk: @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        var body = ""
        if case .bytes(let bytes) = request.body { body = String(decoding: bytes, as: UTF8.self) }
        let call = Call(
            method: request.method, path: String(request.url.trimmingPrefix("http://127.0.0.1:1")),
            body: body, token: request.headers["authorization"])
        let (isOnline, answer, mutes) = state.withLock { state in
            state.calls.append(call)
            state.patiences.append(request.timeout)
            return (state.isOnline, state.answer, state.mutes)
        }
        if isSilent { try await Task.sleep(for: .seconds(3_600)) }
        guard isOnline else { throw RepriseError(.unreachable, "Nothing answers.") }
        let said = answer(call) ?? Self.usual(call, mutes)
        try await head(HTTPHead(status: said.status, headers: said.headers))
        if !said.body.isEmpty { try await chunk(Array(said.body.utf8)) }
    }

    private static func usual(_ call: Call, _ mutes: String) -> Said {
        switch (call.method, call.path) {
        case ("GET", "/v1/mutes"): (200, [:], #"{"mutes":\#(mutes)}"#)
        case ("GET", "/v1/quiet-hours"): (200, [:], #"{"quietHours":[]}"#)
        case ("GET", _): (200, [:], #"{"devices":[]}"#)
        case ("DELETE", _): (204, [:], "")
        default: (200, [:], "{}")
        }
    }
}

/// A client whose settings go to a server, and nothing else.
struct SettingsFixture: Sendable {
    let reprise: AccountClient
    let notices: Notices
    let server: ScriptedSettingsServer

    static func play(
        _ server: ScriptedSettingsServer = ScriptedSettingsServer(),
        in folder: TemporaryFolder? = nil,
        identity: Identity? = nil, runs: Bool = true, timekeeper: (any Timekeeper)? = nil,
        _ body: (SettingsFixture) async throws -> Void
    ) async throws {
        let folder = try folder ?? TemporaryFolder()
        var configuration = AccountClient.Configuration()
        configuration.notices = Notices.Configuration()
        configuration.notices?.transport = server
        if let timekeeper { configuration.notices?.timekeeper = timekeeper }
        let reprise = try await AccountClient.open(
            at: folder.url, server: "http://127.0.0.1:1", dialer: MemoryDialer(),
            identity: identity, configuration: configuration)
        guard let notices = reprise.notices else { return }
        let running = runs ? Task { try await reprise.run() } : nil
        do {
            try await body(SettingsFixture(reprise: reprise, notices: notices, server: server))
        } catch {
            running?.cancel()
            _ = await running?.result
            await reprise.close()
            throw error
        }
        running?.cancel()
        _ = await running?.result
        await reprise.close()
    }

    /// A connection to the server came to be.
    func connects() {
        notices.connectionChanged(isOpen: false)
        notices.connectionChanged(isOpen: true)
    }
}
