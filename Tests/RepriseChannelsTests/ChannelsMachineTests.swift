import RepriseChannels
import RepriseCore
import RepriseWire
import Testing

/// A machine with a disk and a connection that are moved by hand.
private struct Bed {
    var machine = ChannelsMachine()
    var now: Duration = .seconds(100)
    let general: ChannelName
    let position = LogPosition(log: 1, version: 0, accepted: 0, hasFormer: false)

    init() throws { general = try ChannelName("general") }

    /// Connected and welcomed, with the channel subscribed to and nothing stored.
    static func ready() throws -> Bed {
        var bed = try Bed()
        _ = bed.machine.started(as: try EntryID("device"), at: bed.now)
        _ = bed.machine.dialSucceeded(at: bed.now)
        _ = bed.machine.subscribed(bed.general, stored: nil, at: bed.now)
        bed.welcomed()
        return bed
    }

    mutating func welcomed() {
        _ = receive([
            .welcome(
                .init(
                    version: 1, time: WallTime(milliseconds: 0), heartbeat: .seconds(25),
                    server: "s"))
        ])
    }

    mutating func receive(_ frames: [ServerFrame]) -> [ChannelsMachine.Action] {
        machine.framesReceived(frames.map { $0.encoded() }[...], at: now, jitter: 0)
    }

    func subscribed(head: Int64, epoch: String = "e1") throws -> ServerFrame {
        .subscribed(.init(channel: general, epoch: try Epoch(epoch), head: head, floor: 0))
    }

    func event(_ seq: Int64) throws -> ServerFrame { .event(try ScriptedChannelServer.event(seq)) }

    func complete(_ through: Int64) throws -> ServerFrame {
        .syncComplete(
            .init(
                channel: general, epoch: try Epoch("e1"), through: through,
                time: WallTime(milliseconds: 0)))
    }

    mutating func committed() -> [ChannelsMachine.Action] {
        machine.committed([general: position], at: now, jitter: 0)
    }
}

extension [ChannelsMachine.Action] {
    fileprivate var commits: [StagedBatch] {
        compactMap { if case .commit(let batch, _) = $0 { batch } else { nil } }
    }
    fileprivate var states: [ChannelState] {
        compactMap { if case .enter(_, let state) = $0 { state } else { nil } }
    }
    fileprivate var sent: [ClientFrame] {
        var decoder = FrameDecoder()
        var sent: [ClientFrame] = []
        for case .send(let frames) in self {
            for frame in frames {
                if let frame = try? decoder.clientFrame(frame) { sent.append(frame) }
            }
        }
        return sent
    }
    fileprivate var asked: [ClientFrame.Subscription] {
        var asked: [ClientFrame.Subscription] = []
        for case .subscribe(let channels) in sent { asked += channels }
        return asked
    }
    fileprivate var reloads: [[ChannelName]] {
        compactMap { if case .reload(let channels) = $0 { channels } else { nil } }
    }
    fileprivate var alarms: [Duration?] {
        compactMap { if case .wake(let moment) = $0 { moment } else { nil } }
    }
    fileprivate var dials: Int { count { if case .dial = $0 { true } else { false } } }
    fileprivate var waits: Int {
        count { if case .announce(.waiting) = $0 { true } else { false } }
    }
}

@Suite("Channels machine")
struct ChannelsMachineTests {
    @Test("writes one batch, reads one more behind it, and then no more until the first is durable")
    func oneBehind() throws {
        var bed = try Bed.ready()
        let first = bed.receive([try bed.subscribed(head: 4), try bed.event(1)])
        #expect(first.commits.map(\.segments.count) == [1])
        #expect(bed.machine.mayRead)
        #expect(bed.receive([try bed.event(2)]).commits.isEmpty)
        #expect(!bed.machine.mayRead)
        let next = bed.committed().commits
        #expect(next.first?.segments.first?.events.map(\.seq) == [2])
        #expect(bed.machine.mayRead)
    }

    @Test("is live only when its coverage is durable, though the frames have all come")
    func liveWhenDurable() throws {
        var bed = try Bed.ready()
        let actions = bed.receive([
            try bed.subscribed(head: 1), try bed.event(1), try bed.complete(1),
        ])
        #expect(!actions.states.contains(.live))
        #expect(bed.committed().states == [.live])
    }

    @Test(
        "after a failed commit reads no frames, drops the waiting batch, and asks with the coverage of the disk once that is read"
    )
    func failedCommit() throws {
        var bed = try Bed.ready()
        _ = bed.receive([try bed.subscribed(head: 9), try bed.event(1)])
        _ = bed.committed()
        _ = bed.receive([try bed.event(2)])
        _ = bed.receive([try bed.event(3)])
        let failed = bed.machine.commitFailed(
            RepriseError(.diskFull, "Full."), at: bed.now, jitter: 1)
        #expect(!bed.machine.mayRead)
        #expect(failed.commits.isEmpty && failed.reloads.isEmpty)
        let due = try #require(failed.alarms.last ?? nil)
        #expect(due == bed.now + .milliseconds(100))
        bed.now = due
        #expect(bed.machine.woke(at: due, jitter: 0).reloads == [[bed.general]])
        let stored = ChannelStore.Stored(
            position: bed.position, epoch: try Epoch("e1"), coverage: Coverage(through: 1), head: 1)
        let again = bed.machine.reloaded([bed.general: stored], at: bed.now, jitter: 0)
        #expect(again.asked.map(\.coverage) == [Coverage(through: 1)])
        #expect(bed.machine.mayRead)
        // What was sent for the former request belongs to nobody knows which epoch.
        #expect(bed.receive([try bed.event(4)]).commits.isEmpty)
    }

