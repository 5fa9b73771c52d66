package import RepriseCore
import RepriseWire

private let configuration = Channels.Configuration()
private let connection = ConnectionMachine.Settings()
private let tokens = TokenMachine.Settings()
private let retention = MessageRetention()

extension LimitTable {
    /// Printed into `docs/limits/device.md`.
    package static let channels: Self = LimitTable(
        "device", "Channels and the connection",
        "",
        [
            Limit(
                "channels.framesPerCommit", "frames in one commit",
                "\(configuration.framesPerCommit) (settable)",
                "the others go into the next commit"),
            Limit(
                "channels.readerPage", "a page for readers",
                "\(ReaderStore.pageLimit) messages, \(bytes: ReaderStore.pageBytes)",
                "the next page"),
            Limit(
                "channels.listPage", "a page of a list",
                "\(ListRows.limit) messages, \(bytes: ListRows.pageBytes)",
                "fewer messages; the next page has the others"),
            Limit(
                "channels.listsAhead", "lists read ahead of the screen",
                "none: the newest is read on demand", "lists between are skipped"),
            Limit(
                "channels.followed", "conversations that are followed by themselves",
                "\(ConversationLimits.followed)",
                "those joined last; others are followed when the app subscribes to them"),
            Limit(
                "channels.conversations", "conversations on the device; in a list; members named",
                """
                \(ConversationLimits.kept); \(ConversationLimits.listed); \
                \(ConversationLimits.named)
                """,
                "further ones are not kept; the newest are listed; no names"),
            Limit(
                "channels.drafts", "a draft; drafts of a device",
                "\(bytes: ConversationLimits.draftBytes); \(ConversationLimits.drafts)",
                "`.tooLarge`; those of conversations that are gone go, then `.full`"),
            Limit(
                "channels.epochs", "epochs of a channel that an ordered reader counts",
                "\(OrderedPosition.epochs)",
                "messages of later epochs stay pending for it; other readers continue"),
            Limit(
                "channels.snapshotWaits", "waits between attempts to load a snapshot",
                """
                \(configuration.snapshotAgain.base), doubling to \
                \(configuration.snapshotAgain.longest), with full jitter (settable)
                """,
                "retried without end; the channel stays `beyondRetention`"),
            Limit(
                "channels.lostRanges", "lost ranges that a snapshot's request names",
                "\(WireLimits.coverageRanges)", "the ledger has all"),
            Limit(
                "channels.retention", "messages of a channel on the device",
                "\(retention.age), \(retention.most) messages (settable)",
                """
                pruned every hour, \(Pruning.piece) a transaction, and counted. The newest \
                \(retention.least), and messages that a reader has yet to handle, stay
                """),
            Limit(
                "channels.window", "unconfirmed messages after a kill, for each reader",
                """
                \(ReaderOptions.defaultWindow); one for `never` (settable to \
                \(ReaderOptions.widestWindow))
                """,
                "repeated with `attempt` 2, or `unconfirmed`"),
            Limit(
                "channels.deadline", "a reader's handler, for a message or a batch",
                "\(ReaderOptions.defaultDeadline) (settable)",
                "the reader is `slow` and gets nothing else until the handler returns"),
            Limit(
                "channels.stop", "closing a client waits for the handlers of readers",
                "\(Channels.stopPatience)",
                "the journal is closed; what they do later is delivered again"),
            Limit(
                "channels.reconnect", "waits between connections",
                """
                \(configuration.reconnect.base), doubling to \(configuration.reconnect.longest), \
                with full jitter (settable); after a close code for later at least \(connection.later)
                """,
                "–"),
            Limit(
                "channels.dials",
                "dials without a wait, when the network or the foreground is back",
                "one in \(connection.spacing); at once for `reconnect()`",
                "the rest of that time is waited"),
            Limit(
                "channels.token", "the app returns a token",
                "\(configuration.tokenTimeout) (settable)",
                "`.timedOut`: the dial has failed; on an open connection it is requested again"),
            Limit(
                "channels.tokenWaits", "waits between requests for a token, on an open connection",
                "\(tokens.backoff.base), doubling to \(tokens.backoff.longest), with full jitter",
                "until the token expires; then as for reconnecting"),
            Limit(
                "channels.tokenRefusals", "consecutive refused tokens",
                "\(TokenMachine.refusalLimit)", "`stopped`, until somebody signs in"),
            Limit(
                "channels.pong", "the pong after a sleep or a change of network",
                "\(connection.probe)", "a new connection, at once"),
            Limit(
                "channels.background", "the connection closes before the background time ends",
                "\(configuration.backgroundMargin) (settable)", "closed with 1000"),
            Limit(
                "channels.inactivity", "silence during a catch-up",
                "\(configuration.inactivity) (settable)", "the missing ranges are requested again"),
            Limit(
                "channels.noProgress", "no progress during a catch-up",
                "\(configuration.noProgress) (settable)", "a new connection"),
            Limit(
                "channels.silence", "no frame at all", "two heartbeats and \(connection.grace)",
                "a new connection"),
            Limit(
                "channels.outboxWindow", "an attempted message of the outbox",
                "\(configuration.outboxWindow) (settable)",
                "a dead letter, because the server may have forgotten its id"),
            Limit(
                "channels.outbox", "unsent messages of an account",
                "\(configuration.outboxLimit) (settable)", "publishing throws `full`"),
            Limit(
                "channels.inFlight", "messages in flight, of a channel and in all",
                "\(OutboxLimits.inFlightOfChannel), \(OutboxLimits.inFlight)",
                "the others wait in the journal"),
            Limit(
                "channels.retryAfter", "`retryAfter` of a refusal",
                "\(ServerFrame.Refused.longestWait)", "cut"),
            Limit(
                "channels.receipts", "receipts of a channel",
                """
                one every \(configuration.receiptInterval) or every \(configuration.receiptStep) \
                sequences (settable); again after \(ReceiptsMachine.Settings().again) without an \
                echo
                """,
                "merged"),
            Limit(
                "channels.positions", "other users whose positions a device keeps, of a channel",
                "\(WireLimits.positions)", "further ones are not kept"),
            Limit(
                "channels.positionWaits", "waits between attempts to store positions",
                """
                \(Presence.backoff.base), doubling to \(Presence.backoff.longest), with full \
                jitter
                """,
                "retried, with later positions"),
            Limit(
                "channels.typing", "users shown as typing in a channel; typing without a report",
                "\(TypingMachine.shown); \(WireLimits.typing)", "not shown; has stopped"),
            Limit(
                "channels.presence",
                "channels whose presence is looked at; members of one who are named",
                "\(WireLimits.watchedChannels); \(WireLimits.watchedUsers)",
                """
                those that come first by name; the others are `refused` with `tooManyChannels`, or \
                left out
                """),
        ])
}
