import ArgumentParser
import RepriseCommandLine
import RepriseServer

/// `reprise backup`: copies a server's data folder while the server runs.
struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copy a server's data folder while the server runs.",
        discussion: """
            Copies the log and the accounts, each as of one moment, checks both copies and
            overwrites nothing. Publishing continues.

            EXAMPLES
              reprise backup --data /var/lib/reprise --to /backup/monday

            EXIT CODES
              0 copied and checked; 65 no log there, or it is damaged; 74 the disk is
              full, or failed; 78 something is at the target already. All: reprise --help
            """)

    @Option(help: ArgumentHelp("The server's data folder.", valueName: "dir"))
    var data: String = "reprise-data"
    @Option(
        help: ArgumentHelp(
            "Where the copy goes: a folder that is empty or not there yet.", valueName: "dir"))
    var to: String

    func run() async throws {
        let report = try Backup.make(of: data, to: to)
        try StandardOutput.write(
            "backed up \(report.content), \(report.bytes.grouped) bytes, to \(to)")
    }
}

extension Backup.Report {
    /// The copied content, for people.
    var content: String {
        let what = messages == 1 ? "1 message" : "\(messages.grouped) messages"
        return "\(what) of \(channels == 1 ? "1 channel" : "\(channels.grouped) channels")"
    }
}
