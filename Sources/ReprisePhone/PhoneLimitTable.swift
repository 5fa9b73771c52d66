package import RepriseCore

private let rules = PhoneRules()

extension LimitTable {
    /// Printed into `docs/limits/phone.md`.
    package static let phone: Self = LimitTable(
        "phone", "The phone",
        "[phone.md](../phone.md) lists Apple's rules; these are the stand-in's own limits.",
        [
            Limit(
                "phone.line", "a line on its socket", "\(bytes: LineConnection.lineLimit)",
                "dropped; `tooLarge` to the sender, and in the log"),
            Limit(
                "phone.unsent", "unsent bytes to a peer", "\(bytes: LineConnection.waitingLimit)",
                "disconnected; an app without a connection is terminated after 2 s"),
            Limit(
                "phone.questions", "requests of a control connection in progress",
                "\(PhoneLimits.questions)", "`.closed`"),
            Limit(
                "phone.apps", "installed apps", "\(PhoneLimits.apps)", "`.full`"),
            Limit(
                "phone.orders", "unacknowledged orders of an app", "\(PhoneLimits.orders)",
                "it counts as hung and is terminated"),
            Limit(
                "phone.launch", "from a process's start to its connection",
                "\(milliseconds: PhoneLimits.launchMilliseconds) (settable for each app)",
                "terminated"),
            Limit(
                "phone.presentation", "an answer about a notification in the foreground",
                "\(milliseconds: PhoneLimits.presentationMilliseconds)",
                "the rule `unansweredPresentation`"),
            Limit(
                "phone.expiry", "a task ends after its expiration was reported",
                "\(milliseconds: PhoneLimits.expiryMilliseconds)", "terminated"),
            Limit(
                "phone.backgroundWarning", "an app's last time in the background",
                "\(milliseconds: PhoneLimits.backgroundWarningMilliseconds), or half of its time",
                "suspended, or terminated: the rule `backgroundOverrun`"),
            Limit(
                "phone.removal", "a removal of notifications waits; waiting ones",
                "\(milliseconds: PhoneLimits.removalMilliseconds); \(PhoneLimits.removals)",
                "performed; lost if the app is suspended before"),
            Limit(
                "phone.tasks", "a refresh task; a processing task",
                """
                \(milliseconds: PhoneLimits.refreshMilliseconds); \
                \(milliseconds: PhoneLimits.processingMilliseconds)
                """,
                "its expiration is reported"),
            Limit(
                "phone.transfers", "known transfers of an app", "\(PhoneLimits.transfers)",
                "`full`"),
            Limit(
                "phone.concurrentTransfers", "concurrent transfers",
                "\(PhoneLimits.transfersAtOnce)", "the others wait"),
            Limit(
                "phone.transferSize", "a transfer's content", "\(bytes: PhoneLimits.transferBytes)",
                "failed"),
            Limit(
                "phone.transferIdle", "a silent transfer",
                "\(milliseconds: PhoneLimits.transferTimeoutMilliseconds) (Apple's)",
                "retried after 1 s (settable), doubling to 5 min"),
            Limit(
                "phone.transferTime", "a transfer",
                "\(milliseconds: PhoneLimits.transferMilliseconds) (Apple's)", "failed"),
            Limit(
                "phone.transferWaits", "waits between attempts of a transfer",
                """
                \(rules.transferRetrySeconds) s (settable), doubling to \
                \(milliseconds: PhoneLimits.transferRetryLimitMilliseconds)
                """,
                "–"),
            Limit(
                "phone.transferRedirects", "redirects of a transfer",
                "\(PhoneLimits.transferRedirects)", "failed"),
            Limit(
                "phone.transferProgress", "progress of a transfer",
                "one event in \(milliseconds: PhoneLimits.transferProgressMilliseconds)",
                "events between are left out"),
            Limit(
                "phone.cancellation", "the end of a transfer that its app cancelled is reported",
                "after \(milliseconds: PhoneLimits.cancellationMilliseconds)", "–"),
            Limit(
                "phone.killed", "a killed process ends", "\(verbatim: "5 s")",
                "the phone continues, and kills it again at its next start"),
            Limit(
                "phone.content", "a local notification's texts and info",
                "\(bytes: PhoneLimits.contentBytes)", "`.tooLarge`"),
            Limit(
                "phone.categories", "categories of an app", "\(PhoneLimits.categories)", "`.full`"),
            Limit(
                "phone.delivered", "delivered notifications of an app", "\(PhoneLimits.delivered)",
                "the oldest are removed"),
            Limit(
                "phone.extensions", "running service extensions", "\(PhoneLimits.extensions)",
                "the push is shown as it came"),
            Limit(
                "phone.log", "the log",
                "\(PhoneLimits.events) events with \(bytes: PhoneLimits.detailBytes) of detail",
                "the oldest are removed; details are cut"),
            Limit(
                "phone.pollers", "requests that wait for the log", "\(PhoneSupervisor.pollerLimit)",
                "an empty page at once"),
            Limit(
                "phone.logPage", "a page of the log; waiting for one",
                """
                \(PhoneLimits.pageEvents) events, \(bytes: LineConnection.lineLimit / 2); \
                \(milliseconds: PhoneLimits.pageMilliseconds)
                """,
                "the next page; an empty one"),
            Limit(
                "phone.due", "events due in one step of time", "\(PhoneLimits.dueAtOnce)",
                "the next step has the others"),
            Limit(
                "phone.time", "time that passes at once", "\(milliseconds: PhoneMachine.farthest)",
                "`.badConfiguration`"),
            Limit(
                "phone.output", "output of an app or an extension",
                "\(bytes: PhoneProcess.outputLimit) of its newest process", "dropped"),
            Limit(
                "phone.path", "the path of its folder",
                "\(verbatim: "90 bytes"), because of the socket in it", "`.badConfiguration`"),
            Limit(
                "phone.push", "a push's payload; its collapse id",
                "\(PhonePush.payloadBytes); \(bytes: PhonePush.collapseBytes)",
                "`PayloadTooLarge`; `BadCollapseId`"),
            Limit(
                "phone.storedPushes",
                "pushes stored for an app while the device is offline; while it is throttled",
                "one; one", "the newest replaces it (settable), with `pushDropped` in the log"),
            Limit(
                "phone.storedPush", "a stored push", "\(PushInbox.storedFor), or its expiration",
                "dropped, with `expired`"),
            Limit(
                "phone.background", "background pushes",
                "\(rules.silentPushesPerHour) an hour (settable)", "the newest is held"),
            Limit(
                "phone.extension", "a service extension",
                """
                \(milliseconds: PhoneLimits.extensionMilliseconds), warned \
                \(milliseconds: PhoneLimits.extensionWarningMilliseconds) before
                """,
                "killed; the original is shown"),
            Limit(
                "phone.endpoint", "connections of the push endpoint; a silent one",
                "\(PushEndpoint.connections); \(PushEndpoint.idle)", "closed"),
        ])

    /// Printed into `docs/limits/phone.md`.
    package static let chromium: Self = LimitTable(
        "phone", "Chromium",
        "",
        [
            Limit(
                "chromium.messages", "unread messages of a page",
                """
                \(ChromiumWebView.maximumMessages), \
                \(bytes: ChromiumWebView.maximumMessageBytes) each
                """,
                "`terminated`"),
            Limit(
                "chromium.devTools", "loading a page; a call of DevTools; open calls; a message",
                """
                \(ChromiumWebView.timeout); \(DevTools.timeout); \(DevTools.maximumCalls); \
                \(bytes: DevTools.maximumMessageBytes)
                """,
                "`.timedOut`; `.timedOut`; `.full`; closed"),
            Limit(
                "chromium.start", "starting Chromium", "\(Chromium.timeout)", "`.timedOut`"),
        ])
}