    @Test("waits longer each time that reading fails, and stops where waiting is of no use")
    func reloadFails() throws {
        var bed = try Bed.ready()
        _ = bed.receive([try bed.subscribed(head: 9), try bed.event(1)])
        _ = bed.machine.commitFailed(RepriseError(.busy, ""), at: bed.now, jitter: 1)
        bed.now += .milliseconds(100)
        _ = bed.machine.woke(at: bed.now, jitter: 1)
        let failed = bed.machine.reloadFailed(RepriseError(.busy, ""), at: bed.now, jitter: 1)
        #expect(failed.alarms.last == bed.now + .milliseconds(200))
        bed.now += .milliseconds(200)
        _ = bed.machine.woke(at: bed.now, jitter: 1)
        _ = bed.machine.reloadFailed(RepriseError(.ownershipLost, ""), at: bed.now, jitter: 1)
        #expect(bed.machine.isFatal)
        let ended = bed.machine.disconnected(
            closeCode: nil, error: nil, at: bed.now, jitter: 0)
        #expect(ended.contains { if case .stop = $0 { true } else { false } })
    }

    @Test(
        "a connection that ends while memory is ahead of the disk is followed by a reload, then a dial"
    )
    func staleDial() throws {
        var bed = try Bed.ready()
        _ = bed.receive([try bed.subscribed(head: 9), try bed.event(1)])
        let ended = bed.machine.disconnected(closeCode: nil, error: nil, at: bed.now, jitter: 0)
        #expect(ended.waits == 0)  // the write is not cut
        let failed = bed.machine.commitFailed(RepriseError(.busy, ""), at: bed.now, jitter: 0)
        #expect(failed.waits == 1)
        #expect(bed.machine.isStale)
        let waited = bed.machine.woke(at: bed.now + .seconds(60), jitter: 0)
        #expect(waited.reloads == [[bed.general]] && waited.dials == 0)
        let reloaded = bed.machine.reloaded([bed.general: nil], at: bed.now, jitter: 0)
        #expect(reloaded.dials == 1 && !bed.machine.isStale)
    }

    /// Loses messages to retention; returns the snapshot that the app is asked for.
    private func snapshotRequested(_ bed: inout Bed) throws -> SubscriptionMachine.Snapshot {
        _ = bed.machine.snapshotsWanted(bed.general)
        let lost = try #require(SequenceRange(after: 0, through: 3))
        _ = bed.receive([
            try bed.subscribed(head: 5),
            .gone(channel: bed.general, Gone(range: lost, reason: .retention)),
        ])
        let snapshots: [SubscriptionMachine.Snapshot] = bed.committed().compactMap {
            if case .requestSnapshot(_, let snapshot) = $0 { snapshot } else { nil }
        }
        return try #require(snapshots.first)
    }

    @Test("a snapshot that is loaded while memory is stale waits for the reload of the next dial")
    func snapshotWhileStale() throws {
        var bed = try Bed.ready()
        let snapshot = try snapshotRequested(&bed)
        let other = try ChannelName("other")
        _ = bed.machine.subscribed(other, stored: nil, at: bed.now)
        let written = bed.receive([
            .subscribed(.init(channel: other, epoch: try Epoch("o1"), head: 3, floor: 0))
        ])
        try #require(written.commits.count == 1)
        _ = bed.machine.commitFailed(RepriseError(.busy, ""), at: bed.now, jitter: 1)
        _ = bed.machine.disconnected(closeCode: nil, error: nil, at: bed.now, jitter: 1)
        // Its write would be on its way when the dial reads: a trap at its end.
        try #require(bed.machine.isStale && !bed.machine.mayRead)
        let dialled = bed.machine.dialRequested(at: bed.now)
        #expect(dialled.reloads == [[bed.general, other]])
        let stored = ChannelStore.Stored(
            position: bed.position, epoch: try Epoch("e1"), coverage: Coverage(), head: 5,
            snapshot: snapshot)
        let reloaded = bed.machine.reloaded(
            [bed.general: stored, other: nil], at: bed.now, jitter: 0)
        #expect(reloaded.dials == 1)
        try #require(bed.machine.mayRead)
        let taken = bed.machine.snapshotTaken(snapshot, of: bed.general, at: bed.now)
        #expect(taken.commits.map(\.channels) == [[bed.general]])
        _ = bed.committed()
    }

