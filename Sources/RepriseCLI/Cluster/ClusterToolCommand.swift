import ArgumentParser

/// `reprise cluster`: what an operator of many servers needs.
struct ClusterToolCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cluster",
        abstract: "Look at a cluster of servers over NATS.",
        discussion: """
            docs/cluster.md says how to run one.

            EXAMPLES
              reprise cluster check --log nats://n1:4222,n2:4222,n3:4222
            """,
        subcommands: [ClusterCheckCommand.self])
}
