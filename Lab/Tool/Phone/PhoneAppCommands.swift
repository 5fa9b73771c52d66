import ArgumentParser
import Foundation
import RepriseCommandLine
import RepriseCore
import ReprisePhone

/// `reprise-lab phone install`: an app, or a newer version of it.
struct PhoneInstallCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "install",
        abstract: "Install an app, or update it.",
        usage: """
            reprise-lab phone install ID PROGRAM [ARGUMENT …] [--set NAME=VALUE …]
                                      [--extension PROGRAM] [--task ID …]
                                      [--folder DIR] [--json]
            """,
        discussion: """
            PROGRAM is a process that uses ReprisePhone's PhoneApp to talk to its system.
            An update ends a running process and keeps what the system keeps:
            notifications, badge, permissions.

            EXAMPLES
              reprise-lab phone install mail ./MailApp
              reprise-lab phone install mail ./MailApp --extension ./MailExtension \\
                            --task mail.refresh --set LOG=debug -- --server URL

            EXIT CODES
              0 installed; 65 PROGRAM is not there; 69 no phone; 78 the id cannot be used.
              All: reprise-lab --help
            """)

    @Argument(help: "The app's name on the phone.") var id: String
    @Argument(help: "Its program.") var program: String
    @Argument(help: ArgumentHelp("What the program is started with.", valueName: "argument"))
    var arguments: [String] = []
    @Option(help: ArgumentHelp("A variable for its processes.", valueName: "name=value"))
    var set: [String] = []
    @Option(
        name: .customLong("extension"),
        help: ArgumentHelp("The program of its notification service.", valueName: "program"))
    var serviceExtension: String?
    @Option(help: ArgumentHelp("A task that it may ask time for.", valueName: "id"))
    var task: [String] = []
    @OptionGroup var phone: PhoneOption

    func validate() throws {
        for variable in set
        where variable.firstIndex(of: "=") ?? variable.startIndex == variable.startIndex {
            throw ValidationError("--set takes NAME=VALUE, not \(variable.firstLine).")
        }
    }

    func run() async throws {
        let variables = set.map { text in
            let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (String(parts[0]), String(parts[1]))
        }
        try await phone.perform(
            .install(
                PhoneAppSpec(
                    id: id, executable: Self.path(program), arguments: arguments,
                    environment: Dictionary(variables, uniquingKeysWith: { $1 }),
                    serviceExtension: try serviceExtension.map(Self.path), backgroundTasks: task)))
    }

    private static func path(_ program: String) throws -> String {
        let path = URL(fileURLWithPath: program).standardizedFileURL.path
        guard FileManager.default.isExecutableFile(atPath: path) else {
            throw CommandFailure(.badInput, "\(path.firstLine) is not a program that can be run.")
        }
        return path
    }
}

/// `reprise-lab phone uninstall`.
struct PhoneUninstallCommand: AsyncParsableCommand {
    static let configuration = PhoneHelp.of(
        "uninstall", "Take an app away, with all that is held for it.")
    @OptionGroup var app: PhoneAppOption
    func run() async throws { try await app.perform(.uninstall(app: app.app)) }
}

/// `reprise-lab phone launch`.
struct PhoneLaunchCommand: AsyncParsableCommand {
    static let configuration = PhoneHelp.of("launch", "The user opens the app.")
    @OptionGroup var app: PhoneAppOption
    func run() async throws { try await app.perform(.launch(app: app.app)) }
}

/// `reprise-lab phone home`.
struct PhoneHomeCommand: AsyncParsableCommand {
    static let configuration = PhoneHelp.of(
        "home", "The user goes to the home screen.")
    @OptionGroup var phone: PhoneOption
    func run() async throws { try await phone.perform(.home) }
}

/// `reprise-lab phone kill`.
struct PhoneKillCommand: AsyncParsableCommand {
    static let configuration = PhoneHelp.of(
        "kill", "The system kills the app's process without a word.")
    @OptionGroup var app: PhoneAppOption
    func run() async throws { try await app.perform(.kill(app: app.app)) }
}

/// `reprise-lab phone force-quit`.
struct PhoneForceQuitCommand: AsyncParsableCommand {
    static let configuration = PhoneHelp.of(
        "force-quit",
        "The user force-quits the app: no background launches.")
    @OptionGroup var app: PhoneAppOption
    func run() async throws { try await app.perform(.forceQuit(app: app.app)) }
}

/// `reprise-lab phone suspend`.
struct PhoneSuspendCommand: AsyncParsableCommand {
    static let configuration = PhoneHelp.of(
        "suspend", "Freeze the app's process, whatever time it has left.")
    @OptionGroup var app: PhoneAppOption
    func run() async throws { try await app.perform(.suspend(app: app.app)) }
}

/// `reprise-lab phone resume`.
struct PhoneResumeCommand: AsyncParsableCommand {
    static let configuration = PhoneHelp.of("resume", "Let a suspended app go on.")
    @OptionGroup var app: PhoneAppOption
    func run() async throws { try await app.perform(.resume(app: app.app)) }
}

/// `reprise-lab phone crash-web-view`.
struct PhoneCrashWebViewCommand: AsyncParsableCommand {
    static let configuration = PhoneHelp.of(
        "crash-web-view", "The process of the app's web views dies.")
    @OptionGroup var app: PhoneAppOption
    func run() async throws { try await app.perform(.crashWebView(app: app.app)) }
}
