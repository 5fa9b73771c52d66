import RepriseCore
import ReprisePhone

/// One scenario of the demo `forms`: its actions on the phone, and its expected results.
struct FormsScenario: Scenario {
    /// From when the time to the form is measured.
    enum Start: Sendable {
        /// The first tap.
        case tap
        /// The newest time that the network came back.
        case online
        /// The newest launch.
        case launch
    }

    let name: String
    let title: String
    /// The forms that a person has to see, in order.
    var forms = ["Welcome"]
    /// How the events have to end, by the ledger.
    var outcomes: [Outcome: Int64] = [.applied: 1]
    var start = Start.tap
    var isInCaseStudy = true
    /// The person's action on each form.
    var action = FormsAction.close
    /// The app's further expected reports.
    var says: [String] = []
    var rules = PhoneRules()
    /// The app's additional arguments.
    var arguments: [String] = []
    let steps: [Step<FormsSession>]
}

extension FormsScenario {
    /// All, in the order of the demo.
    static func all(_: DemoSettings = DemoSettings()) -> [FormsScenario] {
        fromRunning + fromDead + deaths + catalogues + taps + answers
    }

    /// The process is there when the tap comes.
    private static let fromRunning = [
        FormsScenario(
            name: "running", title: "app running",
            steps: [.ready, .push("welcome"), .tap]),
        FormsScenario(
            name: "backgrounded", title: "app in the background",
            steps: [.ready, .home, .push("welcome"), .tap]),
        FormsScenario(
            name: "suspended", title: "app suspended (SIGSTOP)",
            steps: [.ready, .home, .suspend, .push("welcome"), .tap]),
    ]

    /// The process is not there when the tap comes.
    private static let fromDead = [
        FormsScenario(
            name: "terminated-fast", title: "terminated, fast network",
            steps: [.push("welcome"), .tap]),
        FormsScenario(
            name: "terminated-slow", title: "terminated, slow network (2.5 s)",
            steps: [.push("welcome"), .slowNetwork, .tap]),
        FormsScenario(
            name: "offline-cached", title: "terminated, offline, catalogue cached",
            steps: [.ready, .kill, .push("welcome"), .offline, .tap]),
        FormsScenario(
            name: "offline-uncached", title: "terminated, offline; online later", start: .online,
            steps: [.push("welcome"), .offline, .tap, .doesWhatItCan, .online]),
    ]

    /// Of the process, and of the web view's.
    private static let deaths =
        [
            FormsScenario(
                name: "killed-once", title: "killed while waiting", start: .launch,
                steps: [
                    .push("welcome"), .offline, .tap, .handshake, .kill, .online, .launch,
                ]),
            FormsScenario(
                name: "killed-five-times", title: "killed five times while waiting",
                start: .launch,
                steps: [
                    .push("welcome"), .offline, .tap, .handshake, .kill,
                    .forEach(2...5) { _ in [.launch, .handshake, .kill] }, .online, .launch,
                ]),
        ]
        + WebViewDeath.allCases.map { death in
            FormsScenario(
                name: "crash-" + death.rawValue,
                title: "web view dies " + death.rawValue.replacing("-", with: " the "),
                isInCaseStudy: death != .afterGrant, arguments: ["--death", death.rawValue],
                steps: [.push("welcome"), .tap])
        }

    private static let catalogues = [
        FormsScenario(
            name: "catalogue-first", title: "catalogue before the event",
            steps: [.ready, .push("welcome"), .offline, .tap]),
        FormsScenario(
            name: "catalogue-later", title: "catalogue after the event", start: .online,
            steps: [
                .push("welcome"), .offline, .launch, .handshake, .tap, .doesWhatItCan, .online,
            ]),
        FormsScenario(
            name: "update", title: "app updated while the event waits", start: .launch,
            arguments: ["--older"],
            steps: [.push("welcome"), .offline, .tap, .handshake, .install(), .online, .launch]),
    ]

