import RepriseCommandLine
import RepriseCore
import ReprisePhone
import RepriseSimulator

/// One scenario of the demo `chains`: its actions on the phone, and its expected results.
struct ChainsScenario: Scenario {
    let name: String
    let title: String
    /// The chains' plan; its name in ``ChainsPlan``.
    let plan: String
    var chains = 1
    /// How each chain has to end, where that is not by success.
    var ends: [Int: String] = [:]
    /// The tasks that Reprise may repeat: those in flight at a kill.
    var again = 0
    /// The effects that have to be there, in whatever order; nil: those of the plan, for each chain
    /// that succeeds.
    var effects: [String]?
    /// Chains that wait at the end.
    var waiting = 0
    var isInCaseStudy = true
    /// Whether the app's data is on a small disk of its own, where that is possible.
    var isOnSmallDisk = false
    var rules = PhoneRules()
    /// Bytes of files that the tasks write, beside the bookkeeping; nil: not distinguishable.
    var fileBytes: Int? = 0
    let steps: [Step<ChainsSession>]

    /// How a chain has to end.
    func end(of chain: Int) -> String { ends[chain] ?? "succeeded" }

    /// All, in the order of the demo.
    static func all(_ settings: DemoSettings = DemoSettings()) -> [ChainsScenario] {
        var random = SeededRandom(seed: settings.seed ?? .random(in: 1...999_999))
        return copied + killed(settings, &random) + outcomes + damaged + background + updates
            + [waiting(settings)]
    }
}

extension ChainsScenario {
    private static let copied = [
        ChainsScenario(
            name: "seed-flow", title: "3 copies, force-quit in step 2", plan: "copies",
            fileBytes: nil,
            steps: [.launch, .begins("0.copy-2"), .forceQuit, .launch, .settle]),
        ChainsScenario(
            name: "parallel", title: "8 in parallel, killed after 3", plan: "parallel",
            steps: [
                .launch, .forEach(4...8) { [.begins("0.task-\($0)")] }, .finishes(3), .kill,
                .launch, .settle,
            ]),
    ]

    private static func killed(
        _ settings: DemoSettings, _ random: inout SeededRandom
    ) -> [ChainsScenario] {
        let kills = settings.isFull ? 100 : 20
        let stray = max(1, 300 / kills)
        let places = (1...kills).map { kill in
            kill * 1_000 / (kills + 1) + Int.random(in: -stray...stray, using: &random)
        }
        let bytes = downloadBytes(settings)
        let positions = [0.2...0.4, 0.5...0.65, 0.7...0.9].map { share in
            Int(Double(bytes) * .random(in: share, using: &random))
        }
        return [
            ChainsScenario(
                name: "thousand", title: "1,000 steps, killed \(kills) times", plan: "thousand",
                again: kills,
                steps: [
                    .forEach(places) { [.launch, .does($0), .kill] }, .launch, .settle,
                ]),
            ChainsScenario(
                name: "many", title: "300 chains of 3 steps, killed", plan: "many", chains: 300,
                again: 8, steps: [.launch, .does(400), .kill, .launch, .settle]),
            ChainsScenario(
                name: "download", title: "\(bytes / 1_000_000) MB download, killed 3 times",
                plan: "download", fileBytes: nil,
                steps: [
                    .forEach(positions) { [.sends(upTo: $0), .launch, .hasSent($0), .kill] },
                    .sends(upTo: bytes), .launch, .settle, .checkFilm(bytes),
                ]),
        ]
    }

    /// The bytes of the file that is fetched; a multiple of 8.
    static func downloadBytes(_ settings: DemoSettings) -> Int {
        settings.isFull ? 50_000_000 : 16_000_000
    }

