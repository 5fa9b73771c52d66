public import RepriseCore
import RepriseJournal
import RepriseWire

extension Notices {
    // MARK: From the system

    /// Whether a notification is of a message, and so this door's.
    ///
    /// - Parameter info: its payload, a JSON object as UTF-8.
    /// - Returns: whether the payload has what Reprise's server puts into its pushes.
    public static func isOurs(_ info: [UInt8]) -> Bool { NoticeContent.hint(info) != nil }

    /// How the system shows what has arrived while the app is in the foreground: a push, or what
    /// this door has asked for.
    ///
    /// Nothing, if the channel is on the screen, is read, or put aside; only the figure, if it was
    /// shown before.
    ///
    /// - Parameter notification: what the system asked about.
    /// - Returns: how it is shown.
    public func willPresent(_ notification: DeliveredNotification) async -> PresentationOptions {
        guard let hint = NoticeContent.hint(notification.request.content.info), let id = hint.id
        else { return [.banner, .list, .sound] }
        let permission = await driver.permission
        let moment = NoticeDesk.Moment(
            settings: permission ?? NotificationSettings(authorization: .authorized),
            onScreen: driver.scene.onScreen, wall: configuration.timekeeper.wall(),
            preferences: configuration.preferences())
        let (desk, isRemote) = (driver.desk, notification.isRemote)
        let step = try? await journal.write { db in
            try desk.arrived(hint, id, isRemote: isRemote, moment, db)
        }
        driver.inbox.put { $0.channels.insert(hint.channel) }
        // What cannot be decided upon, as with a full disk, is shown as it came.
        return step?.options ?? [.banner, .list, .sound]
    }

    /// Records what a person did with a notification; returns once it is durable, and then the
    /// system's completion handler may be called.
    ///
    /// A tap is handed to ``taps``; a reply is published and "mark as read" counts, without the
    /// app's screen. The same tap through two entrances of the app is one entry. Where the journal
    /// cannot be written it is left in the spool, just as durable, and merged as soon as it can be.
    ///
    /// - Parameter response: what the system said.
    /// - Returns: the entry's id.
    /// - Throws: what the journal throws, if the spool cannot be written either.
    @discardableResult
    public func received(_ response: NotificationResponse) async throws -> EntryID {
        try await record(response)
        return response.tapID
    }

    /// Records it, and says whether it is in the journal; else it is in the spool.
    @discardableResult
    package func record(_ response: NotificationResponse) async throws -> Bool {
        let arrival = NoticeArrival(response)
        let isRecorded = try await routing.record(arrival, as: response.tapID)
        if let channel = arrival.channelName {
            driver.inbox.put { $0.channels.insert(channel) }
        }
        return isRecorded
    }

    /// Whether what a person did needs no screen, but time.
    package func isAction(_ response: NotificationResponse) -> Bool {
        routing.isAction(NoticeArrival(response))
    }

    /// Returns when the server has a reply, and that it was read, or the time is over.
    ///
    /// For a server to know what was read it waits ``NoticeLimits/readPatience`` at most; for one
    /// that knows no users not at all.
    package func done(_ response: NotificationResponse, within limit: Duration) async {
        let arrival = NoticeArrival(response)
        let entry = response.tapID
        let clock = configuration.timekeeper
        let end = clock.uptime() + limit
        let wait = await NoticeWait(journal, clock)
        for id in [entry, NoticeRouting.reply(to: entry)] {
            await wait.until(end) { await !routing.isPending(id) }
        }
        let soon = min(end, clock.uptime() + NoticeLimits.readPatience)
        await wait.until(soon) { await routing.isReadKnown(arrival) }
        driver.inbox.put { $0.isUrgent = true }
        let rest = end - clock.uptime()
        if rest > .zero { await settled(within: min(rest, .seconds(5))) }
    }

    /// Whether the app is in the foreground; one that has not said so is not, unless a channel is
    /// on its screen.
    package var isForeground: Bool { driver.scene.isForeground }

    /// Takes a push that has woken the app: a figure for the icon, or that banners are to be taken
    /// away.
    ///
    /// Returns when that is done and durable. A push that is none of this door's does nothing.
    ///
    /// - Parameter info: the payload, a JSON object as UTF-8.
    /// - Throws: what the journal throws.
    public func receivedPush(_ info: [UInt8]) async throws {
        guard let hint = NoticeContent.hint(info) else { return }
        let (desk, now) = (driver.desk, configuration.timekeeper.wall())
        try await journal.write { db in try desk.heard(hint, at: now, db) }
        driver.inbox.put { work in
            work.channels.insert(hint.channel)
            work.mergesSpool = true
            work.isUrgent = true
            if hint.kind == .dismiss {
                work.dismissed[hint.channel] = max(work.dismissed[hint.channel] ?? 0, hint.seq)
            }
        }
        _ = await settled(within: .seconds(20))
    }

    /// Returns when the journal has what the server had when it made a push, or the time is over;
    /// at once for a channel that is not known here.
    package func caughtUp(with info: [UInt8], within limit: Duration) async {
        guard let hint = NoticeContent.hint(info) else { return }
        let (clock, messages) = (configuration.timekeeper, driver.desk.messages)
        let wait = await NoticeWait(journal, clock)
        await wait.until(clock.uptime() + limit) { [journal] in
            let standing = try? await journal.read { db in
                try messages.standing(of: hint.channel, db)
            }
            guard let standing else { return true }
            return standing.isComplete && standing.head >= hint.head
        }
        driver.inbox.put { $0.isUrgent = true }
        _ = await settled(within: .seconds(5))
    }

    // MARK: State

    /// What people have tapped, once the app's screen is there.
    public var taps: NoticeTaps { routing.taps }

    /// The figure at the icon.
    public var badge: IconBadge { driver.badges.value }

    /// The figure at the icon: first now, then each change.
    ///
    /// Who reads slowly gets the newest 64.
    public var badges: AsyncStream<IconBadge> { driver.badges.watch() }

    /// Every number of the door as of now; costs nothing while nobody asks.
    public var insight: NoticeInsight { get async { await driver.insight } }

    /// What the person allows may have changed: the system is asked.
    public func permissionChanged() { driver.inbox.put { $0.recovers = true } }

    /// Returns when everything is done that there was to do.
    ///
    /// - Returns: whether it could be done in that time.
    @discardableResult
    package func settled(within limit: Duration? = nil) async -> Bool {
        guard let limit else { return await driver.inbox.settled() }
        let clock = configuration.timekeeper
        return await driver.inbox.settled(within: { try? await clock.sleep(for: limit) })
    }

    /// Whether nothing is under way.
    package var isQuiet: Bool { driver.inbox.isIdle }

    /// Ends ``run(notifications:)`` and returns when it has ended.
    package func stop() async { await driver.stop() }

    /// Takes away all that this door has shown, as when an account is left.
    package func leave() async {
        await driver.leave()
        await leaveSettings()
    }
}

extension Notices: AppLife {
    /// The app is in the background: what waits is shown, and what an extension has to know is
    /// written down.
    ///
    /// - Parameter granted: how long the app may run.
    public func background(granted: Duration) async {
        await enter(.background(granted: granted))()
    }

    /// The app is in the foreground: what an extension has shown, and what stands, is looked at.
    public func foreground() async { await enter(.foreground)() }

    /// Keeps what it has.
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
