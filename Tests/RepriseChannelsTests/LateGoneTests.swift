import RepriseChannels
import RepriseCore
import RepriseWire
import Testing

/// What retention took is told late: on another stream than the `sync_complete` of the same answer,
/// or than the next answer.
@Suite("Snapshots: a loss that arrives late")
struct LateGoneTests {
    /// A device that has 3 of 10 messages; 8 have left the server.
    private static func catchingUp() throws -> ModelDevice {
        var device = ModelDevice(Coverage(through: 3), epoch: try Epoch("e1"))
        _ = device.machine.snapshotsWanted()
        _ = device.connect()
        try device.subscribed(head: 10, floor: 8)
        return device
    }

    private func expectSnapshot(_ device: inout ModelDevice, told: SequenceRange) throws {
        let lost = try #require(SequenceRange(after: 3, through: 8))
        let actions = try device.gone(told.after, told.through, .retention)
        let snapshot = try #require(device.machine.snapshot)
        #expect(snapshot.position == 10)
        #expect(snapshot.reason == .retention)
        #expect(snapshot.lostCount == lost.count)
        #expect(actions.contains(.recordSnapshot(snapshot)))
        #expect(actions.contains(.unsubscribe))
        #expect(actions.states == [.beyondRetention(lost: 5)])
        let recorded = actions.compactMap { action -> [SequenceRange]? in
            if case .recordLoss(let ranges, .retention) = action { ranges } else { nil }
        }
        #expect(recorded.joined().reduce(0) { $0 + $1.count } == lost.count)
        #expect(device.commit().contains(.requestSnapshot(snapshot)))
    }

    @Test("behind the sync_complete, while the machine rests before it asks again")
    func resting() throws {
        var device = try Self.catchingUp()
        let early = try device.syncComplete(through: 10)
        try #require(early.states == [.stalled(missing: 7)])
        try expectSnapshot(&device, told: try #require(SequenceRange(after: 0, through: 8)))
    }

    @Test("after the machine has asked again, and before that is answered")
    func askedAgain() throws {
        var device = try Self.catchingUp()
        try device.syncComplete(through: 10)
        try #require(device.pass(1).asked == Coverage(through: 3))
        try expectSnapshot(&device, told: try #require(SequenceRange(after: 0, through: 8)))
    }

    @Test("a part alone: the rest below the floor is lost with it")
    func part() throws {
        var device = try Self.catchingUp()
        try device.syncComplete(through: 10)
        try expectSnapshot(&device, told: try #require(SequenceRange(after: 5, through: 7)))
    }

    @Test("to a live device, of messages beyond its head: the position is behind them")
    func live() throws {
        var device = try ModelDevice.live(at: 10)
        _ = device.machine.snapshotsWanted()
        _ = try device.gone(10, 12, .retention)
        let snapshot = try #require(device.machine.snapshot)
        #expect(snapshot.position == 12)
        #expect(snapshot.lostCount == 2)
    }
}
