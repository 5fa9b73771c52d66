import Foundation
import RepriseChains
import RepriseCore
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import Synchronization
import Testing

/// A device whose conditions a test sets.
final class FakeDevice: DeviceStatus, Sendable {
    private let broadcaster: StateBroadcaster<DeviceConditions>

    init(_ conditions: DeviceConditions) { broadcaster = StateBroadcaster(conditions) }

    var conditions: AsyncStream<DeviceConditions> { broadcaster.watch() }

    func set(_ conditions: DeviceConditions) { broadcaster.announce(conditions) }
}

@Suite("Chains that wait")
struct WaitingTests {
    private let waiting = Chain<String>("waiting") { line in
        Work("before", Say.self) { _ in .init(line: "before-\(line)") }
        WaitFor(for: .session)
        Work("after", Say.self) { _ in .init(line: "after-\(line)") }
    }

    @Test("A step waits for a readiness, also over a restart, and goes on when it opens")
    func readiness() async throws {
        let fixture = try EngineFixture()
        var chains = try await fixture.open([waiting])
        let id = try await chains.start(waiting, input: "a")
        try await eventually("it waits") {
            try await chains.status(id)?.tasks[1].hold == "readiness:session"
        }
        await fixture.close()
        chains = try await fixture.open([waiting])
        #expect(fixture.checker.all == ["before-a 1"])
        await fixture.journal?.setReady(.session)
        try await chains.wait(id, for: .succeeded)
        #expect(fixture.checker.all == ["before-a 1", "after-a 1"])
        await fixture.close()
    }

    @Test("A step waits for an entry that is recorded after it began, not for one before")
    func entry() async throws {
        let fixture = try EngineFixture()
        let chain = Chain<Int>("reply") { _ in
            WaitFor(forEntry: "reply")
            Work("after", Say.self) { _ in .init(line: "after") }
        }
        let chains = try await fixture.open([chain], others: [EntryKind("reply")])
        let journal = try #require(fixture.journal)
        try await journal.record(NewEntry(kind: "reply", payload: []))
        let id = try await chains.start(chain, input: 1)
        try await eventually("it waits") {
            try await chains.status(id)?.tasks[0].hold == "entry:reply"
        }
        #expect(fixture.checker.all.isEmpty)
        try await journal.record(NewEntry(kind: "reply", payload: []))
        try await chains.wait(id, for: .succeeded)
        await fixture.close()
    }

    @Test("An entry that came while no engine ran is found at the next start")
    func entryBetween() async throws {
        let fixture = try EngineFixture()
        let chain = Chain<Int>("reply") { _ in WaitFor(forEntry: "reply") }
        var chains = try await fixture.open([chain], others: [EntryKind("reply")])
        let id = try await chains.start(chain, input: 1)
        try await eventually("it waits") {
            try await chains.status(id)?.tasks[0].hold == "entry:reply"
        }
        await fixture.close()
        chains = try await fixture.open([chain], others: [EntryKind("reply")], runs: false)
        try await fixture.journal?.record(NewEntry(kind: "reply", payload: []))
        await fixture.close()
        chains = try await fixture.open([chain], others: [EntryKind("reply")])
        try await chains.wait(id, for: .succeeded)
        await fixture.close()
    }

    @Test("A wait that takes too long fails the chain at its deadline")
    func deadline() async throws {
        let fixture = try EngineFixture(manualTime: true)
        let chain = Chain<Int>("late") { _ in WaitFor(for: .session).deadline(.seconds(60)) }
        let chains = try await fixture.open([chain])
        let id = try await chains.start(chain, input: 1)
        try await eventually("it waits") {
            try await chains.status(id)?.tasks[0].hold == "readiness:session"
        }
        fixture.time?.advance(by: .seconds(61))
        try await chains.wait(id, for: .failed)
        #expect(try await chains.status(id)?.reason?.contains("timedOut") == true)
        await fixture.close()
    }

