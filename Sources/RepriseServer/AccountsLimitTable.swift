package import RepriseCore
import RepriseWire

private let elsewhere = ConnectedElsewhere.Settings()

extension LimitTable {
    /// Printed into `docs/limits/accounts.md`.
    package static let accounts: Self = LimitTable(
        "accounts", "Accounts",
        "",
        [
            Limit(
                "accounts.queue", "changes that wait for their commit",
                "\(AccountLimits.waitingWrites)", "`.full`; nothing is stored"),
            Limit(
                "accounts.transaction", "changes in one commit", "\(AccountLimits.writesPerCommit)",
                "the others go into the next"),
            Limit(
                "accounts.members", "members of a channel", "\(AccountLimits.members)",
                "HTTP 409 `tooManyMembers`; a dead letter of the device"),
            Limit(
                "accounts.channelsMade",
                "channels that a user makes; their members that the user adds",
                "\(AccountLimits.channelsMade); \(AccountLimits.membersMade); none for admins",
                "HTTP 409 `tooManyChannels`, `tooManyMembers`; a dead letter of the device"),
            Limit(
                "accounts.directs", "conversations of two of a user",
                "\(AccountLimits.directs)",
                "HTTP 409 `tooManyChannels`; a dead letter of the device"),
            Limit(
                "accounts.devices", "devices of a user", "\(AccountLimits.devices)",
                "the device unseen for longest is forgotten, with its positions"),
            Limit(
                "accounts.texts", "a channel's title; a device's platform; a push token",
                """
                \(AccountLimits.titleBytes); \(AccountLimits.platformBytes); \
                \(bytes: AccountLimits.pushTokenBytes)
                """,
                "`.tooLarge`; `.malformed` with a zero character, a title that is no plain line"),
            Limit(
                "accounts.retention", "a channel's own retention: messages and bytes; age",
                """
                \(WireLimits.greatestSequence), at least one; \(AccountLimits.longestRetention), \
                at least a second
                """,
                "`.malformed`"),
            Limit(
                "accounts.directory",
                "entries of a directory beyond twice its user's conversations",
                "\(DirectoryLimits.superseded)",
                "all its conversations are told again, and earlier entries removed"),
            Limit(
                "accounts.named", "members that a directory's entry names",
                "\(DirectoryLimits.namedMembers)",
                "with more members it has their number, and a change of it is not told"),
            Limit(
                "accounts.telling",
                """
                changes of a channel's title that more members are told; changes of a profile, told \
                in \(DirectoryLimits.profileChannels) channels
                """,
                "one in \(DirectoryLimits.betweenTellings)", "the newest later"),
            Limit(
                "accounts.profile", "a name; a picture's address",
                """
                \(NoticeAppearance.senderBytes); \(bytes: NoticeAppearance.pictureBytes)
                """,
                "`.malformed`; HTTP 400"),
            Limit(
                "accounts.catalogues", "catalogues of forms of a company",
                "the current one and \(AccountLimits.formsVersions) earlier ones",
                "the oldest is removed"),
        ])

