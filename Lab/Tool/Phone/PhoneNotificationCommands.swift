import ArgumentParser
import RepriseCore
import ReprisePhone

/// `reprise-lab phone tap`: the user taps a notification.
struct PhoneTapCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tap",
        abstract: "The user taps a notification, or one of its buttons.",
        usage: """
            reprise-lab phone tap [NOTIFICATION] [--button ID] [--text WORDS]
                                  [--app APP] [--folder DIR] [--json]
            """,
        discussion: """
            A tap opens the app, and launches it if it is dead. A button may run it in the
            background instead.

            EXAMPLES
              reprise-lab phone tap                     the newest one
              reprise-lab phone tap welcome
              reprise-lab phone tap welcome --button later
              reprise-lab phone tap chat --button reply --text "On my way"

            EXIT CODES
              0 tapped; 65 no such notification; 69 no phone runs there.
              All: reprise-lab --help
            """)

    @Argument(help: "The notification's id. (default: the newest)") var notification: String?
    @Option(help: ArgumentHelp("The button of its category.", valueName: "id")) var button: String?
    @Option(help: ArgumentHelp("What is typed for that button.", valueName: "words"))
    var text: String?
    @OptionGroup var app: PhoneAppOption

    func validate() throws {
        guard text == nil || button != nil else {
            throw ValidationError("--text is typed for a --button.")
        }
    }

    func run() async throws {
        var action = NotificationResponse.Action.open
        if let button {
            action = text.map { .text(button, answer: $0) } ?? .button(button)
        }
        try await app.perform(.tap(app: app.app, notification: notification, action: action))
    }
}

/// `reprise-lab phone dismiss`: the user dismisses a notification.
struct PhoneDismissCommand: AsyncParsableCommand {
    static let configuration = PhoneHelp.of(
        "dismiss", "The user dismisses a notification.",
        usage: """
            reprise-lab phone dismiss [NOTIFICATION] [--app APP] [--folder DIR]
                                      [--json]
            """,
        example: "reprise-lab phone dismiss welcome")

    @Argument(help: "The notification's id. (default: the newest)") var notification: String?
    @OptionGroup var app: PhoneAppOption

    func run() async throws {
        try await app.perform(.tap(app: app.app, notification: notification, action: .dismiss))
    }
}

/// `reprise-lab phone permission`: sets the user's notification permission.
struct PhonePermissionCommand: AsyncParsableCommand {
    enum Answer: String, ExpressibleByArgument, CaseIterable { case yes, no }
    enum State: String, ExpressibleByArgument, CaseIterable {
        case allow, deny, provisional, ask
    }

    static let configuration = CommandConfiguration(
        commandName: "permission",
        abstract: "Set the permission for notifications.",
        usage: """
            reprise-lab phone permission [STATE] [--when-asked ANSWER] [--no-alerts]
                                         [--no-badges] [--no-sounds] [--app APP]
                                         [--folder DIR] [--json]
            """,
        discussion: """
            allow and deny set it as in Settings; provisional delivers quietly; ask forgets
            the answer. --when-asked says what the user answers to the app's next question.

            EXAMPLES
              reprise-lab phone permission allow
              reprise-lab phone permission allow --no-badges
              reprise-lab phone permission ask --when-asked no

            EXIT CODES
              0 done; 65 no such app; 69 no phone runs there. All: reprise-lab --help
            """)

    @Argument(help: "allow, deny, provisional or ask.") var state: State?
    @Option(help: ArgumentHelp("What the user answers when asked: yes or no.", valueName: "answer"))
    var whenAsked: Answer?
    @Flag(help: "No banners.") var noAlerts = false
    @Flag(help: "No number on the icon.") var noBadges = false
    @Flag(help: "No sounds.") var noSounds = false
    @OptionGroup var app: PhoneAppOption

    func validate() throws {
        guard state != nil || whenAsked != nil else {
            throw ValidationError("Say allow, deny, provisional or ask, or give --when-asked.")
        }
    }

    func run() async throws {
        if let state {
            let authorization: NotificationSettings.Authorization =
                switch state {
                case .allow: .authorized
                case .deny: .denied
                case .provisional: .provisional
                case .ask: .notDetermined
                }
            let settings = NotificationSettings(
                authorization: authorization, alerts: !noAlerts, badges: !noBadges,
                sounds: !noSounds)
            try await app.perform(.permission(app: app.app, settings))
        }
        if let whenAsked {
            try await app.perform(.answerPermission(app: app.app, allowed: whenAsked == .yes))
        }
    }
}
