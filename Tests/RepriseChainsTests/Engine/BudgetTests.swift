import Foundation
import RepriseChains
import RepriseCore
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import Synchronization
import Testing

/// Counts, keeping its place; a number takes a while.
private struct Count: Worker {
    struct Input: Codable, Sendable { var to: Int }

    static let identifier = "count"
    let checker: Seen<String>

    func run(_ input: Input, _ work: WorkContext) async throws -> Int {
        var number = work.saved(as: Int.self) ?? 0
        while number < input.to {
            try await Task.sleep(for: .milliseconds(5))
            number += 1
            checker.add("\(number)")
            try await work.checkpoint(number)
        }
        return number
    }
}

@Suite("Chains in the background")
struct BudgetTests {
    @Test(
        "At the end of background time no task begins, running ones keep their checkpoint, and the next slot is requested with the tasks' conditions"
    )
    func background() async throws {
        let fixture = try EngineFixture()
        let chain = Chain<Int>("count") { to in Work("count", Count.self) { _ in .init(to: to) } }
        let scheduler = MemoryScheduler()
        let chains = try await fixture.open(
            [chain], workers: [Count(checker: fixture.checker)], scheduler: scheduler
        ) { $0.margin = .milliseconds(50) }
        let id = try await chains.start(
            chain, input: 200, constraints: ChainConstraints(unmetered: true))
        try await eventually("it counts") { fixture.checker.all.count > 3 }
        await chains.background(granted: .milliseconds(150))
        let counted = fixture.checker.all
        try await Task.sleep(for: .milliseconds(50))
        #expect(fixture.checker.all == counted, "nothing runs any more")
        #expect(
            scheduler.asked.map(\.kind) == [.processing(needsNetwork: true, needsPower: false)])

        // A slot that is over before it is done, then the app is opened.
        let slot = MemorySlot("reprise.chains")
        async let used: Void = chains.slot(slot)
        try await eventually("it goes on") { fixture.checker.all.count > counted.count + 3 }
        slot.expire()
        await used
        #expect(slot.completed == [false])
        #expect(scheduler.asked.count == 2)
        await chains.foreground()
        try await chains.wait(id, for: .succeeded)
        #expect(fixture.checker.all == (1...200).map { "\($0)" }, "it went on where it was")
        #expect(try await chains.status(id)?.tasks[0].failures == 0)
        await fixture.close()
    }

    @Test(
        "Background time from a launch into a slot does not end the slot, and a slot after an expired one is used to its end"
    )
    func slotAndLaunch() async throws {
        let fixture = try EngineFixture()
        let chain = Chain<Int>("count") { to in Work("count", Count.self) { _ in .init(to: to) } }
        let scheduler = MemoryScheduler()
        let chains = try await fixture.open(
            [chain], workers: [Count(checker: fixture.checker)], scheduler: scheduler
        ) { $0.margin = .milliseconds(10) }
        let (first, second) = (MemorySlot("reprise.chains"), MemorySlot("reprise.chains"))
        let id = try await chains.start(chain, input: 250)
        async let used: Void = chains.slot(first)
        try await eventually("it counts") { fixture.checker.all.count > 3 }
        first.expire()
        await used
        #expect(first.completed == [false])

        let before = fixture.checker.all.count
        async let usedAgain: Void = chains.slot(second)
        try await eventually("it goes on") { fixture.checker.all.count > before + 2 }
        await chains.background(granted: .milliseconds(20))
        #expect(second.completed.isEmpty, "the slot is not over with the time of the launch")
        await usedAgain
        #expect(second.completed == [true])
        #expect(try await chains.status(id)?.state == .succeeded)
        await fixture.close()
    }

    @Test("Background time that is granted again, without a slot, is used too")
    func grantedAgain() async throws {
        let fixture = try EngineFixture()
        let chain = Chain<Int>("count") { to in Work("count", Count.self) { _ in .init(to: to) } }
        let chains = try await fixture.open(
            [chain], workers: [Count(checker: fixture.checker)]
        ) { $0.margin = .milliseconds(50) }
        let id = try await chains.start(chain, input: 200)
        try await eventually("it counts") { fixture.checker.all.count > 3 }
        await chains.background(granted: .milliseconds(150))
        #expect(try await chains.status(id)?.state == .running)
        await chains.background(granted: .seconds(60))
        #expect(try await chains.status(id)?.state == .succeeded)
        #expect(fixture.checker.all == (1...200).map { "\($0)" }, "it went on where it was")
        await fixture.close()
    }

    @Test(
        "A task that failed is tried again within the time, which does not end before; one that waits for longer requests the next slot for then"
    )
    func retried() async throws {
        let fixture = try EngineFixture()
        let chain = Chain<Int>("retried") { failures in
            let wait = failures == 1 ? Duration.milliseconds(300) : .seconds(60)
            Work("say", Say.self) { _ in .init(line: "a", failures: failures) }
                .retry(attempts: 3, Backoff(base: wait, longest: wait))
        }
        let scheduler = MemoryScheduler()
        let chains = try await fixture.open([chain], scheduler: scheduler) {
            $0.margin = .milliseconds(50)
            $0.jitter = { 1 }
        }
        let id = try await chains.start(chain, input: 1)
        await chains.background(granted: .seconds(60))
        #expect(try await chains.status(id)?.state == .succeeded)
        #expect(scheduler.asked.isEmpty)

        // One that is due after the time is over does not use it up, and asks for time then.
        let late = try await chains.start(
            chain, input: 2, constraints: ChainConstraints(unmetered: true))
        await chains.foreground()
        try await eventually("it has failed once") {
            try await chains.status(late)?.tasks[0].failures == 1
        }
        let began = ContinuousClock.now
        await chains.background(granted: .seconds(30))
        #expect(ContinuousClock.now - began < .seconds(10))
        #expect(
            scheduler.asked.map(\.kind) == [.processing(needsNetwork: true, needsPower: false)])
        let earliest = try #require(scheduler.asked.first?.earliest)
        let wait = SystemTimekeeper().wall().duration(to: earliest)
        #expect(wait > .seconds(30) && wait <= .seconds(60), "\(wait)")
        await fixture.close()
    }

    @Test("A slot is complete when nothing is left to do")
    func slotIsDone() async throws {
        let fixture = try EngineFixture()
        let chain = EngineTests.script()
        let scheduler = MemoryScheduler()
        let chains = try await fixture.open([chain], scheduler: scheduler)
        let id = try await chains.start(chain, input: .init(steps: [[.init(line: "a")]]))
        let slot = MemorySlot("reprise.chains")
        await chains.slot(slot)
        #expect(slot.completed == [true])
        #expect(try await chains.status(id)?.state == .succeeded)
        #expect(scheduler.asked.isEmpty)
        await fixture.close()
    }

    @Test(
        "A slot with a command alone is complete once the command has ended",
        .timeLimit(.minutes(1)))
    func slotAndCommand() async throws {
        let fixture = try EngineFixture()
        let chains = try await fixture.open([EngineTests.script()])
        let journal = try #require(fixture.journal)
        let commands = [
            #"{"command":"clear","chain":"","seconds":0}"#, #"{"command":"clear","chain":""}"#,
            #"{"command":"delete","chain":"00"}"#, #"{"command":"cancel","chain":"00"}"#, "{}",
        ]
        for round in 0..<100 {
            let payload = Array(commands[round % commands.count].utf8)
            try await journal.record(
                NewEntry(kind: Chains.commandKind, payload: payload))
            let slot = MemorySlot("reprise.chains")
            await chains.slot(slot)
            #expect(slot.completed == [true])
        }
        await fixture.close()
    }
}
