import RepriseApple
import RepriseCore
import RepriseTestSupport
import RepriseTesting
import Synchronization
import Testing

@Suite("Calls that wait for the system", .timeLimit(.minutes(1)))
struct PendingCallsTests {
    private let calls = PendingCalls()

    private final class Scene: Sendable {
        private let state = Mutex((looks: 0, window: String?.none))

        var looks: Int { state.withLock { $0.looks } }

        var keyWindow: String? {
            get {
                state.withLock { state in
                    state.looks += 1
                    return state.window
                }
            }
            set { state.withLock { $0.window = newValue } }
        }
    }

    @Test("The first of two answers counts, and the end comes too late for it")
    func first() async throws {
        let answer = try await calls.wait { (call: Race<Int>) in
            call.end(.success(1))
            call.end(.failure(SocketFailure("again")))
            calls.end(SocketFailure("over"))
        }
        #expect(answer == 1)
    }

    @Test("The end ends each call that the system leaves unanswered")
    func unanswered() async {
        let reasons = await withTaskGroup(of: String?.self) { group in
            for _ in 0..<3 {
                group.addTask { [calls] in
                    do {
                        return try await calls.wait { (_: Race<String>) in }
                    } catch {
                        return (error as? SocketFailure)?.reason
                    }
                }
            }
            calls.end(SocketFailure("over"))
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(reasons == ["over", "over", "over"])
    }

    @Test("A window that is not key when its scene becomes active is taken when it becomes key")
    func keyWindow() async throws {
        let (events, event) = AsyncStream.makeStream(
            of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let scene = Scene()
        try await withThrowingTaskGroup(of: String.self) { group in
            group.addTask {
                try await EventWait.first(after: (events, event), within: AppleLimits.window) {
                    scene.keyWindow
                }
            }
            try await eventually("it has looked") { scene.looks == 1 }
            event.yield()  // active
            try await eventually("it has looked again") { scene.looks == 2 }
            scene.keyWindow = "window"
            event.yield()  // key
            #expect(try await group.next() == "window")
        }
    }

    @Test("A window that does not come is given up after a minute", .limit("apple.window"))
    func noWindow() async throws {
        #expect(AppleLimits.window == .seconds(60))
        let (events, event) = AsyncStream.makeStream(
            of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let (scene, clock) = (Scene(), ManualClock())
        let waiting = Task {
            try await EventWait.first(
                after: (events, event), within: AppleLimits.window, by: clock
            ) { scene.keyWindow }
        }
        let due = clock.uptime() + .seconds(60)
        try await eventually("the time runs") { clock.sleepers == [due] }
        clock.advance(by: .seconds(60))
        let error = await #expect(throws: RepriseError.self) { try await waiting.value }
        #expect(error?.code == .unavailable)
    }

    @Test("A call after the end is not begun, and has the first reason")
    func late() async {
        calls.end(SocketFailure("first"))
        calls.end(SocketFailure("second"))
        let error = await #expect(throws: SocketFailure.self) {
            try await calls.wait { (_: Race<Void>) in Issue.record("begun") }
        }
        #expect(error?.reason == "first")
    }

    @Test(
        "A call that the system never answers ends at its deadline, and every call behind it",
        .limit("apple.dial"))
    func timeout() async {
        #expect(AppleLimits.dial == .seconds(15))
        let error = await #expect(throws: RepriseError.self) {
            try await calls.wait(within: .milliseconds(20), for: "Opening") { (_: Race<Void>) in }
        }
        #expect(error?.code == .timedOut)
        await #expect(throws: CancellationError.self) {
            try await calls.wait { (_: Race<Void>) in Issue.record("begun") }
        }
    }

    @Test("A cancelled call ends at once, though the system does not answer")
    func cancelled() async {
        let task = Task { [calls] in
            try await calls.wait(within: .seconds(600), for: "Opening") { (_: Race<Void>) in }
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test(
        "A failed connection ends a moment later, with the system's own reason if that comes before",
        .limit("apple.end"))
    func delayed() async {
        #expect(AppleLimits.end == .seconds(1))
        calls.end(SocketFailure("failed"), after: .milliseconds(20))
        let error = await #expect(throws: SocketFailure.self) {
            try await calls.wait { (_: Race<Void>) in }
        }
        #expect(error?.reason == "failed")
        let others = PendingCalls()
        others.end(SocketFailure("failed"), after: .seconds(600))
        let reason = await #expect(throws: SocketFailure.self) {
            try await others.wait { (_: Race<Void>) in others.end(SocketFailure("closed")) }
        }
        #expect(reason?.reason == "closed")
    }
}
