package import RepriseCore
import RepriseWire

private let serverLimits = ServerLimits()
private let committerLimits = Committer.Limits()
private let httpLimits = HTTPLimits()
private let exchange = PresenceExchange.Settings()
private let logConfiguration = SQLiteMessageLog.Configuration()

extension LimitTable {
    /// Printed into `docs/limits/server.md`.
    package static let server: Self = LimitTable(
        "server", "Connections",
        "With open access there are no users, and none of their limits.",
        [
            Limit(
                "server.connections", "WebSocket connections",
                "\(serverLimits.connections) (settable)", "close 4101"),
            Limit(
                "server.connectionsOfUser", "WebSocket connections of a user",
                "\(serverLimits.connectionsPerUser) (settable)", "the newest: close 4102"),
            Limit(
                "server.connectionsOfDevice", "connections of a device", "one",
                """
                the older ones: close 4104, before the newest gets its `welcome`. Copies close \
                each other after 5 s, then every 5 to 65 s
                """),
            Limit(
                "server.publishes", "a user's publishes, by WebSocket and HTTP",
                """
                \(serverLimits.publishesAtOnce) at once, then \(serverLimits.publishesPerSecond) \
                a second (settable); none for admins
                """,
                "`refused` `rateLimited` with `retryAfter`; HTTP 429"),
            Limit(
                "server.subscribes", "subscribes of a connection",
                """
                \(2 * serverLimits.channelsPerConnection) at once, then \
                \(serverLimits.subscribesPerSecond) a second (settable)
                """,
                "`refused` `rateLimited` with `retryAfter`"),
            Limit(
                "server.permissions",
                "cached permissions of a connection; changed settings on an event loop",
                "\(2 * serverLimits.channelsPerConnection); \(AccessChanges.limit) channels",
                "all are dropped, and read again on demand"),
            Limit(
                "server.permissionQueries", "channels whose permissions one query reads",
                "\(ConnectionRequests.questionsAtOnce)",
                "the connection's next query has the others"),
            Limit(
                "server.waitingRequests", "requests of a connection that wait for its permissions",
                """
                \(serverLimits.publishesInFlight), publishes included; \
                \(bytes: ConnectionRequests.mostWaitingBytes) of bodies
                """,
                "the socket is not read"),
            Limit(
                "server.receipts", "receipts of a connection",
                "one in flight and one waiting for each channel",
                "merged: the farther position wins"),
            Limit(
                "server.receiptsSent", "receipts sent to others",
                """
                one frame for each user, channel and tick; \(PositionUpdates.limit) of them a \
                tick
                """,
                "the newest goes with the next tick; beyond that each at once"),
            Limit(
                "server.receiptsRemembered", "sent positions that an event loop remembers",
                "\(ToldPositions.limit), for \(ToldPositions.life); at most twice both",
                "older ones are forgotten"),
            Limit(
                "server.receiptReceivers",
                "members, and subscribers on an event loop, of a channel whose receipts all get",
                "\(WireLimits.positions)", "only the user's own connections"),
            Limit(
                "server.typists", "users shown as typing in a channel, on an event loop",
                "\(serverLimits.typistsPerChannel) (settable)", "not shown"),
            Limit(
                "server.typingReceivers",
                "subscribers on an event loop of a channel that shows typing",
                "\(serverLimits.typingSubscribers) (settable)", "typing is not sent"),
            Limit(
                "server.typing", "typing; reports of it",
                """
                \(WireLimits.typing); one in \(WireLimits.typingAgain / 2), but \
                \(TypingBoard.restarts) in a row right after a stop
                """,
                "ended; ignored"),
            Limit(
                "server.readers", "concurrent catch-ups",
                "\(serverLimits.logReaders) (settable), one of a connection",
                "the others wait in order"),
            Limit(
                "server.metrics", "lines and histograms of the metrics", "\(MetricsRegistry.limit)",
                "not shown, and counted in `reprise_metrics_not_shown`"),
            Limit(
                "server.handshake", "the first request, then `hello`",
                "\(serverLimits.handshake) each (settable)", "closed; close 4002"),
            Limit(
                "server.publishesInFlight", "publishes of a connection in flight",
                "\(serverLimits.publishesInFlight) (settable)", "the socket is not read"),
            Limit(
                "server.unsent", "unsent bytes of a connection",
                "\(bytes: serverLimits.unsentBytes) (settable)",
                """
                demoted to catch-up, which starts at \(bytes: serverLimits.unsentBytesToResume) \
                or less
                """
            ),
            Limit(
                "server.notReading", "a peer reads nothing of its unsent bytes",
                "\(serverLimits.notReading) (settable)", "close 4001"),
            Limit(
                "server.idle", "a silent peer",
                """
                pinged after \(serverLimits.pingAfter), closed after \(serverLimits.idle) \
                (settable)
                """,
                "close 4000"),
            Limit(
                "server.page", "a page of a catch-up",
                """
                \(serverLimits.pageMessages) messages, \(bytes: serverLimits.pageBytes) of bodies \
                (settable)
                """,
                "the next page, once this one is nearly sent"),
            Limit(
                "server.warnings", "a warning that a peer can cause",
                "one every \(ThrottledWarning.pause)", "counted in the next"),
            Limit(
                "server.shutdown", "a shutdown", "\(serverLimits.shutdown) (settable)",
                "cancelled; nothing acknowledged is lost"),
            Limit(
                "server.closeFrame", "a peer's close frame waits for earlier answers",
                "half of the shutdown: \(serverLimits.shutdown / 2)",
                "closed; accepted messages are stored"),
        ])

