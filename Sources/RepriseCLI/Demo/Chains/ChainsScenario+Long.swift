import Foundation
import RepriseCore
import ReprisePhone

extension ChainsScenario {
    /// A second process, then one that takes over while the first is frozen.
    static func second(_ play: ChainsScenarioRunner) async throws {
        try await play.launch()
        try await play.does(3)
        if play.algorithm == .reprise {
            let other = try play.otherProcess()
            let said = try await Self.last(of: other)
            play.notes.expect(said == "stopped journalOwned", "A second process said: \(said).")
        }
        try await play.goesHome(untilSuspended: false)
        var owner: DemoProcess?
        for _ in 0..<20 where owner == nil {
            try await play.phone.suspend(play.app.id)
            try await play.phone.expects(.phone(.suspended, app: play.app.id))
            let other = try play.otherProcess(
                play.algorithm == .reprise ? ["--take-over"] : [])
            if try await Self.line(of: other, ["started", "stopped"]).hasPrefix("started") {
                owner = other
            } else {
                // Suspended inside a transaction: SQLite's lock stays held.
                await other.terminate()
                try await play.phone.resume(play.app.id)
            }
        }
        guard let owner else { return play.notes.expect(false, "The journal was not taken over.") }
        try await play.phone.advance(by: .seconds(3 * 86_400))
        while true {
            let words = try await owner.line().split(separator: " ")
            guard words.count == 4, words[0] == "chain", words[2] == "succeeded" else { continue }
            play.notes.set(0, "succeeded")
            break
        }
        await owner.terminate()
        try await play.phone.launch(play.app.id)
        switch play.algorithm {
        case .reprise:
            let report = try await play.phone.expects(.report("stopped", app: play.app.id))
            play.notes.expect(report.detail == "ownershipLost", "It woke and \(report.detail).")
        case .singleValue: try await play.settles()
        }
    }

    private static func line(of process: DemoProcess, _ words: [String]) async throws -> String {
        while true {
            let line = try await process.line()
            if words.contains(where: { line.hasPrefix($0) }) { return line }
        }
    }

    private static func last(of process: DemoProcess) async throws -> String {
        let line = try await line(of: process, ["started", "stopped"])
        await process.terminate()
        return line
    }

    /// A disk that fills up just when a task keeps its position; the app is killed, and restarted
    /// with free space.
    static func full(_ play: ChainsScenarioRunner) async throws {
        try await play.launch()
        try await play.until("the app was told") {
            try await play.log().contains { $0.what == "app.full" }
        }
        try await play.kill()
        let ends = try await play.log().count(where: hasSucceeded)
        SmallDisk.makeRoom(play.folder)
        try await play.launch()
        // The original app has ended before, without knowing it.
        try await play.until("the chain has come to its end") {
            try await play.log().count(where: hasSucceeded) > ends
        }
        guard play.algorithm == .reprise else { return }
        let log = try await play.log()
        let told = log.filter { $0.what == "app.full" }.map(\.detail)
        play.notes.expect(told == ["diskFull"], "The worker was told \(told).")
        let positions = log.filter { $0.what == "app.position" }.map(\.detail)
        play.notes.expect(
            positions.first == "-" && positions.dropFirst().allSatisfy { $0 == "first" }
                && positions.count > 1, "It began at \(positions).")
        play.notes.say("the worker was told, and went on from the position before")
    }

    private static func hasSucceeded(_ event: PhoneEvent) -> Bool {
        event.what == "app.chain" && event.detail.hasPrefix("0 succeeded")
    }

    /// Chains that wait; then the app is started among them.
    static func waiting(_ play: ChainsScenarioRunner, _ count: Int) async throws {
        var app = play.app
        app.arguments = app.arguments.map { $0 == "0" ? "\(count)" : $0 }
        try await play.phone.install(app)
        try await play.launch()
        try await play.waits(count)
        try await play.kill()
        let alone = play.effects.count
        app.arguments += ["--then", "one"]
        try await play.phone.install(app)
        try await play.launch()
        try await play.until("the first task has run") {
            play.effects.dropFirst(alone).contains { $0.verb == .done }
        }
        try await play.waits(count)
        let log = try await play.log()
        let opened = log.last { $0.what == "app.journal" }?.microseconds
        let began = log.last { $0.what == "app.process" }?.microseconds
        if let opened, let began {
            let first = play.effects.last { $0.verb == .done }?.microseconds ?? 0
            play.notes.say(
                "first task done after \((first - began) / 1_000) ms, journal open after \((opened - began) / 1_000) ms"
            )
        }
        if let process = play.checker.process, let bytes = ChainsMeter.memory(of: process) {
            play.notes.say("\(bytes / 1_000_000) MB in memory, of all that the tool is")
        }
    }
}
