import RepriseChannels
import RepriseCore
import RepriseTestSupport
import RepriseWire
import Testing

/// A machine on a connection, and how a test talks to it.
struct ModelDevice {
    static let channel = try? ChannelName("general")
    static let epoch = try? Epoch("e1")

    var machine: SubscriptionMachine
    var now: Duration = .seconds(1_000)
    var stored: [Int64] = []

    init(_ coverage: Coverage = Coverage(), epoch: Epoch? = nil) {
        machine = SubscriptionMachine(epoch: epoch, coverage: coverage)
    }

    mutating func connect() -> [SubscriptionMachine.Action] { machine.connected(at: now) }

    @discardableResult
    mutating func subscribed(
        head: Int64, floor: Int64 = 0, epoch: String = "e1", reset: Bool = false
    ) throws -> [SubscriptionMachine.Action] {
        machine.subscribedReceived(
            .init(
                channel: try ChannelName("general"), epoch: try Epoch(epoch), head: head,
                floor: floor, reset: reset), at: now)
    }

    /// Events that arrive together, then the look at what they add up to.
    @discardableResult
    mutating func events(_ sequences: Int64...) -> [SubscriptionMachine.Action] {
        for seq in sequences {
            if machine.eventReceived(after: seq - 1, seq: seq) == .store { stored.append(seq) }
        }
        return machine.batchRead(at: now, jitter: 0.5)
    }

    @discardableResult
    mutating func syncComplete(through: Int64, epoch: String = "e1") throws
        -> [SubscriptionMachine.Action]
    {
        machine.syncCompleteReceived(
            .init(
                channel: try ChannelName("general"), epoch: try Epoch(epoch), through: through,
                time: WallTime(milliseconds: 0)), at: now, jitter: 0.5)
    }

    @discardableResult
    mutating func commit() -> [SubscriptionMachine.Action] {
        machine.committed(revision: machine.revision, at: now, jitter: 0.5)
    }

    mutating func gone(_ after: Int64, _ through: Int64, _ reason: Gone.Reason) throws
        -> [SubscriptionMachine.Action]
    {
        let range = try #require(SequenceRange(after: after, through: through))
        return machine.goneReceived(Gone(range: range, reason: reason))
    }

    mutating func pass(_ seconds: Int64) -> [SubscriptionMachine.Action] {
        now += .seconds(seconds)
        return machine.timerFired(at: now)
    }

    /// A device that is live and has everything up to `head`.
    static func live(at head: Int64) throws -> ModelDevice {
        var device = ModelDevice(Coverage(through: head), epoch: try Epoch("e1"))
        _ = device.connect()
        try device.subscribed(head: head)
        try device.syncComplete(through: head)
        try #require(device.machine.isLive)
        return device
    }
}

extension [SubscriptionMachine.Action] {
    /// The coverage of the one request among the actions, if there is one.
    var asked: Coverage? {
        for case .subscribe(_, let coverage) in self { return coverage }
        return nil
    }

    var states: [ChannelState] {
        compactMap { if case .enter(let state) = $0 { state } else { nil } }
    }
}

@Suite("Subscription machine")
struct SubscriptionMachineTests {
    @Test("asks with its coverage, and is live once sync_complete and its coverage agree, durably")
    func firstCatchUp() throws {
        var device = ModelDevice()
        #expect(device.connect().asked == Coverage())
        let start = try device.subscribed(head: 3)
        #expect(start.contains(.startEpoch(try Epoch("e1"), missing: nil)))
        #expect(start.states == [.catchingUp(received: 0, total: 3)])
        #expect(device.events(1, 2).states == [.catchingUp(received: 2, total: 3)])
        device.events(3)
        #expect(try device.syncComplete(through: 3).states.isEmpty)
        #expect(!device.machine.isLive)
        #expect(device.commit().states == [.live])
        #expect(device.stored == [1, 2, 3])
    }

    @Test("asks after a restart for the complement of the durable coverage, not from the highest")
    func resume() throws {
        var coverage = Coverage(through: 180)
        coverage.insert(after: 199, through: 200)
        var device = ModelDevice(coverage, epoch: try Epoch("e1"))
        #expect(device.connect().asked == coverage)
    }