    /// Printed into `docs/limits/accounts.md`.
    package static let presence: Self = LimitTable(
        "accounts", "Presence",
        "Of a server that tells it: `--presence`.",
        [
            Limit(
                "presence.members", "members of a channel all of whose presence is told",
                "\(WireLimits.watchedUsers)",
                "`presence` with `tooManyMembers`: a device names the users whom it shows"),
            Limit(
                "presence.changes", "frames of changes to a connection",
                "one in \(WireLimits.presence)", "the next one has the newest of each user"),
            Limit(
                "presence.users", "users in a frame", "\(WireLimits.presentUsers)",
                "the others come in another frame"),
            Limit(
                "presence.looks", "looks into the accounts for a connection",
                "one in \(WireLimits.presence), one at a time; after a failure again",
                "a watch that came meanwhile is answered then"),
            Limit(
                "presence.grace", "a watched user without a connection",
                "\(PresenceBoard.Settings().grace)", "`offline`"),
            Limit(
                "presence.seen", "when users were seen last",
                """
                written at most once in \(PresenceBoard.Settings().betweenWrites) for all, and at \
                the end of the server
                """,
                "after a crash it may be as much earlier"),
            Limit(
                "presence.said", "messages about presence to the other gateways of a cluster",
                """
                one in \(exchange.interval), in parts of \(PresenceNews.users) users; all is asked \
                and told again every \(exchange.renewal)
                """,
                "the next one has the newest of each user"),
            Limit(
                "presence.lease", "what another gateway has asked or told",
                "\(exchange.lease) since it was heard, looked at every \(exchange.renewal)",
                "forgotten: the user is `offline`, unless a third gateway tells of him"),
            Limit(
                "presence.asked", "watched users for whom a gateway asks the others",
                "\(exchange.asked)", "of more it knows its own connections alone"),
            Limit(
                "presence.wanted", "users for whom a gateway is asked by all others",
                "\(exchange.wanted)", "it tells nothing of more"),
            Limit(
                "presence.gateways", "gateways that tell of one user", "\(exchange.gateways)",
                "what more of them tell of him is ignored"),
        ])

