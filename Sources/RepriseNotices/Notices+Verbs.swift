public import RepriseCore
public import RepriseJournal
import RepriseWire

extension Notices {
    // MARK: From the system

    /// Whether a notification is of a message, and so this feature's.
    ///
    /// - Parameter info: its payload, a JSON object as UTF-8.
    /// - Returns: whether the payload has the fields of Reprise's pushes.
    public static func isOurs(_ info: [UInt8]) -> Bool { NoticeContent.hint(info) != nil }

    /// Decides the presentation of a notification that arrives in the foreground: a push, or one of
    /// this feature's own.
    ///
    /// Empty, if the channel is visible, read, or muted; only the badge, if it was shown before.
    ///
    /// - Parameter notification: of the system's delegate call.
    /// - Returns: its presentation.
    public func willPresent(_ notification: DeliveredNotification) async -> PresentationOptions {
        guard let hint = NoticeContent.hint(notification.request.content.info), let id = hint.id
        else { return [.banner, .list, .sound] }
        let permission = await driver.permission
        let moment = NoticeStore.Moment(
            settings: permission ?? NotificationSettings(authorization: .authorized),
            onScreen: driver.scene.onScreen, wall: configuration.timekeeper.wall(),
            preferences: configuration.preferences())
        let (noticeStore, isRemote) = (driver.noticeStore, notification.isRemote)
        let step = try? await journal.write { db in
            try noticeStore.arrived(hint, id, isRemote: isRemote, moment, db)
        }
        driver.inbox.put { $0.channels.insert(hint.channel) }
        // If the decision fails, as with a full disk, it is shown unchanged.
        return step?.options ?? [.banner, .list, .sound]
    }

    /// Records a response to a notification; when it returns, the record is durable and the
    /// system's completion handler may be called.
    ///
    /// A tap is dispatched to ``taps``; a reply is published and "mark as read" applied, without
    /// the app's screen. The same tap through two entry points of the app is one entry. If the
    /// journal cannot be written, the response goes to the spool, equally durable, and is merged as
    /// soon as possible.
    ///
    /// - Parameter response: the system's notification response.
    /// - Returns: the entry's id.
    /// - Throws: what the journal throws, if the spool cannot be written either.
    @discardableResult
    public func received(_ response: NotificationResponse) async throws -> EntryID {
        try await record(response)
        return response.tapID
    }

    /// Records it; returns whether it is in the journal, else it is in the spool.
    @discardableResult
    package func record(_ response: NotificationResponse) async throws -> Bool {
        let arrival = NoticeArrival(response)
        let hint = NoticeContent.hint(response.notification.request.content.info)
        let (noticeStore, now) = (driver.noticeStore, configuration.timekeeper.wall())
        let isRecorded = try await routing.record(arrival, as: response.tapID) { db in
            guard let hint else { return }
            try noticeStore.touched(hint, by: arrival.action, at: now, db)
            // Where no extension has told of it, the icon has the push's badge.
            guard hint.badge != nil else { return }
            try noticeStore.heard(hint, at: now, db)
            try NoticeBadgeRow.forgetShown(db)
        }
        if let channel = arrival.channelName {
            driver.inbox.put { $0.channels.insert(channel) }
        }
        return isRecorded
    }

    /// Whether the response needs time, but no screen.
    package func isAction(_ response: NotificationResponse) -> Bool {
        routing.isAction(NoticeArrival(response))
    }

    /// Returns when the server has the reply and the read position, or at the limit.
    ///
    /// It waits at most ``NoticeLimits/readTimeout`` for the read position, and not at all with a
    /// server without users.
    package func done(_ response: NotificationResponse, within limit: Duration) async {
        let arrival = NoticeArrival(response)
        let entry = response.tapID
        let clock = configuration.timekeeper
        let end = clock.uptime() + limit
        let wait = await NoticeWait(journal, clock)
        for id in [entry, NoticeRouting.reply(to: entry)] {
            await wait.until(end) { await !routing.isPending(id) }
        }
        let soon = min(end, clock.uptime() + NoticeLimits.readTimeout)
        await wait.until(soon) { await routing.isReadKnown(arrival) }
        driver.inbox.put { $0.isUrgent = true }
        let rest = end - clock.uptime()
        if rest > .zero { await settled(within: min(rest, .seconds(5))) }
    }

    /// Whether the app is in the foreground; before it has reported that, whether a channel is
    /// visible.
    package var isForeground: Bool { driver.scene.isForeground }

    /// Handles a background push: a new badge, or banners to remove.
    ///
    /// Returns when that is done and durable. A push of others does nothing, and neither does one
    /// for another user than the signed-in one.
    ///
    /// - Parameter info: the payload, a JSON object as UTF-8.
    /// - Throws: what the journal throws.
    public func receivedPush(_ info: [UInt8]) async throws {
        try await receivedPush(info, within: .seconds(20))
    }

