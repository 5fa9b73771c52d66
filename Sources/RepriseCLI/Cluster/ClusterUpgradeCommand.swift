import ArgumentParser
import Foundation
import Logging
import RepriseCommandLine
import RepriseCore
import RepriseServer

#if Cluster
    import RepriseCluster
#endif

/// `reprise cluster upgrade`: has a cluster do what its former version did not know.
struct ClusterUpgradeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "upgrade",
        abstract: "Have a cluster do what its former version did not know.",
        usage: """
            reprise cluster upgrade --log URL [--cluster NAME] [--yes]
                                    [--log-user NAME --log-password-file FILE]
                                    [--log-token-file FILE | --log-nkey FILE |
                                     --log-creds FILE] [--log-ca FILE]
                                    [--log-cert FILE --log-cert-key FILE] [--json]
            """,
        discussion: """
            A new version may do more with the same changes. All gateways of a cluster
            must do the same, so they do it from one entry of the journal on: the first
            gateway of this version writes it within seconds of this command. One of a
            former version waits before that entry, with /readyz saying so, until it is
            upgraded: do this when every gateway is. There is no way back.

            A cluster that this version has made, or seeded, needs it not.

            RULES
              2 users' conversations are told: client.conversations
              3 unread mentions are counted

            Without --yes nothing is changed. This needs the operator's credentials.

            EXAMPLES
              reprise cluster upgrade --log nats://n1:4222
              reprise cluster upgrade --log nats://n1:4222 --yes

            EXIT CODES
              0 its rules are this version's; 1 they are not, and --yes is missing;
              69 NATS is not reached, or this user may not; 76 it refuses, or a later
              version has raised them further; 78 there is no such journal.
              All: reprise --help
            """)

    @OptionGroup var change: ClusterChangeOptions

    func run() async throws {
        #if Cluster
            let former = try await change.place.withJournal { journal in
                let former = journal.rules
                guard former <= ClusterRules.newest else {
                    throw RepriseError(
                        .refused,
                        "The cluster's rules are \(former); this version knows "
                            + "\(ClusterRules.newest).",
                        remedy: "Use the version that raised them.")
                }
                if change.yes, former < ClusterRules.newest { try await journal.raiseRules() }
                return former
            }
            let isNewest = change.yes || former == ClusterRules.newest
            if change.json {
                try StandardOutput.explain(
                    json: Answer(
                        former: former, rules: isNewest ? ClusterRules.newest : former,
                        newest: ClusterRules.newest))
            } else if former == ClusterRules.newest {
                try StandardOutput.explain("The cluster's rules are \(former), as this version's.")
            } else {
                try StandardOutput.explain(
                    change.yes
                        ? "The cluster's rules are raised from \(former) to "
                            + "\(ClusterRules.newest): gateways follow within seconds."
                        : "Nothing is changed: with --yes the cluster's rules, now \(former), are "
                            + "raised to \(ClusterRules.newest).")
            }
            if !isNewest { throw ExitCode(1) }
        #else
            throw ClusterToolCommand.isMissing
        #endif
    }

    private struct Answer: Encodable {
        let former: Int64
        let rules: Int64
        let newest: Int64
    }
}
