import Foundation
import GRDB
import RepriseCommandLine
import RepriseCore
import ReprisePhone

extension Step<ChainsSession> {
    // MARK: The app

    static func does(_ count: Int) -> Step { Step { try await $0.does(count) } }
    /// This number of tasks of the first chain are done, as far as the app may know.
    static func finishes(_ count: Int) -> Step {
        until("\(count) tasks are done") { session in
            guard session.isReprise else { return session.done >= count }
            return try await session.states()[0].map { $0.done >= count } ?? false
        }
    }
    /// A task has begun.
    static func begins(_ label: String) -> Step { sees(.began, label) }
    /// A task has had its effect.
    static func hasDone(_ label: String) -> Step { sees(.done, label) }
    private static func sees(_ verb: ChainsEffects.Verb, _ label: String) -> Step {
        until("\(verb) \(label)") { session in
            session.effects.contains { $0.verb == verb && $0.label == label }
        }
    }
    /// The app is replaced by another version.
    static func update(to version: Int) -> Step { install("--version", "\(version)") }
    static var isSuspended: Step {
        until("it is suspended") { try await $0.states()[0]?.state == "suspended" }
    }
    /// The app's time in the background passes.
    static var backgroundTimePasses: Step { Step { try await $0.expect(.suspended) } }
    /// Something that must hold now, of Reprise.
    static func check(
        _ fault: String, _ holds: @escaping @Sendable (ChainsSession) async throws -> Bool
    ) -> Step {
        Step(fault) { session in
            guard session.isReprise else { return }
            session.check(try await holds(session), fault)
        }
    }

    // MARK: Downloads and transfers

    /// The server sends so much of the film and no more: a kill behind it falls into a download.
    static func sends(upTo bytes: Int) -> Step { Step { $0.server.sends(upTo: bytes) } }
    /// The server has sent so much of the film.
    static func hasSent(_ bytes: Int) -> Step {
        until("\(bytes) bytes were sent") {
            $0.server.position >= bytes && $0.effects.last?.label == "0.film"
        }
    }
    static func checkFilm(_ count: Int) -> Step {
        Step { session in
            let file = session.folder.appendingPathComponent("files/film")
            let bytes = (try? Data(contentsOf: file)).map { Array($0) } ?? []
            session.check(bytes == session.server.film, "The file is not what the server has.")
            let again = max(0, session.server.sent - count)
            session.notes.update { $0.again = "\((again + 500_000) / 1_000_000) MB" }
            // A position is kept each 4 MiB, and the network holds something.
            session.check(again < 3 * 6_000_000, "\(again) bytes were fetched again.")
        }
    }
    /// SIGKILL while the phone fetches; it wakes the app when it has the file.
    static var killDuringTransfer: Step {
        Step { session in
            try await session.expect(.transferRuns)
            try await session.goHome()
            try await session.kill()
            let killed = session.effects.count { $0.verb == .life }
            session.server.sendsTransfer()
            try await session.settle()
            session.check(
                session.effects.count { $0.verb == .life } == killed + 1,
                "The phone did not wake it.")
        }
    }

    // MARK: The background

    /// Slots, until every chain has come to its end; the app is killed after each.
    static func slots(tasks: Int) -> Step {
        Step { session in
            var slots = 0
            while try await !session.hasEnded(), slots < 20, try await session.slot(tasks: tasks) {
                slots += 1
            }
            session.remark("\(slots) slots")
            guard session.isReprise else { return }
            session.check(slots > 2, "It took \(slots) slots: that shows nothing.")
        }
    }
    static var noSlot: Step {
        Step { session in
            let hasRun = try await session.slot(tasks: 1)
            session.check(!hasRun, "A force-quit app was given time.")
        }
    }

    // MARK: The disk

