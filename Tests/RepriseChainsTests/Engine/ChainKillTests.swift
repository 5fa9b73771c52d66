import Foundation
import RepriseChains
import RepriseCore
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import Testing

/// Real processes are killed; what took place is read from a file that the journal knows nothing
/// of.
@Suite("Chains that are killed", .serialized)
struct ChainKillTests {
    private struct Line: Hashable {
        var key: String
        var attempt: Int
        var text: String

        var task: String { String(key.split(separator: "/").last ?? "") }
    }

    /// A chain, its journal and the file of its effects.
    private struct Stage: Sendable {
        let folder: TemporaryFolder
        var journal: URL { folder.appending("journal") }
        var file: String { folder.appending("effects").path }

        init() throws { folder = try TemporaryFolder() }

        func process(_ chain: String, _ count: Int, _ wait: Int = 0, _ more: [String] = []) throws
            -> ChildProcess
        {
            try ChildProcess(
                .sibling("ChainRunner"),
                [journal.path, file, chain, "\(count)", "\(wait)"] + more)
        }

        var lines: [Line] {
            let text = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
            return text.split(separator: "\n").map { line in
                let words = line.trimmingCharacters(in: .whitespaces)
                    .split(separator: " ", maxSplits: 2).map(String.init)
                guard words.count == 3 else {
                    Issue.record("no effect of a task: \(line)")
                    return Line(key: "/", attempt: 0, text: "")
                }
                return Line(key: words[0], attempt: Int(words[1]) ?? 0, text: words[2])
            }
        }

        /// Waits for so many effects.
        func wait(for count: Int, _ process: ChildProcess) {
            let end = ContinuousClock.now + .seconds(10)
            while lines.count < count, ContinuousClock.now < end { usleep(1_000) }
        }

        /// Waits until the outcomes of so many tasks are durable.
        func waitUntilDone(_ count: Int) throws {
            let viewer = ChainViewer(at: journal, schemas: [Chains.schema])
            let end = ContinuousClock.now + .seconds(10)
            while try viewer.list(limit: 1).chains.first?.doneCount ?? 0 < count,
                ContinuousClock.now < end
            { usleep(1_000) }
        }

        func checkLedger() throws {
            let sum = try Journal.ledger(at: journal, schemas: [Chains.schema])
            #expect(sum.isBalanced)
            #expect(sum.pending == 0)
        }
    }

