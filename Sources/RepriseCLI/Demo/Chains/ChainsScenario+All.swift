import Foundation
import RepriseCore
import ReprisePhone

extension ChainsScenario {
    /// All, in the order of the demo.
    static func all(_ scale: ChainsScale = .quick) -> [ChainsScenario] {
        copied + killed(scale) + effects + faults + background + others(scale)
    }

    private static let copied = [
        ChainsScenario(
            name: "seed-flow", title: "3 copies, force-quit in step 2", plan: "copies",
            fileBytes: nil
        ) { play in
            try await play.launch()
            try await play.begins("0.copy-2")
            try await play.forceQuit()
            try await play.launch()
            try await play.settles()
        },
        ChainsScenario(
            name: "parallel", title: "8 in parallel, killed after 3", plan: "parallel"
        ) { play in
            try await play.launch()
            try await play.finishes(3)
            try await play.kill()
            try await play.launch()
            try await play.settles()
        },
    ]

    private static func killed(_ scale: ChainsScale) -> [ChainsScenario] {
        [thousand(kills: scale.kills), many, download(bytes: scale.downloadBytes)]
    }

    private static func thousand(kills: Int) -> ChainsScenario {
        ChainsScenario(
            name: "thousand", title: "1,000 steps, killed \(kills) times", plan: "thousand",
            again: kills
        ) { play in
            let stray = max(1, 300 / kills)
            for kill in 1...kills {
                try await play.launch()
                try await play.does(kill * 1_000 / (kills + 1) + Int.random(in: -stray...stray))
                try await play.kill()
            }
            try await play.launch()
            try await play.settles()
        }
    }

    private static let many =
        ChainsScenario(
            name: "many", title: "300 chains of 3 steps, killed", plan: "many", chains: 300,
            again: 8
        ) { play in
            try await play.launch()
            try await play.does(400)
            try await play.kill()
            try await play.launch()
            try await play.settles()
        }

    private static func download(bytes: Int) -> ChainsScenario {
        ChainsScenario(
            name: "download", title: "\(bytes / 1_000_000) MB download, killed 3 times",
            plan: "download", fileBytes: nil
        ) { play in try await download(play, bytes: bytes) }
    }

    private static func download(_ play: ChainsScenarioRunner, bytes count: Int) async throws {
        for share in [0.2...0.4, 0.5...0.65, 0.7...0.9] {
            let place = Int(Double(count) * .random(in: share))
            try await play.launch()
            try await play.until("\(place) bytes were sent") {
                play.server.position >= place && play.effects.last?.label == "0.film"
            }
            try await play.kill()
        }
        try await play.launch()
        try await play.settles()
        let file = play.folder.appendingPathComponent("files/film")
        let bytes = (try? Data(contentsOf: file)).map { Array($0) } ?? []
        play.notes.expect(bytes == play.server.content, "The file is not what the server has.")
        let again = max(0, play.server.sent - count)
        play.notes.setAgain("\((again + 500_000) / 1_000_000) MB")
        // A position is kept each 4 MiB, and the network holds something.
        play.notes.expect(again < 3 * 6_000_000, "\(again) bytes were fetched again.")
    }

    private static let effects = [
        ChainsScenario(
            name: "effect", title: "killed between effect, outcome", plan: "effect", again: 1
        ) { play in
            for task in ["plain", "by-key"] {
                try await play.launch()
                try await play.until("\(task) has had its effect") {
                    play.effects.contains { $0.verb == .done && $0.label == "0.\(task)" }
                }
                try await play.kill()
            }
            try await play.launch()
            try await play.settles()
            guard play.algorithm == .reprise else { return }
            let known = play.effects.contains { $0.verb == .known && $0.label == "0.by-key" }
            play.notes.expect(known, "The worker did not know its key again.")
            play.notes.say("by-key was asked again with the same key, and did it once")
        },
        ChainsScenario(
            name: "retried", title: "fails twice, then succeeds", plan: "retried"
        ) { play in
            try await play.launch()
            try await play.settles()
        },
        ChainsScenario(
            name: "compensated", title: "fails; killed taking it back", plan: "compensated",
            ends: [0: "failed"],
            effects: [
                "0.book-flight", "0.book-hotel", "0.undo-book-hotel", "0.undo-book-flight",
            ], isOfSeed: false
        ) { play in
            try await play.launch()
            try await play.begins("0.undo-book-hotel")
            try await play.kill()
            try await play.launch()
            try await play.settles()
            let compensated = play.effects.filter { $0.verb == .done && $0.label.contains("undo") }
            play.notes.expect(
                compensated.map(\.label) == ["0.undo-book-hotel", "0.undo-book-flight"],
                "It was not taken back in reverse.")
        },
    ]

