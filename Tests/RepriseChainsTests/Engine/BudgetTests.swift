import Foundation
import RepriseChains
import RepriseCore
import RepriseJournal
import RepriseTesting
import Synchronization
import Testing

/// Keeps what it is asked for.
final class FakeScheduler: BackgroundScheduler, Sendable {
    private let requests = Mutex<[BackgroundRequest]>([])

    var all: [BackgroundRequest] { requests.withLock { $0 } }

    func submit(_ request: BackgroundRequest) { requests.withLock { $0.append(request) } }

    func cancel(_ id: String) {}

    func pending() -> [BackgroundRequest] { all }
}

/// Time that a test takes back.
final class FakeSlot: BackgroundSlot, Sendable {
    let id = "reprise.chains"
    private let signal = Signal()
    private let success = Mutex<Bool?>(nil)

    var isSuccess: Bool? { success.withLock { $0 } }

    func expire() { signal.raise() }

    func expired() async { await signal.wait() }

    func complete(success: Bool) { self.success.withLock { $0 = $0 ?? success } }
}

/// Counts, keeping its place; a number takes a while.
private struct Count: Worker {
    struct Input: Codable, Sendable { var to: Int }

    static let identifier = "count"
    let checker: EffectChecker

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
        "At the end of the time nothing new begins, what runs keeps its checkpoint, and the next slot is asked for with what is needed"
    )
    func background() async throws {
        let fixture = try EngineFixture()
        let chain = Chain<Int>("count") { to in Work("count", Count.self) { _ in .init(to: to) } }
        let scheduler = FakeScheduler()
        let chains = try await fixture.open(
            [chain], workers: [Count(checker: fixture.checker)], scheduler: scheduler
        ) { $0.margin = .milliseconds(50) }
        let id = try await chains.start(
            chain, input: 200, constraints: ChainConstraints(unmetered: true))
        try await until("it counts") { fixture.checker.all.count > 3 }
        await chains.background(granted: .milliseconds(150))
        let counted = fixture.checker.all
        try await Task.sleep(for: .milliseconds(50))
        #expect(fixture.checker.all == counted, "nothing runs any more")
        #expect(
            scheduler.all.map(\.kind) == [.processing(needsNetwork: true, needsPower: false)])

        // A slot that is over before it is done, then the app is opened.
        let slot = FakeSlot()
        async let used: Void = chains.slot(slot)
        try await until("it goes on") { fixture.checker.all.count > counted.count + 3 }
        slot.expire()
        await used
        #expect(slot.isSuccess == false)
        #expect(scheduler.all.count == 2)
        await chains.foreground()
        try await chains.wait(id, for: .succeeded)
        #expect(fixture.checker.all == (1...200).map { "\($0)" }, "it went on where it was")
        #expect(try await chains.status(id)?.tasks[0].failures == 0)
        await fixture.close()
    }

    @Test(
        "The time that comes with a launch into a slot does not end the slot, and a slot after one that was taken back is used to its end"
    )
    func slotAndLaunch() async throws {
        let fixture = try EngineFixture()
        let chain = Chain<Int>("count") { to in Work("count", Count.self) { _ in .init(to: to) } }
        let scheduler = FakeScheduler()
        let chains = try await fixture.open(
            [chain], workers: [Count(checker: fixture.checker)], scheduler: scheduler
        ) { $0.margin = .milliseconds(10) }
        let (first, second) = (FakeSlot(), FakeSlot())
        let id = try await chains.start(chain, input: 60)
        async let used: Void = chains.slot(first)
        try await until("it counts") { fixture.checker.all.count > 3 }
        first.expire()
        await used
        #expect(first.isSuccess == false)

        let before = fixture.checker.all.count
        async let usedAgain: Void = chains.slot(second)
        try await until("it goes on") { fixture.checker.all.count > before + 2 }
        await chains.background(granted: .milliseconds(20))
        #expect(second.isSuccess == nil, "the slot is not over with the time of the launch")
        await usedAgain
        #expect(second.isSuccess == true)
        #expect(try await chains.status(id)?.state == .succeeded)
        await fixture.close()
    }

    @Test("A slot is complete when nothing is left to do")
    func slotIsDone() async throws {
        let fixture = try EngineFixture()
        let chain = EngineTests.script()
        let scheduler = FakeScheduler()
        let chains = try await fixture.open([chain], scheduler: scheduler)
        let id = try await chains.start(chain, input: .init(steps: [[.init(line: "a")]]))
        let slot = FakeSlot()
        await chains.slot(slot)
        #expect(slot.isSuccess == true)
        #expect(try await chains.status(id)?.state == .succeeded)
        #expect(scheduler.all.isEmpty)
        await fixture.close()
    }
}
