import RepriseCore
import ReprisePhone

/// One scenario of the demo `notices`: actions on the phone and at the server, and the expected
/// notifications.
struct NoticesScenario: NamedScenario {
    let name: String
    let title: String
    /// Whether the app with Reprise gets pushes; the original app never does.
    var isPushed = false
    /// Whether the case study covers it, so that its app can run.
    var isOfSeed = true
    /// Whether it has a server of its own, because that is killed.
    var isAlone = false
    /// Whether two alerts may race, so that a second one counted by the app is no violation.
    var mayRace = false
    /// How the phone behaves where Apple's documentation leaves it open.
    var rules = PhoneRules()
    /// The actions.
    let play: @Sendable (NoticesScenarioRunner) async throws -> Void

    /// All, in the order of the demo.
    static let all: [NoticesScenario] = played(.quick)

    /// All, as long as they are to be.
    static func played(_ scale: NoticesScale) -> [NoticesScenario] {
        states + reading + [threeDevices(scale)] + pushes + races + settings + troubles
            + [providerDown(scale)]
    }
}