    private static let taps = [
        FormsScenario(
            name: "ten-taps", title: "ten taps at once",
            forms: .init(repeating: "Welcome", count: 10), outcomes: [.applied: 10],
            steps: [.forEach(1...10) { _ in [.push("welcome")] }, .forEach(1...10) { _ in [.tap] }]),
        FormsScenario(
            name: "tap-twice", title: "the same tap by two entrances",
            rules: PhoneRules(launchingTap: .sceneThenDelegate), steps: [.push("welcome"), .tap]),
        FormsScenario(
            name: "too-old", title: "older than its time to live", forms: [],
            outcomes: [.expired: 1], isInCaseStudy: false,
            steps: [
                .push("welcome"), .offline, .tap, .handshake, .kill,
                .advance(by: FormsApp.timeToLive + .seconds(60)), .online, .launch,
            ]),
        FormsScenario(
            name: "two-forms", title: "two forms match one event", forms: ["Most important"],
            steps: [.push("both"), .tap]),
        FormsScenario(
            name: "too-often", title: "a form already shown too often", forms: ["Only once"],
            outcomes: [.applied: 2], isInCaseStudy: false,
            steps: [.push("once"), .tap, .settle, .kill, .push("once"), .tap]),
    ]

    /// The results of forms, and of one whose showing is uncertain.
    private static let answers = [
        FormsScenario(
            name: "submit", title: "answers are sent, by the outbox", outcomes: [.applied: 2],
            isInCaseStudy: false, action: .answer("E-mail", "ada@example.org", button: "Send"),
            steps: [.push("welcome"), .tap]),
        FormsScenario(
            name: "deep-link", title: "a form leads on into the app", forms: ["Leads on"],
            outcomes: [.applied: 2], isInCaseStudy: false, action: .press("Go"),
            says: ["deepLink demo://cart"], steps: [.push("link"), .tap]),
        FormsScenario(
            name: "never", title: "perhaps seen, and never twice", forms: [],
            outcomes: [.unconfirmed: 1], isInCaseStudy: false,
            arguments: ["--never", "--death", WebViewDeath.afterGrant.rawValue],
            steps: [.push("welcome"), .tap]),
    ]
}

/// The catalogue of the demo's server.
enum FormsDemoCatalogue {
    static let json = """
        {"format": "forms/1", "version": "2026-11-21.1", "forms": [
          {"id": "welcome", "title": "Welcome",
           "text": "You tapped a notification while the app was dead.\\nHere is the form that it promised.",
           "triggers": [{"event": "opened_push",
                         "where": {"property": "campaign", "is": "equals", "value": "welcome"}}],
           "fields": [{"name": "email", "label": "E-mail", "type": "email", "required": true,
                       "hint": "We write once a month."}],
           "buttons": [
             {"label": "Send", "style": "primary", "actions": [{"type": "submit"}]},
             {"label": "Not now", "style": "plain", "actions": [{"type": "dismiss"}]}]},
          {"id": "less", "title": "Less important", "priority": 1,
           "triggers": [{"event": "opened_push",
                         "where": {"property": "campaign", "is": "equals", "value": "both"}}]},
          {"id": "most", "title": "Most important", "priority": 2,
           "triggers": [{"event": "opened_push",
                         "where": {"property": "campaign", "is": "equals", "value": "both"}}]},
          {"id": "link", "title": "Leads on",
           "triggers": [{"event": "opened_push",
                         "where": {"property": "campaign", "is": "equals", "value": "link"}}],
           "buttons": [{"label": "Go", "style": "primary",
                        "actions": [{"type": "deepLink", "url": "demo://cart"},
                                    {"type": "dismiss"}]}]},
          {"id": "once", "title": "Only once", "frequency": {"max": 1, "seconds": 86400},
           "triggers": [{"event": "opened_push",
                         "where": {"property": "campaign", "is": "equals", "value": "once"}}]}]}
        """
}
