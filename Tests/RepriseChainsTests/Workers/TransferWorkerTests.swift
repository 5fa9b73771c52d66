import Foundation
import RepriseChains
import RepriseCore
import RepriseTestSupport
import RepriseTesting
import Synchronization
import Testing

@Suite("Transfers of the system", .timeLimit(.minutes(1)))
struct TransferWorkerTests {
    /// The system, which outlives the app.
    private final class SystemTransfers: TransferService {
        struct State {
            var known: [String: Transfer] = [:]
            var started: [TransferRequest] = []
            var listeners: [AsyncStream<Transfer>.Continuation] = []
            var forgotten = 0
            var whenStarted: (@Sendable (String) -> Void)?
        }

        let state = Mutex(State())

        func start(_ request: TransferRequest) async throws {
            let hook = state.withLock { state in
                guard state.known[request.id] == nil else {
                    return (@Sendable (String) -> Void)?.none
                }
                state.known[request.id] = Transfer(id: request.id, state: .running)
                state.started.append(request)
                return state.whenStarted
            }
            hook?(request.id)
        }

        func transfers() async throws -> [Transfer] { state.withLock { Array($0.known.values) } }
        func cancel(_ id: String) async throws { change(id, .cancelled) }

        func forget(_ id: String) async throws {
            state.withLock { state in
                state.known[id] = nil
                state.forgotten += 1
            }
        }

        var changes: AsyncStream<Transfer> {
            let (stream, continuation) = AsyncStream.makeStream(
                of: Transfer.self, bufferingPolicy: .bufferingNewest(8))
            state.withLock { $0.listeners.append(continuation) }
            return stream
        }

        func change(_ id: String, _ now: Transfer.State) {
            let transfer = Transfer(id: id, state: now, bytes: 5)
            let listeners = state.withLock { state in
                state.known[id] = transfer
                return state.listeners
            }
            for listener in listeners { listener.yield(transfer) }
        }
    }

    private static let place = SandboxPath("home", "got")
    private let bench: WorkBench
    private let system = SystemTransfers()
    private let came: TemporaryFolder

    init() throws {
        bench = try WorkBench()
        came = try TemporaryFolder()
        try Data("bytes".utf8).write(to: came.appending("tmp-1"))
    }

    private var workers: StandardWorkers {
        bench.standard(allowing: "127.0.0.1:80", transfers: system)
    }

    private func input(sha256: String? = nil) -> TransferWorker.Input {
        .init(.download(to: Self.place), url: "http://127.0.0.1/film", sha256: sha256)
    }

    private func finishing(_ status: Int = 200) -> Transfer.State {
        .finished(HTTPHead(status: status, headers: [:]), file: came.appending("tmp-1"))
    }

    @Test(
        "are started once, waited for, taken over and forgotten; also one that the system went on with in the middle",
        arguments: [200, 206])
    func areTakenOver(status: Int) async throws {
        let (system, state) = (system, finishing(status))
        system.state.withLock { $0.whenStarted = { system.change($0, state) } }
        let input = input(sha256: sha256(Array("bytes".utf8)))
        let output = try await bench.run(TransferWorker.self, input, of: workers)
        #expect(output.status == status)
        #expect(output.bytes == 5)
        #expect(bench.read("got") == Array("bytes".utf8))
        let (started, known) = system.state.withLock { ($0.started, $0.known) }
        #expect(started.count == 1)
        #expect(started.first?.headers["Idempotency-Key"] == "key-1")
        #expect(known.isEmpty)
    }