    @Test("the end of the pause after a failed commit does not read again what a dial has read")
    func dialInPause() throws {
        var bed = try Bed.ready()
        let snapshot = try snapshotRequested(&bed)
        _ = bed.machine.disconnected(closeCode: nil, error: nil, at: bed.now, jitter: 1)
        // It is loaded while there is no connection, and the disk is full.
        let taken = bed.machine.snapshotTaken(snapshot, of: bed.general, at: bed.now)
        #expect(taken.commits.count == 1)
        let full = RepriseError(.diskFull, "Full.")
        _ = bed.machine.commitFailed(full, at: bed.now, jitter: 1)
        let dialled = bed.machine.dialRequested(at: bed.now)
        #expect(dialled.reloads == [[bed.general]])
        let reloaded = bed.machine.reloaded([bed.general: nil], at: bed.now, jitter: 0)
        #expect(reloaded.dials == 1)
        _ = bed.machine.dialSucceeded(at: bed.now)
        bed.welcomed()
        let written = bed.receive([try bed.subscribed(head: 5), try bed.event(1)])
        #expect(written.commits.count == 1)
        // It would take the place of the write, whose end is no answer to it: a trap.
        let woken = bed.machine.woke(at: bed.now + .milliseconds(100), jitter: 0)
        try #require(woken.reloads.isEmpty)
        _ = bed.committed()
        #expect(bed.machine.mayRead)
    }

    @Test("writes the frames read before a connection ended, and then makes the next one")
    func writesBeforeDial() throws {
        var bed = try Bed.ready()
        _ = bed.receive([try bed.subscribed(head: 9), try bed.event(1)])
        _ = bed.receive([try bed.event(2)])
        _ = bed.machine.disconnected(closeCode: nil, error: nil, at: bed.now, jitter: 0)
        let first = bed.committed()
        #expect(first.commits.count == 1 && first.waits == 0)
        #expect(bed.committed().waits == 1)
    }

    @Test("an unsubscribed channel's part of the waiting batch is dropped, and cannot make it fail")
    func unsubscribeBehind() throws {
        var bed = try Bed.ready()
        let other = try ChannelName("other")
        _ = bed.machine.subscribed(other, stored: nil, at: bed.now)
        _ = bed.receive([try bed.subscribed(head: 9), try bed.event(1)])
        _ = bed.receive([
            try bed.event(2),
            .subscribed(.init(channel: other, epoch: try Epoch("o1"), head: 3, floor: 0)),
        ])
        _ = bed.machine.unsubscribed(bed.general)
        #expect(!bed.machine.mayLoad(bed.general))
        #expect(bed.machine.mayLoad(other))
        let next = bed.machine.committed([bed.general: bed.position], at: bed.now, jitter: 0)
        #expect(next.commits.first?.channels == [other])
        #expect(next.commits.first?.revisions.map(\.channel) == [other])
        #expect(bed.machine.mayLoad(bed.general))
    }

    @Test(
        "a channel subscribed to while positions are read again keeps what the journal said of it")
    func subscribedWhileReloading() throws {
        var bed = try Bed.ready()
        _ = bed.receive([try bed.subscribed(head: 9), try bed.event(1)])
        _ = bed.machine.commitFailed(RepriseError(.busy, ""), at: bed.now, jitter: 0)
        #expect(bed.machine.woke(at: bed.now, jitter: 0).reloads == [[bed.general]])
        let other = try ChannelName("other")
        let stored = ChannelStore.Stored(
            position: bed.position, epoch: try Epoch("o1"), coverage: Coverage(through: 7), head: 7)
        _ = bed.machine.subscribed(other, stored: stored, at: bed.now)
        _ = bed.machine.reloaded([bed.general: nil], at: bed.now, jitter: 0)
        #expect(bed.machine.machine(of: other)?.coverage == Coverage(through: 7))
    }

    @Test("a timer that fires and is set again does not hide one that is due before it")
    func soonestTimer() throws {
        var bed = try Bed.ready()
        let begun = bed.now
        bed.now += .seconds(10)
        _ = bed.machine.subscribed(try ChannelName("other"), stored: nil, at: bed.now)
        let fired = bed.machine.woke(at: begun + .seconds(30), jitter: 0)
        #expect(fired.asked.map(\.channel) == [bed.general])
        #expect(fired.alarms.last == begun + .seconds(40))
    }

    @Test("timers that are due together fire in the same order in every process")
    func order() throws {
        var bed = try Bed()
        _ = bed.machine.started(as: try EntryID("device"), at: bed.now)
        _ = bed.machine.dialSucceeded(at: bed.now)
        let names = try (0..<40).map { try ChannelName("c\($0)") }
        for name in names { _ = bed.machine.subscribed(name, stored: nil, at: bed.now) }
        _ = bed.receive([
            .welcome(
                .init(
                    version: 1, time: WallTime(milliseconds: 0), heartbeat: .seconds(25),
                    server: "s"))
        ])
        bed.now += .seconds(30)
        let asked = bed.machine.woke(at: bed.now, jitter: 0).asked.map(\.channel)
        #expect(asked == names.sorted())
    }
}