    @Test("becomes live by the durable coverage at its sync_complete, although traffic goes on")
    func liveUnderTraffic() throws {
        var device = ModelDevice()
        _ = device.connect()
        try device.subscribed(head: 2)
        device.events(1, 2)
        try device.syncComplete(through: 2)
        let reached = device.machine.revision
        device.events(3, 4)
        #expect(!device.machine.isLive)
        #expect(
            device.machine.committed(revision: reached, at: device.now, jitter: 0).states == [.live]
        )
    }

    @Test("applies live events on the fast path and knows duplicates")
    func live() throws {
        var device = try ModelDevice.live(at: 10)
        #expect(device.events(11, 12).isEmpty)
        #expect(device.machine.coverage == Coverage(through: 12))
        #expect(device.machine.eventReceived(after: 10, seq: 11) == .ignoreDuplicate)
        #expect(device.machine.eventReceived(after: 4, seq: 5) == .ignoreDuplicate)
    }

    @Test("keeps an event beyond the watermark and asks for exactly the hole")
    func hole() throws {
        var device = try ModelDevice.live(at: 180)
        let actions = device.events(200)
        #expect(device.stored == [200])
        let asked = try #require(actions.asked)
        #expect(
            asked.complement(through: 200)
                == [try #require(SequenceRange(after: 180, through: 199))])
        #expect(actions.states == [.repairing(missing: 19)])
        #expect(!device.machine.isLive)
    }

    @Test("asks for nothing when events of one batch are in the wrong order but complete")
    func disorder() throws {
        var device = try ModelDevice.live(at: 10)
        #expect(device.events(13, 11, 12).isEmpty)
        #expect(device.machine.isLive)
    }

    @Test("asks for no repair inside an open catch-up")
    func noRepairInside() throws {
        var device = ModelDevice()
        _ = device.connect()
        try device.subscribed(head: 200)
        #expect(device.events(156, 200, 180).asked == nil)
        #expect(device.machine.heartbeatReceived(head: 500, at: device.now).isEmpty)
    }

    @Test("is not live when sync_complete comes too early: it asks for the missing rest")
    func earlySyncComplete() throws {
        var device = ModelDevice()
        _ = device.connect()
        try device.subscribed(head: 5)
        device.events(1, 2, 5)
        device.commit()
        let actions = try device.syncComplete(through: 5)
        #expect(
            try #require(actions.asked).complement(through: 5)
                == [try #require(SequenceRange(after: 2, through: 4))])
        #expect(!device.machine.isLive)
    }

    @Test("does not spin when the server answers again and again without filling the hole")
    func fruitless() throws {
        var device = try ModelDevice.live(at: 10)
        #expect(device.events(12).asked != nil)
        try device.subscribed(head: 12)
        let first = try device.syncComplete(through: 12)
        #expect(first.asked == nil)
        #expect(first.states == [.stalled(missing: 1)])
        #expect(device.pass(1).asked != nil)
        try device.subscribed(head: 12)
        device.events(11)
        device.commit()
        try device.syncComplete(through: 12)
        #expect(device.machine.isLive)
    }

    @Test("ignores a sync_complete of an earlier catch-up or of another epoch")
    func foreignSyncComplete() throws {
        var device = ModelDevice()
        _ = device.connect()
        try device.subscribed(head: 5)
        device.events(1, 2, 3, 4, 5)
        device.commit()
        #expect(try device.syncComplete(through: 3).isEmpty)
        #expect(try device.syncComplete(through: 5, epoch: "e0").isEmpty)
        #expect(!device.machine.isLive)
        try device.syncComplete(through: 5)
        #expect(device.machine.isLive)
    }

    @Test("is not live when sync_complete names a head that it has not reached")
    func syncCompleteBeyond() throws {
        var device = ModelDevice()
        _ = device.connect()
        try device.subscribed(head: 5)
        device.events(1, 2, 3, 4, 5)
        device.commit()
        try device.syncComplete(through: 9)
        #expect(!device.machine.isLive)
    }

    @Test("takes a heartbeat's greater head for a hole, a smaller one for nothing")
    func heartbeat() throws {
        var device = try ModelDevice.live(at: 10)
        #expect(device.machine.heartbeatReceived(head: 10, at: device.now).isEmpty)
        #expect(device.machine.heartbeatReceived(head: 3, at: device.now).isEmpty)
        let actions = device.machine.heartbeatReceived(head: 12, at: device.now)
        #expect(actions.asked == Coverage(through: 10))
        #expect(actions.states == [.repairing(missing: 2)])
    }

    @Test("goes back to a catch-up when the server demotes it, and misses nothing")
    func demotion() throws {
        var device = try ModelDevice.live(at: 10)
        #expect(try device.subscribed(head: 15).states == [.catchingUp(received: 0, total: 5)])
        device.events(11, 12, 13, 14, 15, 16)
        device.commit()
        #expect(try device.syncComplete(through: 15).states.last == .live)
        #expect(device.machine.coverage == Coverage(through: 16))
    }

    @Test("does not apply an event that would open one range too many, and keeps its coverage")
    func boundOfRanges() throws {
        var device = ModelDevice()
        _ = device.connect()
        try device.subscribed(head: 10_000)
        let bound = Int64(WireLimits.coverageRanges)
        for index in 1...bound { device.events(index * 2) }
        let before = device.machine.coverage
        #expect(device.machine.eventReceived(after: 8_999, seq: 9_000) == .leave)
        #expect(device.machine.coverage == before)
        #expect(device.machine.eventReceived(after: 0, seq: 1) == .store)  // joins what is there
        #expect(device.machine.missing > 0)
    }

    @Test("leaves an event that comes before the server has said which epoch it is in")
    func beforeSubscribed() throws {
        var device = ModelDevice(Coverage(through: 10), epoch: try Epoch("e1"))
        _ = device.connect()
        #expect(device.machine.eventReceived(after: 10, seq: 11) == .leave)
        _ = device.machine.disconnected()
        #expect(device.machine.eventReceived(after: 10, seq: 11) == .leave)
    }
}

@Suite("Subscription machine: time, disk and refusals")
struct SubscriptionMachineRepairTests {
    @Test(
        "asks again after 30 s of silence, reconnects after 60 s without progress, completes by neither",
        .limit("channels.inactivity", "channels.noProgress")
    )
    func silence() throws {
        var device = ModelDevice()
        #expect(device.connect().contains(.scheduleTimer(at: device.now + .seconds(30))))
        try device.subscribed(head: 100)
        device.events(1)
        device.now += .seconds(29)
        #expect(device.pass(0).asked == nil)
        let again = device.pass(1)
        #expect(again.asked == Coverage(through: 1))
        #expect(again.states == [.stalled(missing: 99)])
        let over = device.pass(30)
        #expect(over.contains(.reconnect))
        for _ in 0..<100 {
            _ = device.pass(37)
            #expect(!device.machine.isLive)
        }
    }

    @Test("does not take the server's own answers for progress")
    func answersAreNoProgress() throws {
        var device = ModelDevice()
        _ = device.connect()
        try device.subscribed(head: 5)
        device.now += .seconds(30)
        _ = device.pass(0)
        try device.subscribed(head: 5)
        #expect(device.pass(30).contains(.reconnect))
    }

    @Test("re-arms when its timer fires late, early or after its reason has gone")
    func timers() throws {
        var device = try ModelDevice.live(at: 3)
        #expect(device.pass(500).isEmpty)
        _ = device.events(5)
        #expect(device.pass(1) == [.scheduleTimer(at: device.now + .seconds(29))])
    }

    @Test("waits as long as the server asks it to, then asks again")
    func temporaryRefusal() throws {
        var device = ModelDevice()
        _ = device.connect()
        let refused = ServerFrame.Refused(
            channel: "general", id: nil, code: .overloaded, message: "", retryAfter: .seconds(90))
        _ = device.machine.refusedReceived(refused, at: device.now, jitter: 0.5)
        // The timer of the request is still running; it re-arms.
        #expect(device.pass(30) == [.scheduleTimer(at: device.now + .seconds(60))])
        #expect(device.pass(59).asked == nil)
        #expect(device.pass(1).asked != nil)
    }

    @Test("waits an hour at most for what the server asks", .limit("channels.retryAfter"))
    func longRefusal() throws {
        var device = ModelDevice()
        _ = device.connect()
        let refused = ServerFrame.Refused(
            channel: "general", id: nil, code: .overloaded, message: "",
            retryAfter: .seconds(365 * 86_400))
        _ = device.machine.refusedReceived(refused, at: device.now, jitter: 0.5)
        #expect(device.pass(3_599).asked == nil)
        #expect(device.pass(1).asked != nil)
    }

    @Test("reports a permanent refusal and sends nothing until the next connection")
    func permanentRefusal() throws {
        var device = ModelDevice()
        _ = device.connect()
        let refused = ServerFrame.Refused(
            channel: "general", id: nil, code: .forbidden, message: "Not yours.")
        #expect(
            device.machine.refusedReceived(refused, at: device.now, jitter: 0).states
                == [.refused(.forbidden, message: "Not yours.")])
        #expect(device.pass(1_000).isEmpty)
        _ = device.machine.disconnected()
        #expect(device.connect().asked != nil)
    }

    @Test("asks again for a refused channel when it is subscribed to again, and only then")
    func wantedAgain() throws {
        var device = ModelDevice()
        _ = device.connect()
        #expect(device.machine.wantedAgain(at: device.now).isEmpty)
        let refused = ServerFrame.Refused(
            channel: "general", id: nil, code: .forbidden, message: "Not yours.")
        _ = device.machine.refusedReceived(refused, at: device.now, jitter: 0)
        #expect(device.machine.wantedAgain(at: device.now).asked != nil)
        #expect(device.machine.wantedAgain(at: device.now).isEmpty)
    }

    @Test("goes back to the disk's coverage when a commit fails, and asks for the rest")
    func commitFailed() throws {
        var device = try ModelDevice.live(at: 10)
        device.events(11, 12)
        let actions = device.machine.commitFailed(
            epoch: try Epoch("e1"), coverage: Coverage(through: 10), head: 10, at: device.now)
        #expect(actions.asked == Coverage(through: 10))
        #expect(device.machine.eventReceived(after: 12, seq: 13) == .leave)
        try device.subscribed(head: 13)
        device.events(11, 12, 13)
        device.commit()
        try device.syncComplete(through: 13)
        #expect(device.machine.isLive)
    }

    @Test("empties its coverage in a new epoch and reports the known missing ranges")
    func newEpoch() throws {
        var coverage = Coverage(through: 5)
        coverage.insert(after: 7, through: 9)
        var device = ModelDevice(coverage, epoch: try Epoch("e1"))
        _ = device.connect()
        let actions = try device.subscribed(head: 4, epoch: "e2")
        let hole = try #require(SequenceRange(after: 5, through: 7))
        #expect(actions.contains(.startEpoch(try Epoch("e2"), missing: [hole])))
        #expect(device.machine.coverage.isEmpty)
        device.events(1, 2, 3, 4)
        device.commit()
        try device.syncComplete(through: 4, epoch: "e2")
        #expect(device.machine.isLive)
    }

    @Test("takes a reset for a new epoch, though it has the same name")
    func reset() throws {
        var device = try ModelDevice.live(at: 10)
        let actions = try device.subscribed(head: 4, reset: true)
        #expect(actions.contains(.startEpoch(try Epoch("e1"), missing: [])))
        #expect(device.machine.coverage.isEmpty)
    }

    @Test("records as lost only messages that retention removed and that it did not have")
    func retention() throws {
        var device = ModelDevice(Coverage(through: 3), epoch: try Epoch("e1"))
        _ = device.connect()
        try device.subscribed(head: 10, floor: 8)
        let actions = try device.gone(0, 8, .retention)
        let lost = try #require(SequenceRange(after: 3, through: 8))
        #expect(actions.contains(.recordLoss([lost], .retention)))
        #expect(actions.states == [.beyondRetention(lost: 5)])
        #expect(try device.gone(4, 6, .retention).isEmpty)
    }

    @Test("covers messages that were erased or from before joining without counting a loss")
    func erased() throws {
        var device = ModelDevice()
        _ = device.connect()
        try device.subscribed(head: 10)
        #expect(try device.gone(0, 4, .beforeJoin).isEmpty)
        #expect(try device.gone(4, 6, .erased).isEmpty)
        #expect(device.machine.coverage == Coverage(through: 6))
    }

    @Test("takes any number that a server may send without trapping")
    func wrongNumbers() throws {
        var device = ModelDevice()
        _ = device.connect()
        let greatest = WireLimits.greatestSequence
        for head in [0, 5, greatest, 1] {
            try device.subscribed(head: head)
            for (prev, seq) in [(0, greatest), (greatest - 1, greatest), (5, 3), (-4, 2), (7, 7)] {
                _ = device.machine.eventReceived(after: Int64(prev), seq: Int64(seq))
            }
            _ = device.machine.batchRead(at: device.now, jitter: 0.5)
            _ = device.machine.heartbeatReceived(head: greatest, at: device.now)
            try device.syncComplete(through: greatest)
            _ = try device.gone(0, greatest, .retention)
            try device.subscribed(head: head, epoch: "e\(head)")
            _ = try device.gone(0, greatest, .epoch)
            device.commit()
        }
    }
}
