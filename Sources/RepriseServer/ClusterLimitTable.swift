package import RepriseCore

extension LimitTable {
    /// Printed into `docs/limits/server.md`.
    package static let cluster: Self = LimitTable(
        "server", "A cluster",
        "Of a server with `--log`. The others hold for each gateway.",
        [
            Limit(
                "cluster.command", "one change",
                "\(bytes: ClusterLimits.entryBytes), less its head",
                "`.tooLarge`; nothing is stored"),
            Limit(
                "cluster.waiting", "changes of a gateway that wait for the journal",
                "\(ClusterLimits.waitingCommands), of \(bytes: ClusterLimits.waitingBytes)",
                "`.full`; `refused` `overloaded`, HTTP 503"),
            Limit(
                "cluster.hellos", "devices that connect and wait for the journal",
                "\(ClusterLimits.waitingHellos) at each gateway",
                "closed with `4101`; the device comes back later"),
            Limit(
                "cluster.position", "a `GET` that waits for its `Reprise-Position`",
                "\(ClusterLimits.positionWait)", "it asks the journal, as one without"),
            Limit(
                "cluster.devices", "devices whose newest hello is remembered",
                "\(ClusterLimits.devices)",
                "the least recent is closed with `4104`, and says hello again"),
            Limit(
                "cluster.lease", "a lease, to push or to trim by the retention",
                """
                \(ClusterLimits.leaseTime) of the journal's time; its holder acts for \
                \(ClusterLimits.leaseActs) since it asked, and asks every \
                \(ClusterLimits.leaseRenewal)
                """,
                "another gateway takes it; later commands of the former holder are refused"),
            Limit(
                "cluster.full", "bytes of the journal",
                """
                \(ClusterLimits.publishFill) % of the stream's `max_bytes` for messages, \
                \(ClusterLimits.accountFill) % for channels, members, positions and devices
                """,
                "`.full`; `refused` `overloaded`, HTTP 503: nothing is lost, and messages are sent again"
            ),
            Limit(
                "cluster.bases", "entries that the journal keeps",
                """
                a base replaces the entries before it every \(ClusterLimits.baseEvery), and when \
                the journal is full to \(ClusterLimits.baseFill) %; failed: again after \
                \(ClusterLimits.baseRetries.base) to \(ClusterLimits.baseRetries.longest)
                """,
                "a gateway that lacks one makes its view anew from the base"),
            Limit(
                "cluster.baseBytes", "a base, and a single server's data that is moved in",
                "\(ClusterLimits.basePieces) pieces of \(bytes: ClusterLimits.basePiece)",
                "`.tooLarge`; no base is made, or nothing is moved"),
            Limit(
                "cluster.deaths", "ends of a gateway's process while it applies the same entry",
                "\(ClusterLimits.deaths)",
                "it is not tried again: the gateway waits until an operator has it skipped"),
            Limit(
                "cluster.skipped", "entries that are skipped, behind the newest base",
                "\(ClusterLimits.skipped)", "`.full`: wait for a base"),
            Limit(
                "cluster.checks", "results of entries, compared by all gateways",
                "every \(ClusterLimits.checkEvery) of the journal's time",
                "`/readyz` of one that differs answers 503; `reprise cluster check` names it"),
            Limit(
                "cluster.leaderless", "a journal that does not answer",
                "asked every \(ClusterLimits.statusEvery); \(ClusterLimits.leaderless)",
                "`/readyz` answers 503; connections stay. A gateway that starts ends with `.unavailable`"
            ),
            Limit(
                "cluster.flight", "entries of a gateway that are under way",
                "\(ClusterLimits.entriesInFlight), each of up to \(ClusterLimits.entryCommands) changes",
                "the others wait"),
            Limit(
                "cluster.resend", "an entry that does not come back",
                "\(ClusterLimits.resendAfter)", "it and all behind it are sent again"),
            Limit(
                "cluster.answer", "the wait for the journal, from when the server took the request",
                "\(ClusterLimits.answerWithin)",
                "`.unavailable`: unknown whether it is stored; send it again with its id"),
            Limit(
                "cluster.arrived", "entries that arrived live and are not yet applied",
                "\(bytes: ClusterLimits.waitingEntryBytes)",
                "further ones are dropped, and read later"),
            Limit(
                "cluster.silence", "silence of the journal", "\(ClusterLimits.silence)",
                "missed entries are asked for"),
            Limit(
                "cluster.confirmed", "silence after which a gateway compares what it has applied",
                "\(ClusterLimits.confirmedWithin)",
                "if the journal has lost that, the gateway stops"),
            Limit(
                "cluster.base", "an entry's base: the last entry that its writer had applied",
                "\(ClusterLimits.baseEntries) entries or \(ClusterLimits.baseAge) before it",
                "ignored, and sent again"),
            Limit(
                "cluster.time", "a step of the journal's time",
                """
                \(ClusterLimits.timeStep), unless the writer's clock is within \
                \(ClusterLimits.clockDifference) of it
                """,
                "time stands still; messages go on"),
            Limit(
                "cluster.sessions", "sessions that are remembered",
                "\(ClusterLimits.sessions), \(ClusterLimits.sessionLife) after their last entry",
                "a gateway whose session is forgotten opens another"),
        ])
}
