import ArgumentParser
import Foundation
import Logging
import RepriseCommandLine
import RepriseCore
import RepriseServer
import RepriseWire

#if Cluster
    import RepriseCluster
#endif

/// `reprise cluster restored`: gives a journal that was restored from a backup a new epoch.
struct ClusterRestoredCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restored",
        abstract: "Give a journal that was restored from a backup a new epoch.",
        usage: """
            reprise cluster restored --log URL [--cluster NAME] [--yes]
                                     [--log-user NAME --log-password-file FILE]
                                     [--log-token-file FILE | --log-nkey FILE |
                                      --log-creds FILE] [--log-ca FILE]
                                     [--log-cert FILE --log-cert-key FILE] [--json]
            """,
        discussion: """
            After a backup of NATS was put in place the journal lacks what was stored
            since, and gives its numbers to other messages. With a new epoch devices
            catch up from the beginning, recognise messages by id, and count missing
            ones as lost. Stop the gateways, restore both streams, run this, remove the
            gateways' --data, start them. A gateway that runs stops by itself.

            Without --yes nothing is changed. This needs the operator's credentials.

            EXAMPLES
              reprise cluster restored --log nats://n1:4222 --yes

            EXIT CODES
              0 it has a new epoch; 1 --yes is missing; 65 the streams do not belong
              together; 69 NATS is not reached, or this user may not; 76 it refuses;
              78 there is no such journal. All: reprise --help
            """)

    @OptionGroup var change: ClusterChangeOptions

    func run() async throws {
        #if Cluster
            let epoch = try await change.place.withJournal { journal in
                change.yes ? try await journal.restored() : journal.epoch
            }
            if change.json {
                try StandardOutput.explain(json: Answer(epoch: epoch.text, isNew: change.yes))
            } else {
                try StandardOutput.explain(
                    change.yes
                        ? "The journal's epoch is \(epoch) now. Remove the --data of each gateway "
                            + "before it starts."
                        : "Nothing is changed: with --yes the journal, now of epoch \(epoch), gets "
                            + "a new one.")
            }
            if !change.yes { throw ExitCode(1) }
        #else
            throw ClusterToolCommand.isMissing
        #endif
    }

    private struct Answer: Encodable {
        let epoch: String
        let isNew: Bool
    }
}
