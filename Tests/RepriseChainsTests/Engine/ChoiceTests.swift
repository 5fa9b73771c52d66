import Foundation
import RepriseChains
import RepriseCore
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import Synchronization
import Testing

/// Lists names, as many as it is told.
private struct ListNames: Worker {
    static let identifier = "list"

    func run(_ count: Int, _ work: WorkContext) async throws -> [String] {
        (0..<count).map { "name-\($0)" }
    }
}

@Suite("Steps that depend on earlier outputs", .timeLimit(.minutes(1)))
struct ChoiceTests {
    private func workers(_ fixture: EngineFixture) -> [any Worker] {
        [ListNames(), Say(checker: fixture.checker)]
    }

    private func say(
        _ name: String, compensates: Bool = false,
        _ input: @escaping @Sendable (ChainOutputs) throws -> Say.Input
    ) -> Work<Say> {
        let work = Work(name, Say.self, input)
        return compensates
            ? work.compensation(with: Say.self) { _ in .init(line: "undo-\(name)") } : work
    }

    @Test(
        "A condition on an earlier output chooses a branch, whose tasks alone are run and read",
        arguments: [(0, ["none 1", "end-none 1"]), (2, ["some 1", "end-some 1"])])
    func when(count: Int, said: [String]) async throws {
        let fixture = try EngineFixture()
        let (some, none) = (
            say("some") { _ in .init(line: "some") }, say("none") { _ in .init(line: "none") }
        )
        let chain = Chain<Int>("when") { count in
            let list = Work("list", ListNames.self) { _ in count }
            list
            When("any") { done in
                try !done[list].isEmpty
            } then: {
                some
            } else: {
                none
            }
            Work("end", Say.self) { done in
                .init(line: "end-\(done.isDone(some) ? try done[some] : try done[none])")
            }
        }
        let chains = try await fixture.open([chain], workers: workers(fixture))
        let id = try await chains.start(chain, input: count)
        try await chains.wait(id, for: .succeeded)
        #expect(fixture.checker.all == said)
        let status = try #require(try await chains.status(id))
        #expect(status.tasks.map(\.name) == ["list", "any", count == 0 ? "none" : "some", "end"])
        #expect(status.tasks.map(\.step) == [0, 1, 2, 3])
        #expect(status.done == 4 && status.total == 4)
        await fixture.close()
    }

    @Test("A condition that fails without another branch adds nothing")
    func nothing() async throws {
        let fixture = try EngineFixture()
        let chain = Chain<Bool>("nothing") { holds in
            When("if") { _ in
                holds
            } then: {
                Work("a", Say.self) { _ in .init(line: "a") }
            }
        }
        let chains = try await fixture.open([chain])
        for holds in [true, false] {
            let id = try await chains.start(chain, input: holds)
            try await chains.wait(id, for: .succeeded)
        }
        #expect(fixture.checker.all == ["a 1"])
        await fixture.close()
    }

    @Test(
        "A loop makes the same steps of each item of an earlier output, also of one that lies in a file"
    )
    func each() async throws {
        let fixture = try EngineFixture()
        let chain = Chain<Int>("each") { count in
            let list = Work("list", ListNames.self) { _ in count }
            list
            Each("all", of: { done in try done[list] }) { name in
                Work("a-\(name)", Say.self) { _ in .init(line: "a-\(name)") }
                Work("b-\(name)", Say.self) { done in
                    .init(line: "b-\(try done.output(of: "a-\(name)", by: Say.self))")
                }
            }
            Work("end", Say.self) { done in
                let last = try done[list].last ?? "none"
                return .init(
                    line: count == 0 ? "end" : try done.output(of: "b-\(last)", by: Say.self))
            }
        }
        let chains = try await fixture.open([chain], workers: workers(fixture))
        let none = try await chains.start(chain, input: 0)
        try await chains.wait(none, for: .succeeded)
        #expect(fixture.checker.all == ["end 1"])
        // 900 names are more than 8,192 bytes, and more than a step has tasks.
        let id = try await chains.start(chain, input: 900)
        try await chains.wait(id, for: .succeeded)
        let said = fixture.checker.all.dropFirst()
        // The last one says what the one before it has.
        #expect(said.count == 1_801 && Set(said).count == 1_800)
        #expect(said.last == "b-a-name-899 1")
        // All first steps are done before a second one begins.
        #expect(said.prefix(900).allSatisfy { $0.hasPrefix("a-") })
        let status = try #require(try await chains.status(id))
        #expect(status.tasks.map(\.step).max() == 10)
        await fixture.close()
    }

