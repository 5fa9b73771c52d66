import ArgumentParser
import Foundation
import RepriseCommandLine
import RepriseCore
import ReprisePhone

/// `reprise-lab phone apns`: between a server and phones.
struct PhoneAPNsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apns",
        abstract: "Bring a server's pushes to phones, as APNs does.",
        usage: """
            reprise-lab phone apns [DIR …] [--keys DIR]
            """,
        discussion: """
            Prints the options by which `reprise serve` reaches it, in one line. It speaks
            HTTP/2, checks the provider's token as APNs does, and delivers to every app
            that is installed on a phone of these folders (by default one:
            $REPRISE_PHONE_FOLDER, else ./reprise-phone). Their tokens are those of
            `reprise-lab phone status`. Each phone must run: nothing is printed or
            written before all have answered.

            EXAMPLES
              reprise-lab phone apns --keys ./keys > options &
              reprise serve --dev $(cat options)
              reprise-lab phone apns ./phone-of-ben ./phone-of-eve --keys ./keys

            EXIT CODES
              0 ended; 69 no phone runs there; 73 the keys cannot be written.
              All: reprise-lab --help
            """)

    @Argument(help: ArgumentHelp("The phones' folders.", valueName: "dir"))
    var phones: [String] = []
    @Option(
        help: ArgumentHelp("A folder for its keys and its certificate.", valueName: "dir"))
    var keys = "apns-keys"

    func run() async throws {
        let options =
            try phones.isEmpty
            ? [PhoneOption.parse([])] : phones.map { try PhoneOption.parse(["--folder", $0]) }
        for phone in options { try await phone.talk { _ = try await $0.status() } }
        let folder = URL(fileURLWithPath: keys)
        let apple: NoticesApple
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            apple = try await NoticesApple(in: folder)
        } catch {
            throw CommandFailure(
                .cannotCreate, "The keys cannot be written to \(folder.path): \(error)")
        }
        try StandardOutput.write(apple.options.joined(separator: " "))
        do {
            _ = try await Interruption.cancelling {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for phone in options { group.addTask { try await follow(phone, apple) } }
                    group.addTask { await apple.deliver() }
                    defer { group.cancelAll() }
                    do { try await group.next() } catch is CancellationError {}
                }
            }
        } catch {
            await apple.end()
            throw error
        }
        await apple.end()
    }

    /// Takes the pushes of every app on a phone, until it ends.
    private func follow(_ phone: PhoneOption, _ apple: NoticesApple) async throws {
        try await phone.talk { control -> Void in
            var known: Set<String> = []
            while true {
                if let address = PushEndpoint.Address(in: phone.folder) {
                    let apps = try await control.status().apps.map(\.id)
                    for app in apps where known.insert(app).inserted {
                        _ = apple.install(app, at: address)
                    }
                }
                try await Task.sleep(for: .milliseconds(200))
            }
        }
    }
}