    @Test(
        "A chain of 1,000 steps that is killed 100 times does every step, in order, and none but the interrupted ones twice"
    )
    func thousandSteps() async throws {
        let stage = try Stage()
        let began = ContinuousClock.now
        let kills = try await onThread { () -> Int in
            var (kills, lines, inVain) = (0, 0, 0)
            while ContinuousClock.now < began + .seconds(400) {
                // A task that is killed fifty times in a row is given up: on a busy machine it gets
                // longer.
                inVain = stage.lines.count == lines ? inVain + 1 : 0
                lines = stage.lines.count
                // A step takes a millisecond at least: a fast disk leaves no steps to kill.
                let process = try stage.process("steps", 1_000, 1)
                guard process.readLine() == "open" else {
                    process.kill()
                    kills += 1
                    continue
                }
                if kills < 100 {
                    // Some steps after the kill before, and somewhere within a step. The last 200
                    // steps are left, because on a busy machine the kill comes late.
                    let mark = (kills + 1) * 8
                    let fuse = UInt32.random(in: 0..<6_000) << UInt32(min(inVain / 5, 4))
                    Thread {
                        stage.wait(for: mark, process)
                        usleep(fuse)
                        process.signal(SIGKILL)
                    }.start()
                }
                let said = process.readLine()
                if said == "ended succeeded" { return kills }
                #expect(said == nil)
                process.wait()
                kills += 1
            }
            return -1
        }
        print("ChainKillTests: \(kills) kills in \(ContinuousClock.now - began)")
        #expect(kills >= 100, "it was killed while it was at work")
        let lines = stage.lines
        // Each task under one key, and only such twice as were in hand when the process died.
        #expect(Set(lines.map(\.key)).count == 1_000)
        #expect(lines.count <= 1_000 + kills)
        var last = -1
        for line in lines {
            let number = Int(line.task.dropFirst("step-".count)) ?? -1
            #expect(number == last || number == last + 1, "no step before the one before is done")
            last = max(last, number)
            if number > 1 { #expect(line.text == "\(number) after \(number - 1)") }
        }
        #expect(last == 999)
        try stage.checkLedger()
    }

    @Test(
        "A chain whose steps depend on earlier outputs, killed 25 times, does what was decided, and none but the interrupted tasks twice"
    )
    func decisions() async throws {
        let stage = try Stage()
        let numbers = 80
        let kills = try await onThread { () -> Int in
            var kills = 0
            let end = ContinuousClock.now + .seconds(50)
            while ContinuousClock.now < end {
                let process = try stage.process("deciding", numbers, 20)
                if kills < 25 {
                    let mark = stage.lines.count + 1
                    let fuse = UInt32.random(in: 0..<8_000)
                    Thread {
                        stage.wait(for: mark, process)
                        usleep(fuse)
                        process.signal(SIGKILL)
                    }.start()
                }
                while let said = process.readLine() {
                    if said == "ended succeeded" { return kills }
                    #expect(said == "open")
                }
                process.wait()
                kills += 1
            }
            return -1
        }
        #expect(kills >= 10, "it was killed while it was at work")
        let lines = stage.lines
        #expect(Set(lines.map(\.key)).count == 2 + 2 * numbers)
        // Eight tasks are at work at most.
        #expect(lines.count <= 2 + 2 * numbers + 8 * kills)
        for number in 0..<numbers {
            let ends = lines.filter { $0.key.hasSuffix("/n\(number)%2Feven-or-odd") }
            #expect(Set(ends.map(\.text)) == [number.isMultiple(of: 2) ? "even" : "odd"])
        }
        #expect(lines.last?.text == "odd")
        try stage.checkLedger()
    }

    @Test("A schedule that is killed 8 times starts each time once, one run at a time, and goes on")
    func schedule() async throws {
        let stage = try Stage()
        try await onThread {
            for kill in 0..<9 {
                let process = try stage.process("ticking", 0, 20)
                #expect(process.readLine() == "open")
                #expect(process.readLine() == (kill == 0 ? "added" : "kept"))
                stage.wait(for: stage.lines.count + (kill < 8 ? 1 : 5), process)
                // Somewhere between two times, or within a run.
                usleep(UInt32.random(in: 0..<300_000))
                process.kill()
            }
        }
        let viewer = ChainViewer(at: stage.journal, schemas: [Chains.schema])
        let runs = Array(try viewer.list(limit: 1_000).chains.reversed())
        #expect(runs.count > 3)
        for (former, run) in zip(runs, runs.dropFirst()) {
            let (start, end) = (try #require(former.startedAt), try #require(former.endedAt))
            let next = try #require(run.startedAt)
            // Its fast clocks are read one after the other: a pause in between sets the calendar.
            #expect(start.duration(to: next) >= .seconds(450), "a time has one run")
            #expect(end <= next, "no two of them are under way")
            #expect(former.state == .succeeded && run.name == "ticking")
        }
        let ids = Set(
            stage.lines.compactMap { $0.key.split(separator: "/").first.map(String.init) })
        #expect(ids.isSubset(of: runs.map { $0.id }))
        #expect(ids.count >= runs.count - 1, "all but the last have taken place")
        let schedule = try #require(try viewer.schedules().first)
        #expect(schedule.next != nil && schedule.reason == nil)
        #expect(schedule.lastRun?.text == runs.last?.id)
    }

    @Test("Of eight parallel tasks killed after three, only those without an outcome run again")
    func parallelTasks() async throws {
        let stage = try Stage()
        try await onThread {
            // Far enough apart that the kill comes before the last.
            let process = try stage.process("parallel", 8, 500)
            stage.wait(for: 3, process)
            try stage.waitUntilDone(3)
            process.kill()
            let before = stage.lines.map(\.task)
            #expect(before.count >= 3 && before.count < 8)
            let next = try stage.process("parallel", 8, 500)
            #expect(next.readLine() == "open")
            #expect(next.readLine() == "ended succeeded")
            next.wait()
            let after = stage.lines.dropFirst(before.count).map(\.task)
            #expect(Set(before.prefix(3)).isDisjoint(with: after))
            #expect(after.last == "last")
            #expect(Set(before + after).count == 9)
        }
        try stage.checkLedger()
    }

    @Test(
        "A task killed between its effect and the record runs again with the same key, and is told so"
    )
    func sameKey() async throws {
        let stage = try Stage()
        try await onThread {
            let process = try stage.process("hanging", 1)
            stage.wait(for: 1, process)
            process.kill()
            let next = try stage.process("hanging", 1)
            #expect(next.readLine() == "open")
            #expect(next.readLine() == "ended succeeded")
            next.wait()
        }
        let lines = stage.lines
        #expect(lines.map(\.task) == ["hang", "hang", "after"])
        #expect(lines[0].key == lines[1].key)
        #expect(lines.map(\.attempt) == [1, 2, 1])
        try stage.checkLedger()
    }

    @Test("A process that was frozen while its journal was taken over begins nothing when it wakes")
    func frozen() async throws {
        let stage = try Stage()
        try await onThread {
            // Three seconds in all: it is frozen long before its end.
            let frozen = try stage.process("steps", 60, 50)
            #expect(frozen.readLine() == "open")
            stage.wait(for: 5, frozen)
            var next: ChildProcess?
            for _ in 0..<50 {
                frozen.signal(SIGSTOP)
                let process = try stage.process("steps", 60, 50, ["takeover"])
                if process.readLine() == "open" {
                    next = process
                    break
                }
                frozen.signal(SIGCONT)  // frozen inside a transaction: SQLite's own lock stands
                process.wait()
            }
            let owner = try #require(next)
            #expect(owner.readLine() == "ended succeeded")
            owner.wait()
            let before = stage.lines.count
            frozen.signal(SIGCONT)
            let said = frozen.readLine()
            #expect(said == "error ownershipLost")
            frozen.wait()
            // What it had in hand may finish; its successor has done that, too, with the same key.
            #expect(stage.lines.count <= before + 1)
            #expect(Set(stage.lines.map(\.key)).count == 60)
        }
        try stage.checkLedger()
    }
}