    private static let faults = [
        ChainsScenario(
            name: "corrupted", title: "4 chains, 2 of them damaged", plan: "corrupted", chains: 4,
            ends: [0: "quarantined", 1: "quarantined"],
            // The one whose file is damaged gets as far as what needs it.
            effects: [
                "0.list", "1.list", "1.wait", "2.list", "2.wait", "2.use", "3.list", "3.wait",
                "3.use",
            ]
        ) { play in
            try await play.launch()
            for chain in 0..<4 { try await play.begins("\(chain).wait") }
            try await play.kill()
            switch play.algorithm {
            case .reprise:
                try play.sqlite("UPDATE chain SET input = x'7b' WHERE name = 'c0'")
                let name = try play.text(
                    """
                    SELECT outputFile FROM chainTask AS t JOIN chain AS c ON c.seq = t.chain
                    WHERE c.name = 'c1' AND outputFile IS NOT NULL
                    """)
                if let name {
                    try play.damage(play.folder.appendingPathComponent("outputs/\(name)"))
                }
                try await play.launch()
                try await play.settlesInJournal()
            case .singleValue:
                let name = "com.brewkits.native_workmanager.json"
                try play.damage(play.folder.appendingPathComponent(name))
                try await play.launch()
            }
        },
        ChainsScenario(
            name: "full", title: "disk full at a checkpoint", plan: "full", again: 1,
            isOfSeed: SmallDisk.isPossible, isOnSmallDisk: true
        ) { play in try await full(play) },
    ]

    private static let background = [
        ChainsScenario(
            name: "slots", title: "opened once, then slots only", plan: "slots", again: 6,
            backgroundSeconds: 1
        ) { play in
            try await play.launch()
            try await play.does(1)
            try await play.goesHome()
            try await play.kill()
            var slots = 0
            while try await !play.hasEnded(), slots < 20, try await play.slot(tasks: 3) {
                slots += 1
            }
            play.notes.say("\(slots) slots")
            guard play.algorithm == .reprise else { return }
            play.notes.expect(slots > 2, "It took \(slots) slots: that shows nothing.")
        },
        ChainsScenario(
            name: "force-quit", title: "force-quit: none until opened", plan: "slots", again: 1,
            backgroundSeconds: 1
        ) { play in
            try await play.launch()
            try await play.does(1)
            try await play.goesHome()
            try await play.forceQuit()
            let hasRun = try await play.slot(tasks: 1)
            play.notes.expect(!hasRun, "A force-quit app was given time.")
            try await play.launch()
            try await play.settles()
        },
        ChainsScenario(
            name: "transfer", title: "transfer outlives the app", plan: "transfer",
            isOfSeed: false, fileBytes: nil
        ) { play in
            try await play.launch()
            try await play.phone.expects(.phone(.transferRuns, app: play.app.id))
            try await play.goesHome(untilSuspended: false)
            try await play.kill()
            let killed = play.effects.count { $0.verb == .life }
            try await play.settles()
            play.notes.expect(
                play.effects.count { $0.verb == .life } == killed + 1, "The phone did not wake it.")
        },
    ]

    private static func others(_ scale: ChainsScale) -> [ChainsScenario] {
        versions + [
            ChainsScenario(
                name: "waiting", title: "\(scale.waiting.grouped) chains wait", plan: "waiting",
                chains: 0, effects: ["\(scale.waiting).first"], waiting: scale.waiting,
                isOfSeed: false
            ) { play in try await waiting(play, scale.waiting) }
        ]
    }

    private static let versions = [
        ChainsScenario(
            name: "upgrade", title: "updated: parked, then goes on", plan: "upgrade",
            effects: ["0.first", "0.second", "0.third", "0.extra"], isOfSeed: false
        ) { play in
            try await play.launch()
            try await play.begins("0.second")
            try await play.update(to: 2)
            try await play.launch()
            try await play.until("it is suspended") {
                try await play.states()[0]?.state == "suspended"
            }
            try await play.update(to: 3)
            try await play.launch()
            try await play.settles()
        },
        ChainsScenario(
            name: "second", title: "2nd process; frozen for 3 days", plan: "second", again: 1
        ) { play in try await second(play) },
    ]
}
