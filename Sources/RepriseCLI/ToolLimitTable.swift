import RepriseChains
import RepriseChannels
import RepriseCommandLine
import RepriseCore
import RepriseReminders
import RepriseServer

extension LimitTable {
    /// Printed into `docs/limits/tool.md`.
    static let tool: Self = LimitTable(
        "tool", "The tool",
        "",
        [
            Limit(
                "tool.publish", "unacknowledged messages of `publish`",
                """
                \(PublishWindow.messageLimit), \(bytes: PublishWindow.byteLimit); after a \
                temporary refusal half of them, at least \(PublishWindow.leastOnTheWay), and one \
                more for each that is stored
                """,
                "reading the input waits"),
            Limit(
                "tool.listen", "unacknowledged messages that `listen` has printed",
                "the reader's window, \(ReaderOptions.defaultWindow)",
                "printed again after a kill, with `attempt` 2"),
            Limit(
                "tool.line", "a line typed in `chat`; earlier lines",
                "\(LineEditor.longestLine) characters; \(LineEditor.longestHistory)",
                "not accepted; the oldest is forgotten"),
            Limit(
                "tool.key", "a key's sequence", "\(bytes: KeyDecoder.longestSequence)", "dropped"),
            Limit(
                "tool.chat", "messages that `chat` shows", "\(ChatRoom.shown)",
                "the newest; the others stay in the journal"),
            Limit(
                "tool.conversations", "conversations that `/list` of `chat` shows",
                "\(ChatRoom.listed)",
                "the newest; `/go` finds the newest \(ConversationLimits.listed)"),
            Limit(
                "tool.drawing", "`chat` draws", "every \(ChatKeyboard.frame)",
                "changes between are drawn together"),
            Limit(
                "tool.patience",
                "`chat` without a terminal, at the end of its input; after a signal",
                "\(verbatim: "10 s") (`--patience`); \(ChatLines.ending)",
                "exit status 1; waiting messages are sent by the next run"),
            Limit(
                "tool.answer", "an answer over HTTP",
                "\(bytes: ServerAPI.answerBytes); \(verbatim: "30 s")", "exit status 76; 69"),
            Limit(
                "tool.chains", "chains of a list",
                "\(verbatim: "100"), `--limit` up to \(ChainViewer.listLimit)",
                "the newest; the last line has the total"),
            Limit(
                "tool.decisions", "decisions that `reprise reminders` prints",
                "\(verbatim: "100"), with `--json` \(ReminderEngineLimits.decisions)",
                "the newest"),
            Limit(
                "tool.routes", "routes that `reprise routes` prints",
                "\(verbatim: "20"), `--limit` up to \(RecentOptions.most)", "the newest"),
            Limit(
                "tool.formsLog", "events that `reprise forms log` prints",
                "\(verbatim: "20"), `--limit` up to \(RecentOptions.most)", "the newest"),
            Limit(
                "tool.trace",
                "messages of a channel among which `trace` looks for an id at the server",
                "the newest \(TraceServer.searched)",
                "an older one is not found, unless the journal knows its sequence"),
            Limit(
                "tool.nodes", "what a node of NATS lacks, for `cluster check`",
                """
                \(ClusterLimits.nodeLag) entries, and it gets some within \
                \(ClusterLimits.nodeWait); its leader hears it within \(ClusterLimits.nodeSilence)
                """,
                "it is named as a problem; exit status 1"),
            Limit(
                "tool.gateways", "silence of a gateway, for `cluster check`",
                "\(ClusterLimits.gatewaySilence)",
                "not shown; if all are silent, that is a problem: exit status 1"),
            Limit(
                "tool.monitor", "an answer of a monitoring port, for `cluster check`",
                "\(bytes: ClusterLimits.monitorBytes); \(ClusterLimits.monitorWait)",
                "it is named as a problem; exit status 1"),
            Limit(
                "tool.end", "a server's process after SIGTERM", "\(EndingSignals.timeout)",
                "ended with status 1; nothing acknowledged is lost"),
        ])
}
