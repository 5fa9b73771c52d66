import RepriseCore
import ReprisePhone

/// One scenario of the demo `forms`: its actions on the phone, and its expected results.
struct FormsScenario: NamedScenario {
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
    /// Whether the case study covers it, so that its code can run.
    var isOfSeed = true
    /// The person's action on each form.
    var deed = FormsAction.close
    /// The app's further expected reports.
    var says: [String] = []
    /// How the phone behaves where Apple's documentation leaves it open.
    var rules = PhoneRules()
    /// The app's additional arguments.
    var arguments: [String] = []
    /// The actions.
    let play: @Sendable (FormsScenarioRunner) async throws -> Void
}

extension FormsScenario {
    /// All, in the order of the demo.
    static let all = fromRunning + fromDead + deaths + catalogues + taps + deeds

    /// The process is there when the tap comes.
    private static let fromRunning = [
        FormsScenario(name: "running", title: "app running") { play in
            try await play.isReady()
            try await play.push("welcome")
            try await play.tap()
        },
        FormsScenario(name: "backgrounded", title: "app in the background") { play in
            try await play.isReady()
            try await play.goesHome()
            try await play.push("welcome")
            try await play.tap()
        },
        FormsScenario(name: "suspended", title: "app suspended (SIGSTOP)") { play in
            try await play.isReady()
            try await play.goesHome()
            try await play.suspend()
            try await play.push("welcome")
            try await play.tap()
        },
    ]

    /// The process is not there when the tap comes.
    private static let fromDead = [
        FormsScenario(name: "terminated-fast", title: "terminated, fast network") { play in
            try await play.push("welcome")
            try await play.tap()
        },
        FormsScenario(name: "terminated-slow", title: "terminated, slow network (2.5 s)") { play in
            try await play.push("welcome")
            try await play.phone.slow(latency: .milliseconds(2_500))
            try await play.tap()
        },
        FormsScenario(
            name: "offline-cached", title: "terminated, offline, catalogue cached"
        ) { play in
            try await play.isReady()
            try await play.kill()
            try await play.push("welcome")
            try await play.phone.offline()
            try await play.tap()
        },
        FormsScenario(
            name: "offline-uncached", title: "terminated, offline; online later", start: .online
        ) { play in
            try await play.push("welcome")
            try await play.phone.offline()
            try await play.tap()
            try await play.doesWhatItCan()
            try await play.phone.online()
        },
    ]

    /// Of the process, and of the web view's.
    private static let deaths =
        [
            killed(1, "killed-once", "killed while waiting"),
            killed(5, "killed-five-times", "killed five times while waiting"),
        ]
        + WebViewDeath.allCases.map { death in
            FormsScenario(
                name: "crash-" + death.rawValue,
                title: "web view dies " + death.rawValue.replacing("-", with: " the "),
                isOfSeed: death != .afterGrant, arguments: ["--death", death.rawValue]
            ) { play in
                try await play.push("welcome")
                try await play.tap()
            }
        }

    private static func killed(_ count: Int, _ name: String, _ title: String) -> FormsScenario {
        FormsScenario(name: name, title: title, start: .launch) { play in
            try await play.push("welcome")
            try await play.phone.offline()
            try await play.tap()
            for life in 1...count {
                if life > 1 { try await play.launch() }
                try await play.doesHandshake()
                try await play.kill()
            }
            try await play.phone.online()
            try await play.launch()
        }
    }

    private static let catalogues = [
        FormsScenario(name: "catalogue-first", title: "catalogue before the event") { play in
            try await play.isReady()
            try await play.push("welcome")
            try await play.phone.offline()
            try await play.tap()
        },
        FormsScenario(
            name: "catalogue-later", title: "catalogue after the event", start: .online
        ) { play in
            try await play.push("welcome")
            try await play.phone.offline()
            try await play.launch()
            try await play.doesHandshake()
            try await play.tap()
            try await play.doesWhatItCan()
            try await play.phone.online()
        },
        FormsScenario(
            name: "update", title: "app updated while the event waits", start: .launch,
            arguments: ["--older"]
        ) { play in
            try await play.push("welcome")
            try await play.phone.offline()
            try await play.tap()
            try await play.doesHandshake()
            try await play.update()
            try await play.phone.online()
            try await play.launch()
        },
    ]

    private static let taps = [
        FormsScenario(
            name: "ten-taps", title: "ten taps at once",
            forms: .init(repeating: "Welcome", count: 10),
            outcomes: [.applied: 10]
        ) { play in
            for _ in 1...10 { try await play.push("welcome") }
            for _ in 1...10 { try await play.tap() }
        },
        FormsScenario(
            name: "tap-twice", title: "the same tap by two entrances",
            rules: PhoneRules(launchingTap: .sceneThenDelegate)
        ) { play in
            try await play.push("welcome")
            try await play.tap()
        },
        FormsScenario(
            name: "too-old", title: "older than its time to live", forms: [],
            outcomes: [.expired: 1], isOfSeed: false
        ) { play in
            try await play.push("welcome")
            try await play.phone.offline()
            try await play.tap()
            try await play.doesHandshake()
            try await play.kill()
            try await play.passes(FormsApp.timeToLive + .seconds(60))
            try await play.phone.online()
            try await play.launch()
        },
        FormsScenario(
            name: "two-forms", title: "two forms match one event", forms: ["Most important"]
        ) { play in
            try await play.push("both")
            try await play.tap()
        },
        FormsScenario(
            name: "too-often", title: "a form already shown too often", forms: ["Only once"],
            outcomes: [.applied: 2], isOfSeed: false
        ) { play in
            try await play.push("once")
            try await play.tap()
            try await play.settles()
            try await play.kill()
            try await play.push("once")
            try await play.tap()
        },
    ]

    /// The results of forms, and of one whose showing is uncertain.
    private static let deeds = [
        FormsScenario(
            name: "submit", title: "answers are sent, by the outbox", outcomes: [.applied: 2],
            isOfSeed: false, deed: .answer("E-mail", "ada@example.org", button: "Send")
        ) { play in
            try await play.push("welcome")
            try await play.tap()
        },
        FormsScenario(
            name: "deep-link", title: "a form leads on into the app", forms: ["Leads on"],
            outcomes: [.applied: 2], isOfSeed: false, deed: .press("Go"),
            says: ["deepLink demo://cart"]
        ) { play in
            try await play.push("link")
            try await play.tap()
        },
        FormsScenario(
            name: "never", title: "perhaps seen, and never twice", forms: [],
            outcomes: [.unconfirmed: 1], isOfSeed: false,
            arguments: ["--never", "--death", WebViewDeath.afterGrant.rawValue]
        ) { play in
            try await play.push("welcome")
            try await play.tap()
        },
    ]
}

extension PhoneRules {
    init(launchingTap: LaunchingTap) {
        self.init()
        self.launchingTap = launchingTap
    }
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
