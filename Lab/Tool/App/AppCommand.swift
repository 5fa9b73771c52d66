import ArgumentParser
import RepriseCore
import ReprisePhone
import RepriseSimulator

/// `reprise-lab app`: apps that a phone launches.
///
/// Not for people.
struct AppCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "app", abstract: "An app for the demo.",
        discussion: "A phone launches it: docs/phone.md.", shouldDisplay: false,
        subcommands: [
            ChainsAppCommand.self, FormsAppCommand.self, NoticesAppCommand.self,
            NoticesExtensionCommand.self, RemindersAppCommand.self, OriginalNoticesCommand.self,
        ])
}

/// Which app takes the taps of the demo: the same system, the same page, another way to hand an
/// event over.
enum FormsAlgorithm: String, ExpressibleByArgument, ScenarioApp {
    /// The unrepaired app of `case-push-form`: the event goes to the web view if one exists.
    case optionalChaining = "optional-chaining"
    /// Its repair: buffered in memory, replayed when the forms have come or after 3 s.
    case waitThreeSeconds = "wait-three-seconds"
    case reprise

    var title: String {
        switch self {
        case .optionalChaining: "chaining"
        case .waitThreeSeconds: "waiting"
        case .reprise: "reprise"
        }
    }
}

/// When the web view of an app dies, once in the life of its process.
enum WebViewDeath: String, ExpressibleByArgument, CaseIterable, Sendable {
    case beforeHandshake = "before-handshake"
    case inHandshake = "in-handshake"
    case afterHandshake = "after-handshake"
    /// Before the page gets the permission to show the form.
    case afterGrant = "after-grant"
}

/// `reprise-lab app forms`: an app that shows forms for taps on its notifications.
struct FormsAppCommand: AsyncParsableCommand {
    static let configuration = AppHelp.of(
        "forms", "An app that shows forms for taps.", needed: " --server URL")

    @Option(name: .customLong("as"), help: .algorithm) var algorithm = FormsAlgorithm.reprise
    @Option(help: .appServer) var server: String
    @Option(help: "When its web view dies, once.") var death: WebViewDeath?
    @Flag(help: "An earlier version, which has no rules for its events.") var older = false
    @Flag(help: "A form that may have been seen is not shown again.") var never = false
    @Flag(help: "Only has the phone start its browser.") var warmUp = false

    func run() async throws {
        let phone = try await PhoneApp.connect()
        await phone.report("process")
        let browser = try await phone.browser()
        await phone.report("browser", browser)
        guard !warmUp else { return }
        let webViews = ReportingWebViews(
            ChromiumWebViews(address: browser, app: phone.name), phone: phone, death: death)
        switch algorithm {
        case .reprise:
            try await FormsApp(phone: phone, server: server, isOlder: older, isNever: never)
                .run(webViews)
        case .optionalChaining:
            await OriginalFormsApp(.first, phone: phone, server: server, webViews).run()
        case .waitThreeSeconds:
            await OriginalFormsApp(.atItsBest, phone: phone, server: server, webViews).run()
        }
    }
}
