import Crypto
import Foundation
import RepriseChains
import RepriseCore
import RepriseNIO
import RepriseTesting
import Synchronization

/// What the engine is to a worker: keeps its position, counts its attempts, and can die at a
/// checkpoint.
final class WorkBench: Sendable {
    /// The process died here, as far as the worker knows.
    struct Killed: Error {}

    struct State: Sendable {
        var saved: [UInt8]?
        var checkpoints = 0
        var attempts = 0
        var progress: [Double] = []
        var log: [String] = []
        /// The checkpoint after which the worker goes no further.
        var killedAfter: Int?
    }

    let folder: TemporaryFolder
    private let state = Mutex(State())

    init() throws { folder = try TemporaryFolder() }

    var sandbox: Sandbox { Sandbox(["home": folder.url]) }
    var seen: State { state.withLock { $0 } }

    func standard(
        allowing host: String = "", transfers: (any TransferService)? = nil,
        transport: any HTTPTransport = NIOTransport(), credentials: Credentials? = nil
    ) -> StandardWorkers {
        StandardWorkers(
            sandbox: sandbox, transport: transport, guard: AddressGuard(allowed: [host]),
            transfers: transfers, credentials: credentials)
    }

    /// Has a worker do one attempt at the bench's one task.
    func run<Work: Worker>(
        _ type: Work.Type, _ input: Work.Input, of workers: StandardWorkers,
        killedAfter: Int? = nil
    ) async throws -> Work.Output {
        guard let worker = workers.all.compactMap({ $0 as? Work }).first else { throw Killed() }
        let (attempt, saved) = state.withLock { state in
            state.attempts += 1
            state.killedAfter = killedAfter.map { $0 + state.checkpoints }
            return (state.attempts, state.saved)
        }
        let hooks = WorkContext.Hooks(
            progress: { share, _ in self.state.withLock { $0.progress.append(share) } },
            checkpoint: { json in
                try self.state.withLock { state in
                    state.saved = json
                    state.checkpoints += 1
                    if state.checkpoints == state.killedAfter { throw Killed() }
                }
            },
            log: { line in self.state.withLock { $0.log.append(line) } })
        let work = WorkContext(key: "key-1", attempt: attempt, saved: saved, hooks: hooks)
        return try await worker.run(input, work)
    }

    /// The same, for one that must fail.
    func failure<Work: Worker>(
        _ type: Work.Type, _ input: Work.Input, of workers: StandardWorkers,
        killedAfter: Int? = nil
    ) async -> (any Error)? {
        do {
            _ = try await run(type, input, of: workers, killedAfter: killedAfter)
            return nil
        } catch { return error }
    }

    /// Restarts the device: its volume has another number than the kept position says, if that says
    /// one as earlier versions did.
    func restartDevice() throws {
        try state.withLock { state in
            guard let saved = state.saved else { return }
            let kept = try JSONSerialization.jsonObject(with: Data(saved))
            let moved = try JSONSerialization.data(withJSONObject: Self.onAnotherVolume(kept))
            state.saved = Array(moved)
        }
    }

    private static func onAnotherVolume(_ json: Any) -> Any {
        guard let object = json as? [String: Any] else { return json }
        var moved = object.mapValues(onAnotherVolume)
        // What is known of a file has its number.
        if object["number"] != nil { moved["device"] = -1 }
        return moved
    }

    func write(_ name: String, _ bytes: [UInt8]) throws {
        try Data(bytes).write(to: folder.appending(name))
    }

    func read(_ name: String) -> [UInt8]? {
        (try? Data(contentsOf: folder.appending(name))).map { Array($0) }
    }

    /// All names in the folder, or in one below it.
    func names(in path: String) -> [String] {
        let place = folder.appending(path).path
        return ((try? FileManager.default.contentsOfDirectory(atPath: place)) ?? []).sorted()
    }

    var names: [String] { names(in: "") }

    func hasParts() -> Bool { names.contains { $0.hasSuffix(".part") } }
}

extension Error {
    /// The code that a permanent failure begins with; nil: it is tried again.
    var permanentCode: String? {
        guard let failure = self as? DispatchFailure, failure.advice == .permanent else {
            return nil
        }
        return failure.reason.split(separator: ":").first.map(String.init)
    }

    var errorCode: RepriseError.Code? { (self as? RepriseError)?.code }
}

/// Bytes that are nowhere the same.
func content(_ count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
        var state: UInt64 = 88_172_645_463_325_252
        for index in 0..<count {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            buffer[index] = UInt8(truncatingIfNeeded: state)
        }
        filled = count
    }
}

func sha256(_ bytes: [UInt8]) -> String {
    SHA256.hash(data: bytes).map { String(format: "%02x", $0) }.joined()
}

/// Answers without a network.
struct FakeTransport: HTTPTransport {
    let answer: @Sendable (HTTPCall) async throws -> (HTTPHead, [UInt8])

    func exchange(
        _ request: HTTPCall, head: @Sendable (HTTPHead) async throws -> Void,
        chunk: @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        let (answer, body) = try await answer(request)
        try await head(answer)
        if !body.isEmpty { try await chunk(body) }
    }
}