    @Test("are started with fresh credentials for their server, which the journal has not")
    func credentials() async throws {
        let system = system
        for token in ["first", "second"] {
            let workers = bench.standard(
                allowing: "127.0.0.1:80", transfers: system,
                credentials: { ["Authorization": "\(token) \($0)"] })
            system.state.withLock { state in
                state.whenStarted = { system.change($0, .failed("cut off")) }
            }
            let error = await bench.failure(TransferWorker.self, input(), of: workers)
            #expect(error?.errorCode == .unreachable)
            #expect(
                system.state.withLock { $0.started.last?.headers["Authorization"] }
                    == "\(token) http://127.0.0.1")
        }
        #expect(system.state.withLock { $0.started.count } == 2)
    }

    @Test("with a header that cannot be sent are not started")
    func badHeader() async throws {
        let input = TransferWorker.Input(
            .download(to: Self.place), url: "http://127.0.0.1/film", headers: ["Host": "other"])
        let error = await bench.failure(TransferWorker.self, input, of: workers)
        #expect(error?.permanentCode == "badConfiguration")
        #expect(system.state.withLock { $0.started.isEmpty })
    }

    @Test("that end while the app is dead are found by their name, and not started again")
    func areFound() async throws {
        let system = system
        let (stream, began) = AsyncStream.makeStream(of: String.self, bufferingPolicy: .unbounded)
        system.state.withLock { $0.whenStarted = { began.yield($0) } }
        let (bench, workers, input) = (bench, workers, input())
        let app = Task { try await bench.run(TransferWorker.self, input, of: workers) }
        var iterator = stream.makeAsyncIterator()
        let id = try #require(await iterator.next())
        app.cancel()
        await #expect(throws: CancellationError.self) { try await app.value }
        system.change(id, finishing())
        let output = try await bench.run(TransferWorker.self, input, of: workers)
        #expect(output.bytes == 5)
        #expect(system.state.withLock { $0.started.count } == 1)
    }

    @Test("that were cancelled before, as by a force-quit, are started anew in the same attempt")
    func cancelledBefore() async throws {
        let (bench, input, transfers) = (bench, input(), try MemoryTransfers())
        let workers = bench.standard(allowing: "127.0.0.1:80", transfers: transfers)
        let app = Task { try await bench.run(TransferWorker.self, input, of: workers) }
        try await waitUntil("it is started") { transfers.requests.count == 1 }
        app.cancel()
        await #expect(throws: CancellationError.self) { try await app.value }
        transfers.forceQuit()
        let again = Task { try await bench.run(TransferWorker.self, input, of: workers) }
        try await waitUntil("another is started") { transfers.requests.count == 2 }
        try transfers.finish(transfers.requests[1].id, body: Array("bytes".utf8))
        #expect(try await again.value.bytes == 5)
        #expect(try await transfers.transfers().isEmpty)
    }

    @Test("that are given up while they run leave nothing, and a retry starts another")
    func givenUpWhileTheyRun() async throws {
        let (bench, input, transfers) = (bench, input(), try MemoryTransfers())
        let workers = bench.standard(allowing: "127.0.0.1:80", transfers: transfers)
        let worker = try #require(workers.all.compactMap { $0 as? TransferWorker }.first)
        let app = Task { try await bench.run(TransferWorker.self, input, of: workers) }
        try await waitUntil("it is started") { transfers.requests.count == 1 }
        app.cancel()
        await #expect(throws: CancellationError.self) { try await app.value }
        await worker.onAbandon(input, key: "key-1")
        #expect(try await transfers.transfers().isEmpty)
        let again = Task { try await bench.run(TransferWorker.self, input, of: workers) }
        try await waitUntil("another is started") { transfers.requests.count == 2 }
        try transfers.finish(transfers.requests[1].id, body: Array("bytes".utf8))
        #expect(try await again.value.bytes == 5)
        #expect(try await transfers.transfers().isEmpty)
    }

    @Test(
        "whose end is not reported are looked at every 15 seconds", .limit("workers.transferLook"))
    func areLookedAt() async throws {
        let (bench, system, input, time) = (bench, system, input(), ManualClock())
        let workers = StandardWorkers(
            sandbox: bench.sandbox, transport: nil, guard: AddressGuard(allowed: ["127.0.0.1:80"]),
            transfers: system, credentials: nil, clock: time)
        let app = Task { try await bench.run(TransferWorker.self, input, of: workers) }
        for _ in 0..<3 {
            let due = time.uptime() + .seconds(15)
            while time.sleepers != [due] { await Task.yield() }
            time.advance(by: .seconds(14))
            #expect(time.sleepers == [due])
            time.advance(by: .seconds(1))
        }
        let end = finishing()
        system.state.withLock { state in
            for id in state.known.keys { state.known[id] = Transfer(id: id, state: end, bytes: 5) }
        }
        while time.sleepers.isEmpty, bench.read("got") == nil { await Task.yield() }
        time.advance(by: .seconds(15))
        #expect(try await app.value.bytes == 5)
    }

    @Test("killed at each checkpoint are taken over once", arguments: [1, 2])
    func surviveKills(_ death: Int) async throws {
        let (system, state) = (system, finishing())
        system.state.withLock { $0.whenStarted = { system.change($0, state) } }
        let killed = await bench.failure(
            TransferWorker.self, input(), of: workers, killedAfter: death)
        #expect(killed is WorkBench.Killed)
        for _ in 0..<2 {
            let output = try await bench.run(TransferWorker.self, input(), of: workers)
            #expect(output.sha256 == sha256(Array("bytes".utf8)))
        }
        #expect(bench.read("got") == Array("bytes".utf8))
        #expect(bench.names == ["got"])
        #expect(system.state.withLock { $0.started.count } == 1)
        #expect(system.state.withLock { $0.known.isEmpty })
    }

    @Test("that fail, are cancelled or bring the wrong bytes are forgotten and tried again")
    func areTriedAgain() async throws {
        let system = system
        for (state, code) in [
            (.failed("no network"), .unreachable), (.cancelled, .unreachable),
            (finishing(503), .unavailable), (finishing(), .checksumMismatch),
        ] as [(Transfer.State, RepriseError.Code)] {
            system.state.withLock { $0.whenStarted = { system.change($0, state) } }
            let error = await bench.failure(
                TransferWorker.self, input(sha256: sha256([])), of: workers)
            #expect(error?.errorCode == code)
            #expect(system.state.withLock { $0.known.isEmpty })
            #expect(bench.names.isEmpty)
        }
        #expect(system.state.withLock { $0.started.count } == 4)
    }

    @Test("are dropped when their task is given up, and a half-copied file is removed")
    func areGivenUp() async throws {
        let (system, state) = (system, finishing())
        system.state.withLock { $0.whenStarted = { system.change($0, state) } }
        // Killed when the file is whole and has not got its place.
        _ = await bench.failure(TransferWorker.self, input(), of: workers, killedAfter: 1)
        #expect(bench.hasParts())
        let worker = try #require(workers.all.compactMap { $0 as? TransferWorker }.first)
        await worker.onAbandon(input(), key: "key-1")
        #expect(bench.names.isEmpty)
        #expect(system.state.withLock { $0.known.isEmpty })
    }

    @Test("to an address that the app must not reach are not started")
    func areChecked() async throws {
        let error = await bench.failure(
            TransferWorker.self, .init(.download(to: Self.place), url: "http://127.0.0.1:81/"),
            of: workers)
        #expect(error?.permanentCode == "addressRefused")
        #expect(system.state.withLock { $0.started.isEmpty })
    }

    @Test("upload a file of the sandbox, once")
    func upload() async throws {
        try bench.write("film", [1, 2, 3])
        let system = system
        system.state.withLock {
            $0.whenStarted = {
                system.change($0, .finished(HTTPHead(status: 201, headers: [:]), file: nil))
            }
        }
        let input = TransferWorker.Input(
            .upload(SandboxPath("home", "film")), url: "http://127.0.0.1/up")
        let killed = await bench.failure(
            TransferWorker.self, input, of: workers, killedAfter: 2)
        #expect(killed is WorkBench.Killed)
        for _ in 0..<2 {
            #expect(try await bench.run(TransferWorker.self, input, of: workers).status == 201)
        }
        let started = system.state.withLock { $0.started }
        #expect(started.map(\.method) == ["PUT"])
        #expect(started.first?.direction == .upload(file: bench.folder.appending("film")))
    }
}