    @Test(
        "More than 1,000 items or 262,144 bytes of them fail the chain, which compensates",
        .limit("chains.items"),
        arguments: [(1_000, 1, true), (1_001, 1, false), (10, 30_000, false)])
    func items(count: Int, bytes: Int, isTaken: Bool) async throws {
        let fixture = try EngineFixture()
        let before = say("before", compensates: true) { _ in .init(line: "before") }
        let chain = Chain<Int>("items") { _ in
            before
            Each(
                "all",
                of: { _ in Array(repeating: String(repeating: "x", count: bytes), count: count) }
            ) { _ in }
        }
        let chains = try await fixture.open([chain])
        let id = try await chains.start(chain, input: 1)
        try await chains.wait(id, for: isTaken ? .succeeded : .failed)
        #expect(fixture.checker.all == (isTaken ? ["before 1"] : ["before 1", "undo-before 1"]))
        if !isTaken {
            let reason = try await chains.status(id)?.reason
            #expect(reason?.contains("all: The input cannot be made: ") == true, "\(reason ?? "")")
        }
        await fixture.close()
    }

    @Test(
        "A chain can be a step of another: its tasks have names of their own, and compensate with it"
    )
    func subchain() async throws {
        let fixture = try EngineFixture()
        let first = say("first", compensates: true) { _ in .init(line: "inner") }
        let inner = Chain<String>("inner") { line in
            first
            say("second") { done in .init(line: "\(line)-\(try done[first])") }
        }
        let outer = Chain<Bool>("outer") { fails in
            let start = say("first") { _ in .init(line: "outer") }
            start
            let sub = Subchain("sub", inner) { done in try done[start] }
            sub
            say("end") { done in
                .init(line: "end-\(try done[in: sub][first])", isPermanent: fails)
            }
        }
        let chains = try await fixture.open([outer])
        let id = try await chains.start(outer, input: false)
        try await chains.wait(id, for: .succeeded)
        #expect(fixture.checker.all == ["outer 1", "inner 1", "outer-inner 1", "end-inner 1"])
        let status = try #require(try await chains.status(id))
        #expect(status.tasks.map(\.name) == ["first", "sub", "sub/first", "sub/second", "end"])
        #expect(try await chains.output(of: "sub/second", by: Say.self, in: id) == "outer-inner")

        let failing = try await chains.start(outer, input: true)
        try await chains.wait(failing, for: .failed)
        #expect(fixture.checker.all.last == "undo-first 1")
        try await chains.retry(failing)
        try await eventually("what was taken back is done anew") {
            fixture.checker.all.contains("inner 2")
        }
        await fixture.close()
    }

    /// One in another, so often.
    private static func nested() -> Chain<Int> {
        Chain<Int>("nested") { depth in
            if depth == 0 {
                Work("end", Say.self) { _ in .init(line: "end") }
            } else {
                Subchain("in", nested()) { _ in depth - 1 }
            }
        }
    }

    @Test(
        "Eight chains may be nested; one more fails the chain", .limit("chains.subchains"),
        arguments: [(8, ChainState.succeeded), (9, .failed)])
    func depth(_ depth: Int, end: ChainState) async throws {
        let fixture = try EngineFixture()
        let chain = Self.nested()
        let chains = try await fixture.open([chain])
        let id = try await chains.start(chain, input: depth)
        try await chains.wait(id, for: end)
        #expect(fixture.checker.all == (depth == 8 ? ["end 1"] : []))
        await fixture.close()
    }

