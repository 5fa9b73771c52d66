import RepriseChannels
import RepriseCore
import RepriseTestSupport
import RepriseWire
import Testing

@Suite("Outbox machine")
struct OutboxMachineTests {
    private static let start = WallTime(milliseconds: 1_800_000_000_000)

    private static func entry(_ id: String, attempt: Int = 1, after: String? = nil) throws -> Entry
    {
        Entry(
            id: try EntryID(id), kind: OutboxMachine.kind.name, source: "app",
            payload: Array("1".utf8), partitionKey: "general", recordedAt: start, attempt: attempt,
            state: .dispatched(incarnation: 1), reason: nil,
            predecessor: try after.map { try EntryID($0) })
    }

    private static func connected() -> OutboxMachine {
        var machine = OutboxMachine()
        machine.connected(serverTime: start)
        return machine
    }

    private static func published(_ id: String) throws -> ServerFrame.Published {
        .init(channel: try ChannelName("general"), id: try EntryID(id), seq: 1)
    }

    @Test("sends nothing without a connection, and the entry goes back without a failure")
    func offline() throws {
        var machine = OutboxMachine()
        let error = #expect(throws: DispatchFailure.self) {
            try machine.dispatched(try Self.entry("a"), wall: Self.start, at: .zero)
        }
        #expect(error?.advice == .notReady)
    }

    @Test("an answer settles the message that it names, and no other")
    func answers() throws {
        var machine = Self.connected()
        let (a, b) = (try Self.entry("a"), try Self.entry("b"))
        _ = try machine.dispatched(a, wall: Self.start, at: .zero)
        _ = try machine.dispatched(b, wall: Self.start, at: .zero)
        #expect(machine.published(try Self.published("b")) == b.id)
        #expect(machine.isAnswered(b.id) && !machine.isAnswered(a.id))
        #expect(try machine.ended(b, jitter: 0) == 1)
        #expect(machine.disconnected() == [a.id])
        let error = #expect(throws: RequeueInOrder.self) { _ = try machine.ended(a, jitter: 0) }
        #expect(error != nil)
    }

    @Test("the first answer counts; an answer for a message that is not in flight is ignored")
    func late() throws {
        var machine = Self.connected()
        let a = try Self.entry("a")
        #expect(machine.published(try Self.published("a")) == nil)
        _ = try machine.dispatched(a, wall: Self.start, at: .zero)
        let isFirst = machine.answered(a.id, .timedOut)
        #expect(isFirst)
        #expect(machine.published(try Self.published("a")) == nil)
        #expect(throws: DispatchFailure.self) { _ = try machine.ended(a, jitter: 0) }
    }

    @Test("a refusal for now is obeyed and spread out, one for good ends it")
    func refusals() throws {
        var machine = Self.connected()
        let a = try Self.entry("a")
        for (code, advice): (RefusalCode, DispatchFailure.Advice) in [
            (.rateLimited, .retry(after: .seconds(5) + .milliseconds(500))),
            (.forbidden, .permanent),
        ] {
            _ = try machine.dispatched(a, wall: Self.start, at: .zero)
            let refused = ServerFrame.Refused(
                channel: "general", id: "a", code: code, message: "", retryAfter: .seconds(5))
            #expect(machine.refused(refused) == a.id)
            let error = #expect(throws: DispatchFailure.self) {
                _ = try machine.ended(a, jitter: 0.5)
            }
            #expect(error?.advice == advice)
        }
    }

    @Test("waits an hour at most for what a server asks", .limit("channels.retryAfter"))
    func longRefusal() throws {
        var machine = Self.connected()
        let a = try Self.entry("a")
        _ = try machine.dispatched(a, wall: Self.start, at: .zero)
        _ = machine.refused(
            .init(
                channel: "general", id: "a", code: .overloaded, message: "",
                retryAfter: .seconds(365 * 86_400)))
        let error = #expect(throws: DispatchFailure.self) {
            _ = try machine.ended(a, jitter: 0.5)
        }
        #expect(error?.advice == .retry(after: .seconds(3_600) + .milliseconds(500)))
    }

    @Test(
        "ends a message as too old only if both clocks agree, and only if it was sent before",
        .limit("channels.outboxWindow"))
    func age() throws {
        let month: Duration = .seconds(31 * 86_400)
        for (attempt, server, wall, isSent): (Int, Duration, Duration, Bool) in [
            (2, month, month, false), (1, month, month, true), (2, .zero, month, true),
            (2, month, .zero, true),
        ] {
            var machine = OutboxMachine()
            machine.connected(serverTime: Self.start.advanced(by: server))
            let entry = try Self.entry("a", attempt: attempt)
            let wall = Self.start.advanced(by: wall)
            #expect(((try? machine.dispatched(entry, wall: wall, at: .zero)) != nil) == isSent)
        }
    }

    @Test(
        "each message names the one before it that has not ended, and waits for it if the server says so"
    )
    func predecessor() throws {
        var machine = Self.connected()
        let (a, b) = (try Self.entry("a"), try Self.entry("b", after: "a"))
        var decoder = FrameDecoder()
        for (entry, after) in [(a, nil), (b, a.id)] {
            let bytes = try machine.dispatched(entry, wall: Self.start, at: .zero)
            guard case .publish(let publish) = try decoder.clientFrame(bytes) else {
                Issue.record("not a publish")
                return
            }
            #expect(publish.after == after)
        }
        for entry in [a, b] {
            let refused = ServerFrame.Refused(
                channel: "general", id: entry.id.text, code: .predecessorMissing, message: "")
            #expect(machine.refused(refused) == entry.id)
        }
        #expect(throws: RequeueInOrder.self) { _ = try machine.ended(b, jitter: 0) }
        // One that names nobody is not to be told so again and again without a pause.
        #expect(throws: DispatchFailure.self) { _ = try machine.ended(a, jitter: 0) }
    }

    @Test("a message without an answer in time is returned as late, the first sent first")
    func timeout() throws {
        var machine = Self.connected()
        #expect(machine.due == nil)
        _ = try machine.dispatched(try Self.entry("a"), wall: Self.start, at: .seconds(1))
        _ = try machine.dispatched(try Self.entry("b"), wall: Self.start, at: .seconds(2))
        #expect(machine.due == .seconds(31))
        #expect(machine.timerFired(at: .seconds(31)) == [try EntryID("a")])
        #expect(machine.due == .seconds(32))
    }
}