    /// Printed into `docs/limits/push.md`.
    package static let push: Self = LimitTable(
        "push", "Push",
        "[push.md](../push.md) describes what is pushed.",
        [
            Limit(
                "push.activeElsewhere",
                "who has read on a device is active there, where he wants no sound elsewhere",
                "\(PushPayloadLimits.activeElsewhere)", "then pushes have a sound again"),
            Limit(
                "push.grace", "a connected device receives a message itself before it is pushed",
                """
                \(PushLimits.grace), and up to \(PushLimits.slot) to group a channel's messages; \
                without a connection the latter alone
                """,
                "pushed"),
            Limit(
                "push.early",
                "messages of a channel for which devices without a connection are pushed at once",
                "\(PushLimits.messagesPerScan) that are not scanned for yet",
                "after the time of connected devices"),
            Limit(
                "push.connected",
                "what the gateway that pushes asks the others: which devices are connected",
                """
                one message at a time for each push service, of up to \(ConnectedNews.devices) \
                devices; all gateways that have written within \(elsewhere.writtenWithin), and \
                have not said that they end, must answer within \(elsewhere.answerWithin)
                """,
                """
                all devices get the time of connected ones; after one that is not answered by all \
                nobody is asked for \(elsewhere.pause)
                """),
            Limit(
                "push.handover", "reads that the gateway which pushes next dismisses for",
                """
                those of the last \(PushLimits.handover) by the journal's time, \
                \(PushLimits.handoverReads) at most
                """,
                "a banner stays, if the former gateway has not sent its dismissal"),
            Limit(
                "push.noted", "noted messages", "\(PushLimits.notedSlots)",
                "all channels are scanned"),
            Limit(
                "push.scanMessages", "messages of one scan over a channel's members",
                "\(PushLimits.messagesPerScan)", "the next scan"),
            Limit(
                "push.scanMembers", "members in one step of a scan",
                "\(PushLimits.membersPerStep), fewer for several messages",
                "the next step, after a commit"),
            Limit(
                "push.scans", "channels scanned at a time, for each service", "\(PushLimits.scans)",
                "the others wait"),
            Limit(
                "push.queued", "queued pushes of a service",
                "\(PushLimits.queued), and one step of each scan; without delayed alerts",
                "scans pause; the log keeps the messages"),
            Limit(
                "push.delayedAlerts",
                """
                alerts of a user, for each service, that wait for a push service that fails or is \
                slow, or for a device's rate
                """,
                "\(PushLimits.delayedAlerts)", "the oldest are dropped, counted as `displaced`"),
            Limit(
                "push.queuePage", "pushes read from the queue at a time", "\(PushLimits.page)",
                "the next page"),
            Limit(
                "push.answers", "answers of a push service recorded together",
                """
                \(PushLimits.settledTogether), or those of \(PushLimits.settledWithin); at once \
                if nothing else is in flight
                """,
                "pushes answered in that time are sent again after a kill"),
            Limit(
                "push.inMemory", "a push waits in memory", "\(PushLimits.waitsInMemory)",
                "read again before it is sent"),
            Limit(
                "push.inFlight", "pushes in flight",
                """
                \(PushLimits.apnsConcurrency) to APNs, \(PushLimits.webPushConcurrency) to Web \
                Push
                """,
                "the others wait on the disk"),
            Limit(
                "push.slowServices",
                """
                pushes in flight to Web Push services whose answers take \
                \(PushLimits.slowAnswer) and more on average, and to those that have not answered \
                yet, together; services that are known to be fast
                """,
                "half of these places; \(PushLimits.partitions)",
                """
                the others wait on the disk for as long as an answer takes; each must answer fast \
                once more
                """),
            Limit(
                "push.deviceRate", "pushes of a device",
                "\(PushLimits.deviceBurst) at once, then \(PushLimits.devicePerSecond) a second",
                "waits"),
            Limit(
                "push.attempts", "attempts of a push that is neither accepted nor refused",
                """
                \(PushLimits.attempts), after \(PushLimits.retryBase), doubling to \
                \(PushLimits.retryLongest), with full jitter, or after `Retry-After`
                """,
                "dropped, counted as `exhausted`"),
            Limit(
                "push.retryAfter", "`Retry-After`", "\(PushLimits.retryAfterLongest)", "cut"),
            Limit(
                "push.failures", "consecutive failures of a provider",
                "\(PushLimits.failuresToOpen)",
                """
                nothing is sent for \(PushLimits.circuitBase), doubling to \
                \(PushLimits.circuitLongest); then one push is tried
                """),
            Limit(
                "push.failingServices", "failing Web Push services that are remembered",
                "\(PushLimits.partitions)", "all are tried again"),
            Limit(
                "push.failureLog", "log lines about a failing push service",
                """
                each change, and one every \(PushLimits.troubleTold); \(PushLimits.partitions) \
                services
                """,
                "left out; all are logged again"),
            Limit(
                "push.lookUp", "resolving a Web Push service's name; its address; names",
                """
                \(PushLimits.connect); used for \(PushLimits.endpointLookUpLife); \
                \(PushLimits.endpointNames)
                """,
                "a failure of the provider; resolved again; the oldest is dropped"),
            Limit(
                "push.provider", "connecting to a provider; its answer",
                "\(PushLimits.connect); \(PushLimits.answer)", "a failure of the provider"),
            Limit(
                "push.answer", "bytes of an answer", "\(PushLimits.answerBytes)",
                "the others are not read"),
            Limit(
                "push.life", "a message's time to live",
                "\(PushLimits.life); `notice.ttl` up to \(PushLimits.lifeLongest)",
                "dropped, counted as `expired`; not while the calendar is doubted"),
            Limit(
                "push.payload", "a payload for APNs; for Web Push, before encryption",
                "\(bytes: PushLimits.apnsPayloadBytes); \(bytes: PushLimits.webPushPayloadBytes)",
                "the text is cut between two characters, and `cut` is set"),
            Limit(
                "push.title", "a title", "\(bytes: PushLimits.titleBytes)", "cut"),
            Limit(
                "push.directions", "open changes of direction in a text",
                "\(PushText.openDirections)", "further ones are removed"),
            Limit(
                "push.collapse", "a collapse id for APNs; a topic for Web Push",
                "\(bytes: PushLimits.apnsCollapseBytes); \(verbatim: "32 bytes")",
                "replaced by a hash of 34 and 32 bytes"),
            Limit(
                "push.apnsToken", "the provider token for Apple",
                """
                renewed after \(PushLimits.apnsTokenAge), if refused not before \
                \(PushLimits.apnsTokenAgeLeast)
                """,
                "–"),
            Limit(
                "push.vapidToken", "a VAPID token; services with one",
                """
                used for \(PushLimits.vapidAge) of \(PushLimits.vapidLife); \
                \(PushLimits.vapidTokens)
                """,
                "made again"),
            Limit(
                "push.endpoint", "an endpoint", "\(bytes: PushLimits.endpointBytes)", "HTTP 413"),
            Limit(
                "push.mutes", "mutes of a user", "\(PushLimits.mutes)",
                "HTTP 409 `tooManyMutes`; a dead letter of the device"),
            Limit(
                "push.badgeChannels", "channels that a badge counts", "\(PushLimits.badgeChannels)",
                "the others do not count"),
            Limit(
                "push.badgeCache",
                """
                channels with cached unread counts, of all users; a user counts as \
                \(PushLimits.badgeUserRoom) more
                """,
                "\(PushLimits.badgeKept)",
                "users without a push for longest are counted again at their next push"),
            Limit(
                "push.badgeQuery", "users, and their channels, counted together",
                "\(PushLimits.badgeUsers); \(PushLimits.badgeStarts) and those of the last user",
                "the next query"),
            Limit(
                "push.changedChannels", "noted channels that have changed since a count",
                "\(PushLimits.notedSlots)", "the user is counted again"),
            Limit(
                "push.badge", "unread messages that a badge counts", "\(WireLimits.unreadCounted)",
                "the count means that many or more"),
            Limit(
                "push.contents", "cached messages while they are pushed",
                "\(PushLimits.contents), for \(PushLimits.contentStays)", "read again"),
            Limit(
                "push.shutdown", "a shutdown waits for pushes in flight", "\(PushLimits.shutdown)",
                "sent again by the next server"),
        ])
}
