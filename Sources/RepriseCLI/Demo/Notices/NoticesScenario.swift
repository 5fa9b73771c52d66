import RepriseCore
import ReprisePhone

/// One scenario of the demo `notices`: what happens on the phone and at the server, and what a
/// person has to see.
struct NoticesScenario: NamedScenario {
    let name: String
    let title: String
    /// Whether the app with Reprise is reached by pushes; the seed's never is.
    var isPushed = false
    /// Whether the seed says anything about it, so that its app can be asked.
    var isOfSeed = true
    /// Whether it has a server of its own, because it is killed.
    var isAlone = false
    /// Whether two things race to alert the person, so that a second alert is none of the faults if
    /// the app has counted it.
    var mayRace = false
    /// How the phone behaves where Apple's documentation leaves it open.
    var rules = PhoneRules()
    /// What happens.
    let play: @Sendable (NoticesPlay) async throws -> Void

    /// All, in the order of the demo.
    static let all: [NoticesScenario] = played(.quick)

    /// All, as long as they are to be.
    static func played(_ scale: NoticesScale) -> [NoticesScenario] {
        states + reading + [threeDevices(scale)] + pushes + races + settings + troubles
            + [providerDown(scale)]
    }
}
