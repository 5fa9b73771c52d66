package import RepriseCore

/// The metrics of a server: their names, kinds and meanings.
package enum ServerMetric: String, CaseIterable, Sendable {
    case logErrors = "reprise_log_errors_total"
    case messages = "reprise_messages_total"
    case commitSeconds = "reprise_commit_seconds"
    case commitMessages = "reprise_commit_messages"
    case publishesWaiting = "reprise_publishes_waiting"
    case connections = "reprise_connections"
    case connectedUsers = "reprise_connected_users"
    case subscriptions = "reprise_subscriptions"
    case catchUpsOpen = "reprise_catch_ups_open"
    case catchUpSeconds = "reprise_catch_up_seconds"
    case readsWaiting = "reprise_reads_waiting"
    case eventsSent = "reprise_events_sent_total"
    case demotions = "reprise_demotions_total"
    case closes = "reprise_closes_total"
    case refusals = "reprise_refusals_total"
    case authFailures = "reprise_auth_failures_total"
    case keyFetchesFailed = "reprise_key_fetches_failed_total"
    case pushes = "reprise_pushes_total"
    case pushesWaiting = "reprise_pushes_waiting"
    case pushProvidersDown = "reprise_push_providers_down"
    case forms = "reprise_forms_total"
    case receiptsTold = "reprise_receipts_told_total"
    case typingTold = "reprise_typing_told_total"
    case presenceWatchers = "reprise_presence_watchers"
    case presenceTold = "reprise_presence_told_total"
    case presenceSaid = "reprise_presence_said_total"
    case presenceIgnored = "reprise_presence_ignored_total"
    case clusterApplied = "reprise_cluster_applied"
    case clusterLag = "reprise_cluster_lag"
    case clusterJournalBytes = "reprise_cluster_journal_bytes"
    case clusterJournalFill = "reprise_cluster_journal_fill_percent"
    case clusterLeases = "reprise_cluster_leases"
    case clusterHashOwed = "reprise_cluster_hash_owed_seconds"
    case clusterSent = "reprise_cluster_entries_sent"
    case clusterStored = "reprise_cluster_entries_stored"
    case clusterReads = "reprise_cluster_reads"
    case clusterConnectedIgnored = "reprise_cluster_connected_ignored_total"
    case notShown = "reprise_metrics_not_shown"

    /// A row of the table in `docs/operations.md`, or of a cluster in `docs/cluster-operations.md`.
    package var reference: MetricReference {
        switch self {
        case .logErrors:
            row(
                .counter, ["operation"],
                "failures of the log, by operation: `append`, `read`",
                alert: """
                    it grows at all: check the disk. Publishers get `unavailable` and retry with the \
                    same ids; nothing acknowledged is lost
                    """)
        case .messages:
            row(
                .counter, ["outcome"],
                """
                messages that reached the log: `stored`; `duplicate`, a recognised repeat; \
                `refused` by a rule; `failed`, unknown whether stored
                """,
                alert: """
                    `failed` grows. `duplicate` above a tenth of `stored`: answers do not reach \
                    their publishers in time
                    """)
        case .commitSeconds:
            row(
                .histogram, [],
                "duration of one durable transaction",
                alert: "p99 above 0.1 s for minutes: the disk is slow, and everything waits for it")
        case .commitMessages:
            row(
                .histogram, [],
                "messages in one transaction",
                alert: "never by itself: group commit makes it grow with the load")
        case .publishesWaiting:
            row(
                .gauge, [],
                "messages that wait for their commit",
                alert: "above 30,000: at the limit publishers are refused with `overloaded`")
        case .connections:
            row(
                .gauge, [],
                "WebSocket connections",
                alert: """
                    it falls by a third within a minute: the network in front, or an app update. \
                    Near the limit: add a server
                    """)
        case .connectedUsers:
            row(
                .gauge, [],
                "users with at least one connection",
                alert: "like `reprise_connections`")
        case .subscriptions:
            row(
                .gauge, [],
                "open subscriptions",
                alert: "never by itself")
        case .catchUpsOpen:
            row(
                .gauge, [],
                "subscriptions that are catching up",
                alert: """
                    it stays high while `reprise_connections` is steady: too few readers or a slow \
                    disk
                    """)
        case .catchUpSeconds:
            row(
                .histogram, [],
                "from `subscribed` to `sync_complete`, the client's reading included",
                alert: "the median is above 5 s")
        case .readsWaiting:
            row(
                .gauge, [],
                "catch-ups that wait for a reader of the log",
                alert: "above a hundred for a minute")
        case .eventsSent:
            row(
                .counter, ["path"],
                "events written to connections: `live`, or read again for a `catch_up`",
                alert: """
                    `catch_up` above `live` for long: many connections are slow or reconnect again \
                    and again
                    """)
        case .demotions:
            row(
                .counter, [],
                "connections demoted to catch-up because of their unsent bytes",
                alert: """
                    more than one a second for each hundred connections: a channel is faster than \
                    its readers
                    """)
        case .closes:
            row(
                .counter, ["code"],
                "connections closed by the server, by close code",
                alert: """
                    4001 or 4000 grow with steady connections: the network. 4200: a faulty client. \
                    4102: one user with very many connections. 4104, steadily: copies of one device \
                    in use (restored backups), or a network that drops connections silently
                    """)
        case .refusals:
            row(
                .counter, ["request", "code"],
                "requests refused before they reached the log",
                alert: """
                    `rateLimited` grows: a client in a loop, or a rate too low for your use. \
                    `forbidden` grows: a client that does not know that it was removed, or an attack
                    """)
        case .authFailures:
            row(
                .counter, ["reason"],
                """
                refused tokens: `expired`, `unauthorized` (not one of ours), `unavailable` (no \
                keys to check with)
                """,
                alert: """
                    `unavailable` grows at all: the key server. `unauthorized` grows steeply: keys \
                    changed on one side only, or an attack
                    """)
        case .keyFetchesFailed:
            row(
                .counter, [],
                "failed fetches of the key set; only in the program's own swift-metrics",
                alert: "it grows: the key server")
        case .pushes:
            row(
                .counter, ["service", "outcome"],
                "pushes by outcome, which `docs/push.md` lists",
                alert: """
                    `refused` or `exhausted` grows: see the log. `dead` jumps: a wrong environment, \
                    or an app removed from the store
                    """)
        case .pushesWaiting:
            row(
                .gauge, [],
                "pushes queued on the disk",
                alert: "it grows for minutes: see the next")
        case .pushProvidersDown:
            row(
                .gauge, [],
                "push services treated as down",
                alert: "above 0 for an hour; see the log")
        case .forms:
            row(
                .counter, ["outcome"],
                """
                requests for catalogues of forms: `sent`, `unchanged` (304), `missing` (no such \
                company), `stored`, `refused`
                """,
                alert: """
                    `sent` stays near `unchanged`: apps do not cache. `missing` grows: an app with a \
                    wrong company key
                    """)
        case .receiptsTold:
            row(
                .counter, [],
                "receipts sent, after merging",
                alert: "never by itself")
        case .typingTold:
            row(
                .counter, [],
                "reports of typing sent, after merging",
                alert: "never by itself")
        case .presenceWatchers:
            row(
                .gauge, [],
                "connections that watch presence",
                alert: "never by itself")
        case .presenceTold:
            row(
                .counter, [],
                "frames of presence sent",
                alert: "never by itself")
        case .presenceSaid:
            row(
                .counter, [],
                "messages about presence to the other gateways; only in a cluster",
                alert: "never by itself")
        case .presenceIgnored:
            row(
                .counter, [],
                "messages about presence that are none, or of another version",
                alert: """
                    it grows while all gateways have one version: somebody else publishes to \
                    `rp.<cluster>.presence`
                    """)
        case .clusterApplied:
            row(
                .gauge, [],
                "the last entry of the journal that this gateway has applied; only in a cluster",
                alert: "it stands still while that of another gateway does not")
        case .clusterLag:
            row(
                .gauge, [],
                "entries that the journal had more when it was asked last, at most 5 s ago",
                alert: "above 1,000 for a minute: this gateway is too slow, or cut off")
        case .clusterJournalBytes:
            row(
                .gauge, [],
                "bytes of the journal on each server of NATS",
                alert: "see the next")
        case .clusterJournalFill:
            row(
                .gauge, [],
                "how full the journal is, of its `max_bytes`",
                alert: "above 70: raise `max_bytes`. From 85 on nothing is published")
        case .clusterLeases:
            row(
                .gauge, [],
                "what this gateway does for all: housekeeping, bases, pushes by each service",
                alert: "the sum over all gateways is not 2 and 1 for each push service")
        case .clusterHashOwed:
            row(
                .gauge, [],
                """
                for how long this gateway has not said what its view holds, which a base needs; \
                0 once it has
                """,
                alert: "above 600: [no base may be made](#when-no-base-is-made)")
        case .clusterSent:
            row(
                .gauge, [],
                "entries that this gateway has sent since its start, repeated ones too",
                alert: "far above the next: the journal loses or refuses what is sent")
        case .clusterStored:
            row(
                .gauge, [],
                "entries of this gateway that count, since its start",
                alert: "never by itself")
        case .clusterReads:
            row(
                .gauge, [],
                "readings of the journal since the start: what did not come live, and after silence",
                alert: "above 10 a second: live entries are lost on the way")
        case .clusterConnectedIgnored:
            row(
                .counter, [],
                "messages about connected devices that are none, or of another version",
                alert: """
                    it grows while all gateways have one version: somebody else publishes to \
                    `rp.<cluster>.connected`
                    """)
        case .notShown:
            row(
                .gauge, [],
                "metrics beyond the registry's limit",
                alert: "above 0: a defect of ours, please report it")
        }
    }

    private func row(
        _ kind: MetricsRegistry.Kind, _ labels: [String], _ meaning: String, alert: String
    ) -> MetricReference {
        MetricReference(
            name: rawValue, kind: kind.rawValue, labels: labels, meaning: meaning, alert: alert)
    }
}