    @Test("Decisions of one step are made together, and their steps run together")
    func together() async throws {
        let fixture = try EngineFixture()
        let chain = Chain<Int>("together") { _ in
            Parallel {
                When("x") { _ in
                    true
                } then: {
                    say("a") { _ in .init(line: "a") }
                }
                Each("y", of: { _ in ["b", "c"] }) { line in say(line) { _ in .init(line: line) } }
                say("d") { _ in .init(line: "d") }
            }
            say("e") { _ in .init(line: "e") }
        }
        let chains = try await fixture.open([chain])
        let id = try await chains.start(chain, input: 1)
        try await chains.wait(id, for: .succeeded)
        let said = fixture.checker.all
        #expect(
            said.first == "d 1" && Set(said[1...3]) == ["a 1", "b 1", "c 1"] && said[4] == "e 1")
        let status = try #require(try await chains.status(id))
        #expect(status.tasks.map(\.step) == [0, 0, 0, 1, 1, 1, 2])
        await fixture.close()
    }

    @Test("A decision is made once: a restart, a failure and a retry do not change it")
    func once() async throws {
        let fixture = try EngineFixture()
        let box = Flag()
        let chain = Chain<Int>("once") { _ in
            When("if") { _ in
                box.take()
            } then: {
                say("yes") { _ in .init(line: "yes") }
            } else: {
                say("no") { _ in .init(line: "no") }
            }
            WaitFor(for: .session)
            say("end") { _ in .init(line: "end", failures: 3) }
        }
        var chains = try await fixture.open([chain])
        let id = try await chains.start(chain, input: 1)
        try await eventually("it waits") {
            try await chains.status(id)?.tasks.contains { $0.hold == "readiness:session" } == true
        }
        await fixture.close()
        chains = try await fixture.open([chain])
        await fixture.journal?.setReady(.session)
        try await chains.wait(id, for: .failed)
        try await chains.retry(id)
        try await chains.wait(id, for: .succeeded)
        #expect(box.count == 1)
        #expect(fixture.checker.all.filter { !$0.hasPrefix("end") } == ["yes 1"])
        await fixture.close()
    }

    /// Holds the first time.
    private final class Flag: Sendable {
        private let asked = Mutex(0)
        var count: Int { asked.withLock { $0 } }
        func take() -> Bool {
            asked.withLock {
                $0 += 1
                return $0 == 1
            }
        }
    }

    @Test(
        "A decision that fails ends the chain with its reason: an error, a name that is taken, a task that is not done"
    )
    func faults() async throws {
        let fixture = try EngineFixture()
        let never = say("never") { _ in .init(line: "never") }
        let chain = Chain<String>("faults") { what in
            say("a", compensates: true) { _ in .init(line: "a") }
            switch what {
            case "error":
                When("x") { _ in
                    throw RepriseError(.malformed, "Never.")
                } then: {
                    say("b") { _ in .init(line: "b") }
                }
            case "name":
                Each("x", of: { _ in ["a"] }) { line in say(line) { _ in .init(line: line) } }
            default:
                When("x") { done in
                    try done[never] == ""
                } then: {
                    say("b") { _ in .init(line: "b") }
                }
            }
        }
        let chains = try await fixture.open([chain])
        for (what, reason) in [
            ("error", "Never."), ("name", "Two tasks of the chain faults are named a."),
            ("done", "The task never has made nothing yet."),
        ] {
            let id = try await chains.start(chain, input: what)
            try await chains.wait(id, for: .failed)
            let status = try #require(try await chains.status(id))
            #expect(status.reason?.contains(reason) == true, "\(status.reason ?? "")")
            #expect(status.tasks.map(\.state) == [.succeeded, .failed])
        }
        #expect(
            fixture.checker.all == Array(repeating: ["a 1", "undo-a 1"], count: 3).flatMap(\.self))
        await fixture.close()
    }

    @Test(
        "A branch with the name of another task is refused at the start; two branches may share one"
    )
    func names() async throws {
        let fixture = try EngineFixture()
        let good = Chain<Int>("good") { _ in
            When("x") { _ in
                true
            } then: {
                say("a") { _ in .init(line: "yes") }
            } else: {
                say("a") { _ in .init(line: "no") }
            }
            say("b") { _ in .init(line: "b") }
        }
        let bad = Chain<Int>("bad") { _ in
            When("x") { _ in
                true
            } then: {
                say("b") { _ in .init(line: "b") }
            }
            say("b") { _ in .init(line: "b") }
        }
        let unknown = Chain<Int>("unknown") { _ in
            When("x") { _ in
                true
            } then: {
                Work("l", ListNames.self) { _ in 1 }
            }
        }
        let chains = try await fixture.open([good, bad, unknown])
        await expectError(.malformed) { try await chains.start(bad, input: 1) }
        await expectError(.unknownWorker) { try await chains.start(unknown, input: 1) }
        let id = try await chains.start(good, input: 1)
        try await chains.wait(id, for: .succeeded)
        #expect(fixture.checker.all == ["yes 1", "b 1"])
        await fixture.close()
    }

    @Test("A missing worker of an item suspends the chain, and a version with the worker goes on")
    func missingWorker() async throws {
        let fixture = try EngineFixture()
        let chain = Chain<Int>("missing") { _ in
            say("a") { _ in .init(line: "a") }
            Each("x", of: { _ in [1, 2] }) { number in
                Work("l\(number)", ListNames.self) { _ in number }
            }
            say("b") { _ in .init(line: "b") }
        }
        var chains = try await fixture.open([chain])
        let id = try await chains.start(chain, input: 1)
        try await chains.wait(id, for: .suspended)
        #expect(try await chains.status(id)?.reason?.contains("No worker named list") == true)
        await fixture.close()
        chains = try await fixture.open([chain], workers: workers(fixture))
        try await chains.wait(id, for: .succeeded)
        #expect(fixture.checker.all == ["a 1", "b 1"])
        await fixture.close()
    }

    @Test(
        "A branch that a later version changes suspends the chain; a compatible one keeps the decision and goes on"
    )
    func versions() async throws {
        let fixture = try EngineFixture()
        let box = Flag()
        func version(_ number: Int, _ compatible: Set<Int>, extra: Bool) -> Chain<Int> {
            Chain<Int>("versions", version: number, compatibleWith: compatible) { _ in
                if extra { say("new") { _ in .init(line: "new") } }
                When("if") { _ in
                    box.take()
                } then: {
                    say("a") { _ in .init(line: "a") }
                    if extra { say("extra") { _ in .init(line: "extra") } }
                } else: {
                    say("no") { _ in .init(line: "no") }
                }
                WaitFor(for: .session)
                say("end") { _ in .init(line: "end") }
            }
        }
        let first = version(1, [], extra: false)
        var chains = try await fixture.open([first])
        let id = try await chains.start(first, input: 1)
        try await eventually("it waits") {
            try await chains.status(id)?.tasks.contains { $0.hold == "readiness:session" } == true
        }
        await fixture.close()
        chains = try await fixture.open([version(2, [], extra: true)])
        await fixture.journal?.setReady(.session)
        try await chains.wait(id, for: .suspended)
        await fixture.close()
        chains = try await fixture.open([version(3, [1], extra: true)])
        await fixture.journal?.setReady(.session)
        try await chains.wait(id, for: .succeeded)
        #expect(fixture.checker.all == ["a 1", "new 1", "extra 1", "end 1"])
        #expect(box.count == 1)
        await fixture.close()
    }

    @Test("A decision that is damaged quarantines its chain alone")
    func damaged() async throws {
        let fixture = try EngineFixture()
        let chain = Chain<Int>("damaged") { _ in
            Each("x", of: { _ in ["a"] }) { line in say(line) { _ in .init(line: line) } }
            WaitFor(for: .session)
        }
        var chains = try await fixture.open([chain])
        let id = try await chains.start(chain, input: 1)
        let other = try await chains.start(chain, input: 2)
        for id in [id, other] {
            try await eventually("it waits") {
                try await chains.status(id)?.tasks.last?.hold == "readiness:session"
            }
        }
        await fixture.close()
        try fixture.sqlite("UPDATE chainTask SET input = x'5b22' WHERE chain = 1 AND name = 'x'")
        chains = try await fixture.open([chain])
        await fixture.journal?.setReady(.session)
        try await chains.wait(id, for: .quarantined)
        try await chains.wait(other, for: .succeeded)
        await fixture.close()
    }

    @Test(
        "A chain that is cancelled or paused in a loop stops its items, and goes on with those left"
    )
    func cancelled() async throws {
        let fixture = try EngineFixture()
        let chain = Chain<Int>("loop") { _ in
            Each("x", of: { _ in ["a", "b"] }) { line in
                say(line, compensates: true) { _ in .init(line: line, hangs: line == "b") }
            }
        }
        let chains = try await fixture.open([chain])
        let id = try await chains.start(chain, input: 1)
        try await eventually("a is done, and b runs") {
            try await chains.status(id)?.done == 2 && fixture.checker.all.contains("b 1")
        }
        try await chains.pause(id)
        try await eventually("b is held") {
            try await chains.status(id)?.tasks.last?.hold == "paused"
        }
        try await chains.resume(id)
        try await eventually("b runs again") { fixture.checker.all.contains("b 2") }
        try await chains.cancel(id)
        try await chains.wait(id, for: .cancelled)
        #expect(fixture.checker.all.last == "undo-a 1")
        await fixture.close()
    }
}
