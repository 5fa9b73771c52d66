/// An app installed on a phone.
public struct PhoneAppSpec: Hashable, Sendable, Codable, Identifiable {
    /// Its name on the phone: 1 to 64 of `A-Z a-z 0-9 . _ -`, not beginning with a dot.
    public var id: String
    /// The program: an absolute path.
    public var executable: String
    /// The program's arguments, without its name.
    public var arguments: [String]
    /// Added to the phone's own environment.
    public var environment: [String: String]
    /// The program of the notification service extension: an absolute path; nil if the app has
    /// none.
    public var serviceExtension: String?
    /// The extension's arguments, without its name; nil: none.
    public var extensionArguments: [String]?
    /// The background tasks it may request (`BGTaskSchedulerPermittedIdentifiers`).
    public var backgroundTasks: [String]
    /// Its files and folders that can be read before the first unlock (`FileProtectionType.none`):
    /// paths below its data folder.
    public var readableWhileLocked: [String]
    /// How long it may take from its start to its connection before the system terminates it.
    public var launchMilliseconds: Int64

    /// Describes an app.
    ///
    /// - Parameters:
    ///   - id: its name on the phone.
    ///   - executable: the program, an absolute path.
    ///   - arguments: without the program's name.
    ///   - environment: added to the phone's own.
    ///   - serviceExtension: the program of its notification service extension.
    ///   - extensionArguments: of that program.
    ///   - backgroundTasks: the background tasks it may request.
    ///   - readableWhileLocked: its files and folders that can be read before the first unlock.
    public init(
        id: String, executable: String, arguments: [String] = [],
        environment: [String: String] = [:], serviceExtension: String? = nil,
        extensionArguments: [String]? = nil, backgroundTasks: [String] = [],
        readableWhileLocked: [String] = []
    ) {
        self.id = id
        self.executable = executable
        self.arguments = arguments
        self.environment = environment
        self.serviceExtension = serviceExtension
        self.extensionArguments = extensionArguments
        self.backgroundTasks = backgroundTasks
        self.readableWhileLocked = readableWhileLocked
        launchMilliseconds = PhoneLimits.launchMilliseconds
    }

    /// Why it cannot be installed; nil if it can.
    package var fault: String? {
        let letters = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-".utf8)
        let name = id.utf8
        guard (1...64).contains(name.count), name.allSatisfy(letters.contains), name.first != 46
        else {
            return "An app's id has 1 to 64 of A-Z a-z 0-9 . _ - and does not begin with a dot."
        }
        guard executable.hasPrefix("/"), serviceExtension?.hasPrefix("/") ?? true else {
            return "An app's programs are named by absolute paths."
        }
        guard (1...600_000).contains(launchMilliseconds) else {
            return "The time to launch is 1 to 600,000 milliseconds."
        }
        let words =
            arguments + (extensionArguments ?? []) + environment.flatMap { [$0.key, $0.value] } + [
                executable
            ]
        guard words.allSatisfy({ !$0.utf8.contains(0) }),
            environment.keys.allSatisfy({ !$0.isEmpty && !$0.contains("=") })
        else { return "An argument or a variable cannot be passed to a process." }
        return nil
    }
}
