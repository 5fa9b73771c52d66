import ArgumentParser
import Foundation
import RepriseCore

/// Makes the parts of the demo, each alone or all together.
extension DemoCommand {
    /// `reprise demo all`.
    func all() async throws {
        if !json {
            try StandardOutput.write(
                Terminal.output.paint("Reprise demo", .bold)
                    + "\nFive doors, for real: processes, sockets, SIGKILL. Three to five minutes.")
        }
        let demo = AllDemo(parts: parts, isQuiet: json)
        let report = try await Self.ending { try await demo.play() }
        try StandardOutput.write(json ? try report.json() : report.table(Terminal.output))
        if !report.hasPassed { throw ExitCode(ExitStatus.incomplete.rawValue) }
    }

    private var parts: [AllDemo.Part] {
        [
            .init(name: "forms", title: "push taps on an app that is not ready (90 s)") {
                // Its timelines would be a book: reprise demo forms prints them.
                try await formsDemo(isQuiet: true).play()
            },
            .init(name: "kill", title: "messages to a device that is killed (20 s)") {
                try await killScenario().play()
            },
            .init(name: "catch-up", title: "a backlog out of order, cut off (15 s)") {
                try await catchUpScenario(isFast: true).play()
            },
            .init(name: "reminders", title: "taps on reminders of what is gone (40 s)") {
                try await remindersDemo.play()
            },
            .init(name: "chains", title: "work that is killed between any two steps (60 s)") {
                try await chainsDemo.play()
            },
            .init(name: "notices", title: "messages to an app that does not run (60 s)") {
                try await noticesDemo.play()
            },
        ]
    }

    func formsDemo(isQuiet: Bool) -> FormsDemo {
        let folder =
            output.map { URL(fileURLWithPath: $0) }
            ?? FileManager.default.temporaryDirectory
            .appendingPathComponent("reprise-forms-\(EntryID.random().text.prefix(8))")
        return FormsDemo(
            scenarios: FormsScenario.picked(only),
            algorithms: alone ? [.reprise] : FormsAlgorithm.allCases, output: folder,
            isQuiet: isQuiet)
    }

    var remindersDemo: RemindersDemo {
        RemindersDemo(
            scenarios: RemindersScenario.picked(only),
            algorithms: alone ? [.reprise] : RemindersAlgorithm.allCases,
            output: output.map { URL(fileURLWithPath: $0) }, printsTimelines: !only.isEmpty,
            isQuiet: json)
    }

    var chainsScale: ChainsScale { full ? .full : .quick }

    var chainsDemo: ChainsDemo {
        ChainsDemo(
            scenarios: ChainsScenario.all(chainsScale).filter {
                only.isEmpty || only.contains($0.name)
            }, scale: chainsScale,
            algorithms: alone ? [.reprise] : ChainsAlgorithm.allCases,
            output: output.map { URL(fileURLWithPath: $0) }, tells: !only.isEmpty, isQuiet: json)
    }

    func killScenario() throws -> KillScenario {
        let seed = seed ?? UInt64.random(in: 1...999_999)
        let text = try DemoText(file: file)
        let timeline = Timeline(isQuiet: json)
        try timeline.title([
            "Reprise demo: kill, seed \(seed)",
            "\(messages.grouped) lines of \(text.source), \(kills) kills of the devices, 1 of the server.",
        ])
        return KillScenario(
            seed: seed, messages: messages, kills: kills, text: text, timeline: timeline)
    }

    func catchUpScenario(isFast: Bool) throws -> CatchUpScenario {
        let seed = seed ?? UInt64.random(in: 1...999_999)
        let timeline = Timeline(
            isQuiet: json,
            columns: [
                ("stored", 7), ("first", 6), ("repaired", 9), ("+ signal", 9), ("reprise", 8),
            ])
        try timeline.title([
            "Reprise demo: catch-up, seed \(seed)",
            "What seed 001 prescribes for its repair, for real; it takes about "
                + (isFast ? "15 s." : "70 s."),
        ])
        return CatchUpScenario(
            seed: seed, speed: isFast ? 8 : 1, text: try DemoText(file: file), timeline: timeline)
    }
}
