import ArgumentParser
import ReprisePhone

/// `reprise-lab phone task`: time in the background.
struct PhoneTaskCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "task",
        abstract: "Run an app's background task, or revoke its time.",
        usage: """
            reprise-lab phone task [ID] [--expire] [--app APP] [--folder DIR]
                                   [--json]
            """,
        discussion: """
            EXAMPLES
              reprise-lab phone task mail.refresh
              reprise-lab phone task --expire

            EXIT CODES
              0 done; 65 the app has not asked for it; 69 no phone runs there.
              All: reprise-lab --help
            """)

    @Argument(help: "The task's id.") var id: String?
    @Flag(help: "The time of all that runs in the background is over.") var expire = false
    @OptionGroup var app: PhoneAppOption

    func validate() throws {
        guard (id != nil) != expire else { throw ValidationError("Name a task, or give --expire.") }
    }

    func run() async throws {
        if let id {
            try await app.perform(.runBackground(app: app.app, task: id))
        } else {
            try await app.perform(.expireBackground(app: app.app))
        }
    }
}
