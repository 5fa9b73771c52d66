import RepriseChannels
import RepriseCore
import RepriseWire
import Testing

@Suite("Commit machine")
struct CommitMachineTests {
    private let channels: [ChannelName]

    init() throws { channels = try ["a", "b", "c"].map { try ChannelName($0) } }

    private func batch(_ place: Int = 0) -> StagedBatch {
        var batch = StagedBatch()
        batch.segments = [.init(channel: channels[place])]
        batch.revisions = [.init(channel: channels[place], number: place + 1)]
        return batch
    }

    @Test("one batch is written, one waits behind it, and then nothing more is read")
    func oneBehind() {
        var machine = CommitMachine()
        #expect(machine.submit(StagedBatch()) == nil && machine.isSettled)
        #expect(machine.submit(batch()) != nil)
        #expect(machine.mayRead && !machine.isSettled)
        #expect(machine.submit(batch(1)) == nil)
        #expect(!machine.mayRead)
        let written = machine.committed()
        #expect(written.channels == [channels[0]] && written.revisions.map(\.number) == [1])
        #expect(!written.hadFailed && !machine.isSettled)
        #expect(machine.next()?.channels == [channels[1]])
        #expect(machine.next() == nil && machine.isSettled)
    }

    @Test("a channel whose batch is being written is not read from the journal")
    func loading() {
        var machine = CommitMachine()
        _ = machine.submit(batch())
        #expect(!machine.mayLoad(channels[0]) && machine.mayLoad(channels[1]))
        _ = machine.committed()
        #expect(machine.mayLoad(channels[0]))
    }

    @Test("the waiting segments of an unsubscribed channel are dropped, and nothing else")
    func dropped() {
        var machine = CommitMachine()
        _ = machine.submit(batch())
        var two = batch(1)
        two.segments += batch(2).segments
        _ = machine.submit(two)
        machine.drop(channels[1])
        #expect(!machine.mayRead)
        machine.drop(channels[2])
        #expect(machine.mayRead, "an empty batch waits for nothing")
    }

    @Test(
        "a failed commit drops the waiting batch, and each in a row waits longer, until one succeeds"
    )
    func failures() {
        var machine = CommitMachine()
        let full = RepriseError(.diskFull, "full")
        _ = machine.submit(batch())
        _ = machine.submit(batch(1))
        #expect(machine.commitFailed(full, jitter: 1) != nil)
        #expect(machine.isStale && machine.next() == nil && !machine.isReloading)
        machine.paused()
        #expect(!machine.mayRead)
        machine.reloads()
        #expect(machine.isReloading && !machine.mayRead)
        let first = machine.failed(full, jitter: 0.999)
        let second = machine.failed(full, jitter: 0.999)
        #expect(first ?? .zero < second ?? .zero)
        machine.reloaded()
        #expect(!machine.isStale && machine.isSettled)
        _ = machine.submit(batch())
        #expect(machine.committed().hadFailed)
        _ = machine.submit(batch())
        #expect(!machine.committed().hadFailed)
    }

    @Test("a pause ends with the connection: the next dial reads what is stale")
    func ended() {
        var machine = CommitMachine()
        _ = machine.submit(batch())
        _ = machine.commitFailed(RepriseError(.diskFull, "full"), jitter: 0)
        machine.paused()
        machine.connectionEnded()
        #expect(machine.isSettled && machine.isStale)
        #expect(!machine.mayRead, "the reload of the dial would meet its write")
        machine.reloads()
        machine.reloaded()
        #expect(machine.mayRead)
    }

    @Test(
        "a journal of another owner, closed or corrupt is not written any more, until the next run",
        arguments: [RepriseError.Code.ownershipLost, .closed, .corrupt])
    func fatal(code: RepriseError.Code) {
        var machine = CommitMachine()
        _ = machine.submit(batch())
        #expect(machine.commitFailed(RepriseError(code, ""), jitter: 0) == nil)
        #expect(machine.fatal != nil && machine.submit(batch()) == nil)
        machine.started()
        #expect(machine.submit(batch()) != nil)
    }
}