    private func receivedPush(_ info: [UInt8], within limit: Duration) async throws {
        guard let hint = NoticeContent.hint(info) else { return }
        let (noticeStore, now) = (driver.noticeStore, configuration.timekeeper.wall())
        let isOurs = try await journal.write { db in
            guard try !noticeStore.messages.isForeign(hint.to, db) else { return false }
            try noticeStore.heard(hint, at: now, db)
            return true
        }
        guard isOurs else { return }
        driver.inbox.put { work in
            work.channels.insert(hint.channel)
            work.mergesSpool = true
            work.isUrgent = true
            if hint.kind == .dismiss {
                work.dismissed[hint.channel] = max(work.dismissed[hint.channel] ?? 0, hint.seq)
            }
        }
        await settled(within: limit)
    }

    /// A push has woken the app: does what it says, and, unless the app is in the foreground,
    /// returns when the journal has caught up with it and what it brings is shown, or at the limit.
    package func woken(by info: [UInt8], within limit: Duration) async {
        let clock = configuration.timekeeper
        let end = clock.uptime() + limit
        try? await receivedPush(info, within: min(limit, NoticeLimits.settledTimeout))
        guard !isForeground else { return }
        await caughtUp(with: info, within: max(end - clock.uptime(), .zero))
    }

    /// Returns when the journal has caught up with a push and what it brings is shown, or at the
    /// limit, of which the last part is for the notifications.
    ///
    /// Returns at once for an unknown channel and for another user's push. After a `dismiss`,
    /// "caught up" includes the read position, which comes in a frame of its own.
    package func caughtUp(with info: [UInt8], within limit: Duration) async {
        guard let hint = NoticeContent.hint(info) else { return }
        let (clock, messages) = (configuration.timekeeper, driver.noticeStore.messages)
        let end = clock.uptime() + limit
        let arrival = min(
            clock.uptime() + NoticeLimits.wakeTimeout, end - NoticeLimits.settledTimeout)
        let wait = await NoticeWait(journal, clock)
        await wait.until(arrival) { [journal] in
            let standing = try? await journal.read { db -> NoticeStatus? in
                guard try !messages.isForeign(hint.to, db) else { return nil }
                return try messages.standing(of: hint.channel, db)
            }
            guard let standing else { return true }
            let isRead = hint.kind != .dismiss || standing.read >= hint.seq
            return isRead && standing.isComplete && standing.head >= hint.head
        }
        driver.inbox.put { work in
            work.channels.insert(hint.channel)
            work.isUrgent = true
        }
        let rest = max(end - clock.uptime(), .zero)
        await settled(within: min(rest, NoticeLimits.settledTimeout))
    }

    // MARK: State

    /// People's taps, dispatched once the app's screen is ready.
    public var taps: NoticeTaps { routing.taps }

    /// The figure at the icon.
    public var badge: IconBadge { driver.badges.value }

    /// The badge: the current one first, then each change.
    ///
    /// Buffers the newest 64 values; older ones are dropped.
    public var badges: AsyncStream<IconBadge> { driver.badges.watch() }

    /// The current figures; costs nothing until it is read.
    public var diagnostics: NoticeDiagnostics { get async { await driver.diagnostics } }

    /// The permission may have changed: reads the system's settings.
    public func permissionChanged() { driver.inbox.put { $0.recovers = true } }

    /// Returns when all pending work is done.
    ///
    /// - Returns: whether it was done in time.
    @discardableResult
    package func settled(within limit: Duration? = nil) async -> Bool {
        await driver.inbox.settled(within: limit, by: configuration.timekeeper)
    }

    /// Whether nothing is under way.
    package var isQuiet: Bool { driver.inbox.isIdle }

    /// Ends `run` and returns when it has ended.
    package func stop() async { await driver.loop.stop() }

    /// Removes all of this feature's notifications, for example at sign-out.
    ///
    /// - Parameter centre: the notification centre, for when the feature does not run.
    package func leave(_ centre: (any UserNotifications)? = nil) async {
        await driver.leave(centre)
        await leaveSettings()
    }
}

extension Notices: AppLife {
    /// The app is in the background: shows what waits, and writes the mirror for the extension.
    ///
    /// - Parameter granted: how long the app may run.
    public func background(granted: Duration) async {
        await enter(.background(granted: granted))()
    }

    /// The app is in the foreground: reads the extension's records and the delivered notifications.
    public func foreground() async { await enter(.foreground)() }

    /// Does nothing.
    public func memoryPressure() async {}
}

extension Notices: AppLifeFollower {
    package func enter(_ phase: AppPhase) -> @Sendable () async -> Void {
        switch phase {
        case .foreground:
            driver.scene.foreground()
            driver.inbox.put {
                $0.recovers = true
                $0.mergesSpool = true
            }
            return {}
        case .background(let granted):
            driver.scene.background(until: configuration.timekeeper.uptime() + granted)
            driver.inbox.put {
                $0.mergesSpool = true
                $0.isUrgent = true
            }
            guard granted > .seconds(1) else { return {} }
            return { [self] in await settled(within: granted - .seconds(1)) }
        }
    }
}
