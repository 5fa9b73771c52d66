import Foundation
import RepriseCore
import ReprisePhone
import RepriseTestSupport
import Testing

/// The courier's app where what is unknown of the system is drawn by a seed.
@Suite("The courier's app under drawn rules", .serialized, .timeLimit(.minutes(1)))
struct CourierDrawnRulesTests {
    private static let seeds: [UInt64] = [6, 14, 21]

    private static func drawn(_ seed: UInt64) -> PhoneRules {
        var rules = PhoneRules(seed: seed)
        // What no app can keep, and what a scenario of its own plays.
        rules.pendingAcrossRestart = .kept
        rules.finishedDownload = .kept
        rules.lostTransfer = .retried
        rules.discretionaryTransfers = .atOnce
        return rules
    }

    @Test("Every value of every rule is drawn, but for what the app cannot meet or keep")
    func covered() {
        let elsewhere: [String: Set<String>] = [
            "pendingAcrossRestart": ["cleared"],
            "finishedDownload": ["unmovable", "missing"],
            "lostTransfer": ["failed"],
            "discretionaryTransfers": ["whenPluggedInAndUnmetered"],
            // Its chain asks for no conditions.
            "taskConditionLost": ["expires"],
            // The Buddhist calendar is drawn, and differs as much.
            "deviceCalendar": ["japanese"],
        ]
        let played = [PhoneRules()] + Self.seeds.map(Self.drawn)
        for rule in PhoneRules.all where !rule.isNumber {
            let missing = Set(rule.values).subtracting(played.map { rule.value(in: $0) })
            #expect(missing == elsewhere[rule.id] ?? [], "\(rule.id)")
        }
    }

    @Test(
        "With what is unknown drawn by a seed, pushes, a force-quit and a restart lose nothing",
        arguments: seeds)
    func seededLife(seed: UInt64) async throws {
        try await CourierStage.play(rules: Self.drawn(seed)) { stage in
            try await stage.sleeps()
            try await stage.writes("n0")
            try await stage.readsElsewhere(through: 1)
            try await stage.wake(seq: 1, head: 1)
            try await stage.phone.expects(.phone(.pushCompleted))
            try await stage.phone.forceQuit()
            try await stage.phone.expects(.phone(.terminated, "force quit"))
            try await stage.writes("n1")
            try await stage.push("n1", seq: 2, badge: 2)
            try await stage.phone.expects(.phone(.delivered, "n1"))
            try await stage.phone.tap("n1")
            try await stage.phone.expects(.report("screen", "7"))
            try await stage.phone.restart()
            try await stage.phone.unlock()
            try await stage.phone.launch()
            try await stage.does("note 7 On my way")
            try await becomes("it is sent", 1) { try await stage.count(of: "On my way") }
            try await stage.rings()
            try await stage.phone.tap()
            try await stage.phone.expects(.report("screen", "7"))
            #expect(try await stage.screens() == ["7", "7"])
        }
    }

    @Test(
        "With what is unknown drawn by a seed a proof and a tap end as always", arguments: seeds)
    func seeded(seed: UInt64) async throws {
        try await CourierStage.play(rules: Self.drawn(seed)) { stage in
            try await stage.phone.offline()
            try await stage.does("note 7 On my way")
            try await stage.phone.online()
            try await becomes("it is sent", 1) { try await stage.count(of: "On my way") }
            try await stage.does("prove 7")
            try await stage.isProved()
            try await stage.rings()
            try await stage.phone.tap()
            try await stage.phone.expects(.report("screen", "7"))
            #expect(try await stage.screens() == ["7"])
        }
    }
}
