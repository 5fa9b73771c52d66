import ArgumentParser
import RepriseCommandLine
import RepriseServer

/// `reprise restore`: puts a copy that `reprise backup` made in place.
struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Restore a backup made by 'reprise backup'.",
        discussion: """
            The restored log has a new epoch: every device catches up from the beginning
            and recognises what it has. So 'reprise serve' needs no --restored after this.
            Nothing is overwritten: move the former data folder away first.

            EXAMPLES
              reprise restore --from /backup/monday --data /var/lib/reprise
              reprise serve --data /var/lib/reprise

            EXIT CODES
              0 in place; 65 no backup there, or it is damaged; 74 the disk is full, or
              failed; 78 the data folder is not empty. All: reprise --help
            """)

    @Option(help: ArgumentHelp("What 'reprise backup' has made.", valueName: "dir"))
    var from: String
    @Option(
        help: ArgumentHelp(
            "The server's data folder: empty or not there yet.", valueName: "dir"))
    var data: String = "reprise-data"

    func run() async throws {
        let report = try Backup.restore(from: from, to: data)
        try StandardOutput.write(
            "restored \(report.content), with a new epoch, to \(data)")
    }
}