    /// Printed into `docs/limits/server.md`.
    package static let log: Self = LimitTable(
        "server", "The log",
        "",
        [
            Limit(
                "log.awaited", "deleted messages awaited as predecessors",
                "\(AwaitedMessages.most)", "the earliest deleted counts as arrived"),
            Limit(
                "log.queue", "messages waiting to be stored",
                "\(committerLimits.waitingMessages), \(bytes: committerLimits.waitingBytes)",
                "`refused` `overloaded`; HTTP 503"),
            Limit(
                "log.transaction", "a transaction",
                "\(committerLimits.batchMessages) messages, \(bytes: committerLimits.batchBytes)",
                "the others go into the next"),
            Limit(
                "log.ids", "remembered ids",
                "those of \(logConfiguration.idLife), and of stored messages",
                "forgotten. Each takes 3 bytes of memory"),
            Limit(
                "log.idRuns", "ids that one commit writes into its run",
                "\(KnownIDs.runLength / KnownIDs.slices), or as many as its messages",
                """
                the next commits write the others; \(logConfiguration.idsPerRun) to \
                \(2 * logConfiguration.idsPerRun) wait in memory
                """),
            Limit(
                "log.retention", "messages of a channel",
                """
                the channel's own count, age and bytes; else `--keep-messages` and \
                `--keep-days`; else all
                """,
                "`gone` `retention`"),
            Limit(
                "log.unread", "messages read for an unread count; the count",
                "the newest \(LogReading.unreadLookedAt); \(WireLimits.unreadCounted)",
                "it means that many or more"),
            Limit(
                "log.unreadCache",
                "cached counts of more than \(CountedUnread.worthKnowing) read messages",
                "\(CountedUnread.limit), at most \(2 * CountedUnread.limit)",
                "the older half may be forgotten"),
            Limit(
                "log.deletedBodies", "deleted bodies in the database's files",
                """
                until the next checkpoint, every \(Housekeeping.interval); with an open reader \
                (a backup), the one after
                """,
                "overwritten"),
            Limit(
                "log.probe", "probing a failing log",
                "every \(committerLimits.betweenProbes)", "`/readyz` answers as before"),
            Limit(
                "log.busy", "another process locks the log or the accounts",
                "\(milliseconds: ServerDatabase.busyMilliseconds)", "`.busy`; nothing is stored"),
        ])

    /// Printed into `docs/limits/server.md`.
    package static let http: Self = LimitTable(
        "server", "HTTP",
        "",
        [
            Limit(
                "http.message", "an HTTP message; an NDJSON request",
                """
                \(bytes: httpLimits.messageBytes); \(bytes: httpLimits.streamBytes), \
                \(httpLimits.streamLines) lines
                """,
                "413; the last line is an error, earlier ones are stored"),
            Limit(
                "http.streams", "NDJSON requests in progress",
                "\(httpLimits.streams); \(httpLimits.streamsOfUser) of a user, not of admins",
                "503; 429"),
            Limit(
                "http.object", "any other body", "\(bytes: httpLimits.objectBytes)", "413"),
            Limit(
                "http.catalogue", "a catalogue of forms", "\(bytes: FormsLimits.catalogueBytes)",
                "413"),
            Limit(
                "http.listPages", "a page of channels; of members",
                """
                \(httpLimits.channelsDefault), at most \(httpLimits.channelsMost); \
                \(httpLimits.membersDefault), at most \(httpLimits.membersMost)
                """,
                "`next` names the next page; HTTP 400 for more"),
            Limit(
                "http.historyPage", "a page of history",
                """
                \(httpLimits.historyDefault), at most \(httpLimits.historyMost); \
                \(bytes: HTTPLimits.historyBytes) of bodies
                """,
                "HTTP 400 for more; the page ends before it exceeds the bytes"),
            Limit(
                "http.positions", "listed positions", "\(WireLimits.positions)",
                "the user's own and the first others"),
            Limit(
                "http.rate", "a user's requests, and lines of NDJSON", "the rate of publishing",
                "429 with `Retry-After`; a stream is slowed down"),
            Limit(
                "http.unread", "`GET /v1/unread` of a user", "one at a time",
                "the others wait"),
            Limit(
                "http.bodyTime", "the arrival of a body",
                "\(httpLimits.messageTime); \(httpLimits.streamTime) for NDJSON", "408"),
            Limit(
                "http.idle", "a silent connection", "\(serverLimits.httpIdle) (settable)",
                "closed"),
            Limit(
                "http.connections", "plain HTTP connections, and WebSockets before `welcome`",
                """
                \(serverLimits.httpConnections), \(serverLimits.httpConnectionsPerAddress) of an \
                address (IPv\(verbatim: "4"), or a /\(verbatim: "64") of IPv\(verbatim: "6")) \
                (settable); at most half, and an eighth, of the process's open files
                """,
                "the newest is closed, with a warning"),
            Limit(
                "http.pipelining", "requests of a connection in progress", "one",
                "the socket is not read"),
            Limit(
                "http.notReading", "a peer reads nothing of its answer",
                "\(serverLimits.notReading) (settable)", "closed"),
            Limit(
                "http.systemBuffer", "unsent bytes of a connection in the system's buffer",
                "\(bytes: HTTPLimits.systemBufferBytes)", "the others wait in the server"),
            Limit(
                "http.unsent", "unsent bytes of answers, of all connections",
                "\(bytes: serverLimits.httpUnsentBytes) (settable)",
                "the longest waiting connection is closed, with a warning in the log"),
            Limit(
                "http.head", "a request's head",
                "\(bytes: HTTPLimits.headBytes), \(HTTPLimits.headFields) fields",
                "431, then closed"),
            Limit(
                "http.headTime", "a request's head, from its first byte",
                "\(serverLimits.handshake) (settable)", "closed"),
            Limit(
                "http.bodyRate", "a request's body",
                """
                \(serverLimits.bodyBytesPerSecond) bytes a second, \(serverLimits.bodyGrace) \
                behind (settable)
                """,
                "408, then closed"),
            Limit(
                "http.lingering", "bytes dropped after a connection's last answer",
                "\(serverLimits.httpLingering), \(bytes: serverLimits.httpDiscardedBytes)", "closed"
            ),
        ])