    private static let outcomes = [
        ChainsScenario(
            name: "effect", title: "killed between effect, outcome", plan: "effect", again: 1,
            steps: [
                .launch, .hasDone("0.plain"), .kill, .launch, .hasDone("0.by-key"), .kill,
                .launch, .settle,
                .check("The worker did not know its key again.") { session in
                    session.effects.contains { $0.verb == .known && $0.label == "0.by-key" }
                },
                Step("remark") { session in
                    guard session.isReprise else { return }
                    session.remark("by-key was asked again with the same key, and did it once")
                },
            ]),
        ChainsScenario(
            name: "retried", title: "fails twice, then succeeds", plan: "retried",
            steps: [.launch, .settle]),
        ChainsScenario(
            name: "compensated", title: "fails; killed taking it back", plan: "compensated",
            ends: [0: "failed"],
            effects: [
                "0.book-flight", "0.book-hotel", "0.undo-book-hotel", "0.undo-book-flight",
            ], isInCaseStudy: false,
            steps: [
                .launch, .begins("0.undo-book-hotel"), .kill, .launch, .settle,
                .check("It was not taken back in reverse.") { session in
                    session.effects.filter { $0.verb == .done && $0.label.contains("undo") }
                        .map(\.label) == ["0.undo-book-hotel", "0.undo-book-flight"]
                },
            ]),
    ]

    private static let damaged = [
        // The chain whose file is damaged gets as far as what needs it.
        ChainsScenario(
            name: "corrupted", title: "4 chains, 2 of them damaged", plan: "corrupted", chains: 4,
            ends: [0: "quarantined", 1: "quarantined"],
            effects: [
                "0.list", "1.list", "1.wait", "2.list", "2.wait", "2.use", "3.list", "3.wait",
                "3.use",
            ],
            steps: [
                .launch, .forEach(0..<4) { [.begins("\($0).wait")] }, .kill, .damage, .launch,
                .settleInJournal,
            ]),
        ChainsScenario(
            name: "full", title: "disk full at a checkpoint", plan: "full", again: 1,
            isInCaseStudy: SmallDisk.isPossible, isOnSmallDisk: true,
            steps: [.launch, .isFull, .kill, .goesOnWithRoom]),
    ]

    private static let background = [
        ChainsScenario(
            name: "slots", title: "opened once, then slots only", plan: "slots", again: 6,
            rules: PhoneRules(backgroundSeconds: 3),
            steps: [.launch, .does(1), .home, .backgroundTimePasses, .kill, .slots(tasks: 3)]),
        ChainsScenario(
            name: "force-quit", title: "force-quit: none until opened", plan: "force-quit",
            again: 1, rules: PhoneRules(backgroundSeconds: 3),
            steps: [
                .launch, .does(1), .home, .backgroundTimePasses, .forceQuit, .noSlot, .launch,
                .settle,
            ]),
        ChainsScenario(
            name: "transfer", title: "transfer outlives the app", plan: "transfer",
            isInCaseStudy: false, fileBytes: nil, steps: [.launch, .killDuringTransfer]),
    ]

    private static let updates = [
        ChainsScenario(
            name: "upgrade", title: "updated: suspended, then goes on", plan: "upgrade",
            effects: ["0.first", "0.second", "0.third", "0.extra"], isInCaseStudy: false,
            steps: [
                .launch, .begins("0.second"), .update(to: 2), .launch, .isSuspended,
                .update(to: 3), .launch, .settle,
            ]),
        ChainsScenario(
            name: "second", title: "2nd process; frozen for 3 days", plan: "second", again: 1,
            steps: [.launch, .does(3), .secondProcess, .home, .takeOver, .wakes]),
    ]

    private static func waiting(_ settings: DemoSettings) -> ChainsScenario {
        // 10,000 take a debug build a quarter of a minute to start.
        let count = settings.isFull ? 10_000 : 2_000
        return ChainsScenario(
            name: "waiting", title: "\(count.grouped) chains wait", plan: "waiting", chains: 0,
            effects: ["\(count).first"], waiting: count, isInCaseStudy: false,
            steps: [.startAmong(count)])
    }
}
