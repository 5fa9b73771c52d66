package import RepriseCore
import RepriseJournal
import RepriseWire

private let configuration = Notices.Configuration()

extension LimitTable {
    /// Printed into `docs/limits/notices.md`.
    package static let notices: Self = LimitTable(
        "notices", "The app's side",
        "",
        [
            Limit(
                "notices.banners",
                "notifications shown for one batch of a channel, and of catch-ups that remain",
                "\(configuration.bannersPerChannel) (settable to \(NoticeLimits.banners))",
                "the newest are shown, the others only count"),
            Limit(
                "notices.batch", "messages of one batch of a channel that are decided one by one",
                "\(NoticeLimits.looked)", "the others are counted as `bulk`"),
            Limit(
                "notices.channels", "channels read in one transaction",
                "\(NoticeLimits.channelsAtOnce)", "the next transaction"),
            Limit(
                "notices.recovered", "notices checked at a start", "\(NoticeLimits.recovered)",
                "the others are checked when their channel changes"),
            Limit(
                "notices.catchUp", "messages wait for the end of a catch-up",
                "\(milliseconds: NoticeLimits.catchUpTimeoutMilliseconds)",
                "decided with what has arrived"),
            Limit(
                "notices.title", "messages wait for their channel's title before a suspension",
                "\(NoticeLimits.titleLook * NoticeLimits.titleLooks)",
                "shown under their sender's name"),
            Limit(
                "notices.fresh", "the age of the system's list of delivered notifications",
                "\(milliseconds: NoticeLimits.freshMilliseconds)",
                "read again: the process may have been suspended"),
            Limit(
                "notices.mirrorInterval", "the time between two mirrors in the foreground",
                "\(milliseconds: NoticeLimits.mirrorMilliseconds)", "written after it"),
            Limit(
                "notices.kept", "decisions of removed notifications are kept",
                "\(NoticeLimits.keptDays) days", "removed"),
            Limit(
                "notices.texts", "the title; the text of a notification",
                "\(NoticeLimits.titleBytes); \(bytes: NoticeLimits.bodyBytes)",
                "cut between characters"),
            Limit(
                "notices.payload", "a payload", "\(bytes: NoticeLimits.payloadBytes)",
                "not taken for one of Reprise"),
            Limit(
                "notices.reply", "a reply typed on a notification",
                "\(bytes: NoticeLimits.replyBytes)", "cut between characters"),
            Limit(
                "notices.taps", "taps in flight", "\(NoticeLimits.tapsInFlight)",
                "the others wait"),
            Limit(
                "notices.pause", "the pause after a failure of the system or the disk",
                "up to \(seconds: NoticeLimits.longestPauseSeconds)", "retried"),
            Limit(
                "notices.system", "a call of the notification centre",
                "\(NoticeLimits.systemTimeout)",
                """
                abandoned; the delivered notifications are read, and missing ones are shown \
                again
                """),
            Limit(
                "notices.abandoned", "abandoned calls of the notification centre",
                "\(NoticeLimits.abandoned)", "no call is made; retried after the pause"),
            Limit(
                "notices.restart",
                "notifications of a dead process wait for the server's read positions",
                "\(milliseconds: NoticeLimits.catchUpTimeoutMilliseconds)",
                "shown again, and counted as unconfirmed"),
            Limit(
                "notices.wake", "a background push waits for its message, and its notification",
                "\(NoticeLimits.wakeTimeout), and \(NoticeLimits.settledTimeout)",
                "fetched when the app runs next"),
            Limit(
                "notices.action",
                """
                a reply or "mark as read" on a notification; the server confirms a read position
                """,
                "\(NoticeLimits.actionTimeout); \(NoticeLimits.readTimeout)",
                "done when the app runs next"),
        ])

    /// Printed into `docs/limits/notices.md`.
    package static let noticeSettings: Self = LimitTable(
        "notices", "Extension and settings",
        "",
        [
            Limit(
                "noticeSettings.mirrored", "shown messages in the mirror",
                "\(NoticeLimits.mirroredShown)", "the newest; another's push alerts again"),
            Limit(
                "noticeSettings.mirror", "the mirror", "\(bytes: JournalLimits.mirrorBytes)",
                """
                the oldest positions are left out, then shown messages, then mutes: the \
                extension shows the server's count, and the server does not push muted messages
                """),
            Limit(
                "noticeSettings.extension", "a service extension's work on one push",
                "\(NoticeLimits.extensionBudget) (settable)",
                "the result so far is shown, else the push as it came"),
            Limit(
                "noticeSettings.picture", "a sender's picture, of a host that the app has named",
                "\(bytes: PictureFetch.bytes), \(PictureFetch.timeout), PNG or JPEG",
                "shown without a picture"),
            Limit(
                "noticeSettings.appearance",
                "a sender's name; the address of a picture; a sound's name",
                """
                \(NoticeAppearance.senderBytes); \(NoticeAppearance.pictureBytes); \
                \(bytes: NoticeAppearance.soundBytes)
                """,
                "the name is cut; picture and sound are left out"),
            Limit(
                "noticeSettings.activeElsewhere",
                "a device that saw its person read elsewhere makes no sound, if he wants that",
                "\(PushPayloadLimits.activeElsewhere)", "then it rings again"),
            Limit(
                "noticeSettings.mentions", "users whom a message mentions", "\(Mentions.limit)",
                "later names mean nothing; `publish(_:mentions:)` throws `.tooLarge`"),
            Limit(
                "noticeSettings.sharedAccount", "the file that names the current account's folder",
                "\(bytes: SharedAccount.bytes)", "not followed: the push is shown as it came"),
            Limit(
                "noticeSettings.records", "records of its own that an extension reads",
                "\(NoticeLimits.recordsRead)",
                "the newest; the badge may miss older ones until the app runs"),
            Limit(
                "noticeSettings.spool", "records in the spool", "\(JournalLimits.spoolFiles) files",
                "not recorded, but shown"),
            Limit(
                "noticeSettings.mutes", "mutes of a person on a device", "\(NoticeLimits.mutes)",
                "`.full`"),
            Limit(
                "noticeSettings.token", "a push token", "\(bytes: NoticeLimits.pushTokenBytes)",
                "`.tooLarge`"),
            Limit(
                "noticeSettings.server", "the server's answer about a setting",
                "\(NoticeLimits.serverTimeout) without a byte; \(bytes: NoticeLimits.answerBytes)",
                "an outage: retried"),
            Limit(
                "noticeSettings.waits", "waits after an outage",
                """
                \(NoticeLimits.firstWait), doubling to \(NoticeLimits.longestWait), with full \
                jitter; `Retry-After` up to \(NoticeLimits.longestRetryAfter)
                """,
                "at once when the socket opens"),
            Limit(
                "noticeSettings.others", "settings of other devices that are read",
                "\(2 * NoticeLimits.mutes)", "further ones are ignored"),
            Limit(
                "noticeSettings.leaving",
                "signing out waits for the server to forget the push token",
                "\(NoticeLimits.leaving)",
                """
                the server forgets it when another user registers it, or Apple reports it as \
                dead
                """),
        ])
}