    /// Printed into `docs/limits/server.md`.
    package static let access: Self = LimitTable(
        "server", "Authentication",
        "",
        [
            Limit(
                "access.token", "a token", "\(bytes: WireLimits.tokenBytes)",
                "malformed: close 4200; HTTP 401"),
            Limit(
                "access.fields", "fields of its header, and of its claims; audiences",
                "\(AccessLimits.fields); \(AccessLimits.audiences)", "close 4203; HTTP 401"),
            Limit(
                "access.leeway", "the difference of clocks",
                "\(ServerConfiguration(data: "").tokenLeeway) (settable)",
                "4203 before the token's start, 4003 after its end"),
            Limit(
                "access.verifying", "tokens of a connection that are being verified", "one",
                "the socket is not read; received frames wait"),
            Limit(
                "access.keySet", "a key file, a fetched key set",
                "\(bytes: AccessLimits.keyBytes), \(AccessLimits.keys) keys",
                "the server does not start; later the old keys stay"),
            Limit(
                "access.keyName", "a key's name", "\(bytes: AccessLimits.keyNameBytes)",
                "the key, or the token, is not accepted"),
            Limit(
                "access.secret", "a secret", "at least \(bytes: AccessLimits.secretBytes)",
                "the server does not start"),
            Limit(
                "access.fetch", "fetching a key set",
                """
                \(AccessLimits.fetch), one at a time, \(AccessLimits.betweenFetches) between two \
                (\(AccessLimits.betweenFirstFetches) without keys)
                """,
                "the known keys stay; without any close 4103, HTTP 503"),
            Limit(
                "access.keysStay", "the age of a fetched key set", "\(AccessLimits.keysStay)",
                "fetched again; the known keys stay if that fails"),
            Limit(
                "access.developmentToken", "a development token",
                "\(AccessLimits.usualDevelopmentToken), at most \(AccessLimits.developmentToken)",
                "HTTP 400"),
            Limit(
                "access.tls", "the TLS handshake and the first request",
                "\(serverLimits.handshake) together (settable)", "closed"),
        ])
}