    /// Damages the input of the first chain and an output of the second; the original app's only
    /// value.
    static var damage: Step {
        Step { session in
            guard session.isReprise else {
                return try session.damage(
                    session.folder.appendingPathComponent("com.brewkits.native_workmanager.json"))
            }
            let name = try session.withDatabase { db in
                try db.execute(sql: "UPDATE chain SET input = x'7b' WHERE name = 'c0'")
                return try String.fetchOne(
                    db,
                    sql: """
                        SELECT outputFile FROM chainTask AS t JOIN chain AS c ON c.seq = t.chain
                        WHERE c.name = 'c1' AND outputFile IS NOT NULL
                        """)
            }
            if let name {
                try session.damage(session.folder.appendingPathComponent("outputs/\(name)"))
            }
        }
    }
    static var settleInJournal: Step { Step { if $0.isReprise { try await $0.settleInJournal() } } }
    static var isFull: Step { until("the app was told") { try await $0.count("app.full") > 0 } }
    /// There is space again, and the app is launched; the original app has ended before, without
    /// knowing it.
    static var goesOnWithRoom: Step {
        Step { session in
            let hasSucceeded = { @Sendable (event: PhoneEvent) in
                event.what == "app.chain" && event.detail.hasPrefix("0 succeeded")
            }
            let ends = try await session.log().count(where: hasSucceeded)
            SmallDisk.makeRoom(session.folder)
            try await session.launch()
            try await session.until("the chain has come to its end") {
                try await session.log().count(where: hasSucceeded) > ends
            }
            guard session.isReprise else { return }
            let log = try await session.log()
            let told = log.filter { $0.what == "app.full" }.map(\.detail)
            session.check(told == ["diskFull"], "The worker was told \(told).")
            let positions = log.filter { $0.what == "app.position" }.map(\.detail)
            session.check(
                positions.first == "-" && positions.dropFirst().allSatisfy { $0 == "first" }
                    && positions.count > 1, "It began at \(positions).")
            session.remark("the worker was told, and went on from the position before")
        }
    }

    // MARK: Other processes

    /// A second process is refused.
    static var secondProcess: Step {
        Step { session in
            guard session.isReprise else { return }
            let other = try session.otherProcess()
            let said = try await session.answer(of: other)
            await other.terminate()
            session.check(said == "stopped journalOwned", "A second process said: \(said).")
        }
    }
    /// SIGSTOP to the app; another process takes over, and ends the chain.
    static var takeOver: Step {
        Step { session in
            var owner: DemoProcess?
            for _ in 0..<20 where owner == nil {
                try await session.phone.suspend(session.id)
                try await session.expect(.suspended)
                let other = try session.otherProcess(session.isReprise ? ["--take-over"] : [])
                if try await session.answer(of: other).hasPrefix("started") {
                    owner = other
                } else {
                    // Suspended inside a transaction: SQLite's lock stays held.
                    await other.terminate()
                    try await session.phone.resume(session.id)
                }
            }
            guard let owner else {
                return session.check(false, "The journal was not taken over.")
            }
            try await session.advance(by: .days(3))
            while true {
                let words = try await owner.line().split(separator: " ")
                guard words.count == 4, words[0] == "chain", words[2] == "succeeded" else {
                    continue
                }
                session.notes.update { $0.states[0] = "succeeded" }
                break
            }
            await owner.terminate()
        }
    }
    /// The app wakes, and finds that it has lost the journal.
    static var wakes: Step {
        Step { session in
            try await session.phone.launch(session.id)
            guard session.isReprise else { return try await session.settle() }
            let report = try await session.expectReport("stopped")
            session.check(report.detail == "ownershipLost", "It woke and \(report.detail).")
        }
    }

    // MARK: Many chains

    /// Chains that wait; then the app is started among them.
    static func startAmong(_ count: Int) -> Step {
        Step { session in
            try await session.app.install(["--chains", "\(count)"])
            try await session.launch()
            try await session.waits(count)
            try await session.kill()
            let alone = session.effects.count
            try await session.app.install(["--chains", "\(count)", "--then", "one"])
            try await session.launch()
            try await session.until("the first task has run") {
                session.effects.dropFirst(alone).contains { $0.verb == .done }
            }
            try await session.waits(count)
            let log = try await session.log()
            let opened = log.last { $0.what == "app.journal" }?.microseconds
            let began = log.last { $0.what == "app.process" }?.microseconds
            if let opened, let began {
                let first = session.effects.last { $0.verb == .done }?.microseconds ?? 0
                session.remark(
                    "first task done after \((first - began) / 1_000) ms, "
                        + "journal open after \((opened - began) / 1_000) ms")
            }
            if let process = session.checker.process, let bytes = ChainsMeter.memory(of: process) {
                session.remark("\(bytes / 1_000_000) MB in memory, of all that the tool is")
            }
        }
    }
}