    @Test("A chain may take no longer than its deadline, and begins no sooner than its delay")
    func delayAndDeadline() async throws {
        let fixture = try EngineFixture(manualTime: true)
        let chain = EngineTests.script()
        let chains = try await fixture.open([chain])
        let delayed = try await chains.start(
            chain, input: .init(steps: [[.init(line: "a")]]), after: .seconds(100))
        let late = try await chains.start(
            chain, input: .init(steps: [[.init(line: "b", hangs: true)]]), deadline: .seconds(50))
        try await eventually("b runs") { fixture.checker.all == ["b 1"] }
        fixture.time?.advance(by: .seconds(51))
        try await chains.wait(late, for: .failed)
        #expect(fixture.checker.all == ["b 1"])
        fixture.time?.advance(by: .seconds(50))
        try await chains.wait(delayed, for: .succeeded)
        await fixture.close()
    }

    @Test(
        "A chain waits while the device does not meet its conditions, and is stopped when they are lost"
    )
    func constraints() async throws {
        let fixture = try EngineFixture()
        let chain = EngineTests.script()
        let device = FakeDevice(DeviceConditions(network: false))
        let chains = try await fixture.open([chain], conditions: device)
        let id = try await chains.start(
            chain, input: .init(steps: [[.init(line: "a", hangs: true)]]),
            constraints: ChainConstraints(network: true))
        let free = try await chains.start(chain, input: .init(steps: [[.init(line: "b")]]))
        try await chains.wait(free, for: .succeeded)
        try await eventually("it is held") {
            try await chains.status(id)?.tasks[0].hold == "conditions"
        }
        device.set(DeviceConditions())
        try await eventually("it runs") { fixture.checker.all.contains("a 1") }
        device.set(DeviceConditions(network: false))
        try await eventually("it is held") {
            try await chains.status(id)?.tasks[0].hold == "conditions"
        }
        #expect(try await chains.status(id)?.tasks[0].failures == 0)
        device.set(DeviceConditions())
        try await eventually("it runs again") { fixture.checker.all.contains("a 2") }
        await fixture.close()
    }

    @Test(
        "10,000 waiting chains use no CPU, and at most 20 MB more than none", .limit("chains.idle"))
    func tenThousand() async throws {
        let folder = try TemporaryFolder()
        @Sendable func process(_ journal: String, _ count: Int) throws -> ChildProcess {
            let process = try ChildProcess(
                .sibling("ChainRunner"),
                [
                    folder.appending(journal).path, folder.appending("effects").path, "waiting",
                    "\(count)", "0",
                ])
            #expect(process.readLine() == "open")
            #expect(process.readLine() == "waiting")
            return process
        }
        // Another process than the one that started them, as after a launch.
        let (many, none) = try await onThread {
            try process("many", 10_000).kill()
            return (try process("many", 10_000), try process("none", 0))
        }
        // What a launch has to read in may go on for a while.
        var used = Int.max
        try await eventually("they use no CPU: \(used) ticks in a second") {
            let before = ticks(many.id)
            try await Task.sleep(for: .seconds(1))
            used = ticks(many.id) - before
            return used <= 1
        }
        let more = residentKilobytes(many.id) - residentKilobytes(none.id)
        print("WaitingTests: 10,000 waiting chains: \(more) KiB more, \(used) ticks in a second")
        #expect(more < 20_000)
        #expect(
            try Journal.ledger(at: folder.appending("many"), schemas: [Chains.schema]).pending
                == 10_000)
    }

    private func residentKilobytes(_ process: pid_t) -> Int {
        let text = (try? String(contentsOfFile: "/proc/\(process)/statm", encoding: .utf8)) ?? ""
        return (text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 4
    }

    private func ticks(_ process: pid_t) -> Int {
        let text = (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)) ?? ""
        let words = text.split(separator: ")").last?.split(separator: " ") ?? []
        return words.count > 12 ? (Int(words[11]) ?? 0) + (Int(words[12]) ?? 0) : 0
    }
}
