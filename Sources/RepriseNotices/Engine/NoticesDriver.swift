import Foundation
import GRDB
import Logging
import RepriseCore
import RepriseJournal
import RepriseWire

/// Handles changes: reads, decides in a transaction, calls the system, and records the result, one
/// round after the other.
actor NoticesDriver {
    nonisolated let noticeStore: NoticeStore
    private nonisolated let journal: Journal
    nonisolated let loop: FeatureLoop<NoticeWork>
    nonisolated var inbox: Mailbox<NoticeWork> { loop.mailbox }
    nonisolated let scene = NoticeScene()
    nonisolated let badges = StateBroadcaster(IconBadge())

    var diagnostics = NoticeDiagnostics()
    /// The system's last reported permission.
    private(set) var permission: NotificationSettings?
    private var system: (any UserNotifications)?
    /// The time of the last read of the system's list.
    private var asked: WallTime?
    /// Requests that the system refused, so that they were certainly not seen.
    private var notTaken: Set<EntryID> = []
    /// When the person was last seen to read on another device.
    private var readElsewhere: WallTime?
    /// Catch-ups that are waited for, and until when.
    private var postponed: [ChannelName: Duration] = [:]
    private let alarm: Alarm
    private var mirrored: (value: NoticeMirror, at: Duration)?
    private var failures = 0
    /// Until when uncertain notifications of a dead process wait for the server's read positions.
    private var placesUntil: Duration?
    private var recoversAgain = false
    /// The account is left: nothing of it is shown any more.
    private var isLeft = false

    var configuration: Notices.Configuration { noticeStore.configuration }
    /// The mirror for the extension.
    private var sharedMirror: Mirror<NoticeMirror> {
        Mirror(in: journal.sharedLocation, version: NoticeMirror.version)
    }
    private var clock: any Timekeeper { noticeStore.configuration.timekeeper }

    init(
        journal: Journal, messages: any NoticeMessages, configuration: Notices.Configuration
    ) {
        self.journal = journal
        alarm = Alarm(configuration.timekeeper)
        let inbox = Mailbox<NoticeWork> { former, next in
            former.add(next)
            return true
        }
        loop = FeatureLoop("The notices", journal, inbox)
        noticeStore = NoticeStore(messages: messages, configuration: configuration)
        messages.observe { [inbox, scene] news in
            switch news {
            case .changed(let channel): inbox.put { $0.channels.insert(channel) }
            case .appeared(let channel):
                scene.appeared(channel)
                inbox.put { $0.channels.insert(channel) }
            case .disappeared(let channel): scene.disappeared(channel)
            case .left(let channel):
                scene.disappeared(channel)
                inbox.put { $0.left.insert(channel) }
            }
        }
    }

    // MARK: Running

    func run(_ system: any UserNotifications) async throws {
        try await loop.run(on: self) {
            await self.start(system)
        } take: {
            try await self.take($0)
        } finish: {
            await self.finish()
        }
    }

    private func start(_ system: any UserNotifications) {
        self.system = TimeoutNotifications(system, clock: clock)
        diagnostics.isRunning = true
        placesUntil = clock.uptime() + .milliseconds(NoticeLimits.catchUpTimeoutMilliseconds)
        inbox.put {
            $0.recovers = true
            $0.mergesSpool = true
        }
    }

    private func finish() {
        alarm.cancel()
        for work in inbox.close() { work.ended(isDone: false) }
        system = nil
        diagnostics.isRunning = false
    }

    private func take(_ work: NoticeWork) async throws {
        do {
            try await round(work)
            failures = 0
            diagnostics.fault = nil
            work.ended(isDone: true)
        } catch {
            work.ended(isDone: false)
            if error.isEndOfJournal { throw error }
            await again(work, after: error)
        }
    }

    /// Retries failed work after a pause, and looks for uncertain outcomes.
    private func again(_ work: NoticeWork, after error: any Error) async {
        if Task.isCancelled { return }
        failures += 1
        diagnostics.tally.failures += 1
        diagnostics.fault = "\(error)"
        var rest = work
        rest.waiters = []
        rest.recovers = true
        inbox.put(rest)
        let pause = Backoff(
            base: .milliseconds(100), longest: .seconds(NoticeLimits.longestPauseSeconds)
        ).delay(failures: failures, jitter: configuration.jitter())
        try? await clock.sleep(for: pause)
    }

    // MARK: A round

    private func round(_ work: NoticeWork) async throws {
        guard let system, !isLeft else { return }
        var channels = work.channels
        if work.isUrgent {
            // The app may be suspended after this round.
            channels.formUnion(postponed.keys)
            try await waitForTitles(of: Array(channels))
        }
        if work.mergesSpool || scene.isBackground { try await mergeSpool() }
        let settings = try await system.settings()
        diagnostics.permission = settings.authorization
        permission = settings
        asked = clock.wall()
        var standing = try await standing(system)
        diagnostics.delivered = standing.count
        let moment = NoticeStore.Moment(
            settings: settings, onScreen: scene.onScreen, wall: clock.wall(),
            preferences: configuration.preferences(), isForeground: scene.isForeground,
            readElsewhere: readElsewhere)
        if work.recovers || recoversAgain {
            let held = try await unplaced(isUrgent: work.isUrgent)
            channels.formUnion(try await recover(standing, held, moment))
            asked = clock.wall()
            standing = try await self.standing(system)
        }
        try await leave(work.left, standing, moment)
        channels.formUnion(try await dismiss(work.dismissed, standing))
        let names = channels.sorted { $0.text < $1.text }
        var start = names.startIndex
        repeat {
            let end = min(start + NoticeLimits.channelsAtOnce, names.endIndex)
            let some = Array(names[start..<end])
            try await look(at: some, isUrgent: work.isUrgent, standing, moment)
            start = end
        } while start < names.endIndex
        try await mirror(settings, isUrgent: work.isUrgent || scene.isBackground)
    }

    private func look(
        at names: [ChannelName], isUrgent: Bool, _ standing: [DeliveredNotice],
        _ moment: NoticeStore.Moment
    ) async throws {
        let flows = await noticeStore.messages.flows(of: names)
        let ready = names.filter { name in
            !isPostponed(name, isCatchingUp: !isUrgent && flows[name]?.isCatchingUp == true)
        }
        let plan = try await journal.write { [noticeStore] db in
            try noticeStore.look(at: ready, flows: flows, standing: standing, moment, db)
        }
        if plan.isReadElsewhere { readElsewhere = moment.wall }
        try await perform(plan, standing, moment)
    }

    /// An urgent round does not come back to a channel.
    private func waitForTitles(of names: [ChannelName]) async throws {
        for _ in 0..<NoticeLimits.titleLooks {
            let flows = await noticeStore.messages.flows(of: names)
            guard flows.values.contains(where: \.isUntold) else { return }
            try await Task.sleep(for: NoticeLimits.titleLook)
        }
    }

    /// Messages of a catch-up wait for its end, so that the newest of it are shown and not the
    /// first.
    private func isPostponed(_ name: ChannelName, isCatchingUp: Bool) -> Bool {
        let now = clock.uptime()
        guard isCatchingUp else {
            postponed[name] = nil
            return false
        }
        let due =
            postponed[name] ?? now + .milliseconds(NoticeLimits.catchUpTimeoutMilliseconds)
        guard now < due else {
            postponed[name] = nil
            return false
        }
        postponed[name] = due
        arm(due)
        return true
    }

    private func arm(_ due: Duration) {
        alarm.set(min(alarm.due ?? due, due)) { [weak self] in await self?.timerFired() }
    }

    private func timerFired() {
        alarm.cancel()
        let names = Set(postponed.keys)
        inbox.put {
            $0.channels.formUnion(names)
            $0.isResetting = true
        }
    }

    /// Channels without a read position from the server since the start: their repeated
    /// notifications wait for it, briefly.
    private func unplaced(isUrgent: Bool) async throws -> Set<ChannelName> {
        recoversAgain = false
        guard !isUrgent, let until = placesUntil, clock.uptime() < until else { return [] }
        let names = try await journal.read { db in try NoticeRows.asked(db) }
        let flows = await noticeStore.messages.flows(of: names)
        let held = names.filter { flows[$0]?.isPlaced != true }
        guard !held.isEmpty else { return [] }
        recoversAgain = true
        arm(until)
        return Set(held)
    }

    private func recover(
        _ standing: [DeliveredNotice], _ held: Set<ChannelName>, _ moment: NoticeStore.Moment
    ) async throws -> Set<ChannelName> {
        let known = notTaken
        let plan = try await journal.write { [noticeStore] db in
            try noticeStore.recover(standing, notTaken: known, held: held, moment, db)
        }
        try await perform(plan, standing, moment)
        return try await journal.read { [noticeStore] db in
            let known = try Row.fetchAll(db, sql: "SELECT channel, mark FROM noticesChannel")
                .reduce(into: [String: String]()) { known, row in
                    guard let channel = try? row.text(0) else { return }
                    known[channel] = try? row.text(1)
                }
            return try noticeStore.messages.marks(db).reduce(into: []) { changed, item in
                guard known[item.channel] != item.mark else { return }
                if let name = try? ChannelName(item.channel) { changed.insert(name) }
            }
        }
    }

    private func leave(
        _ left: Set<ChannelName>, _ standing: [DeliveredNotice], _ moment: NoticeStore.Moment
    ) async throws {
        guard !left.isEmpty, let system else { return }
        let names = standing.filter { left.contains($0.hint.channel) }.map(\.request)
        try await journal.write { [noticeStore] db in
            for channel in left { try noticeStore.leave(channel, at: moment.wall, db) }
        }
        try await remove(names, system)
    }

    /// - Returns: channels of which the journal knows something.
    private func dismiss(
        _ dismissed: [ChannelName: Int64], _ standing: [DeliveredNotice]
    ) async throws -> Set<ChannelName> {
        guard !dismissed.isEmpty, let system else { return [] }
        let names = standing.filter { notice in
            dismissed[notice.hint.channel].map { notice.hint.seq <= $0 } ?? false
        }
        try await remove(names.map(\.request), system)
        return Set(dismissed.keys)
    }

    // MARK: Spool and mirror

    private func mergeSpool() async throws {
        let folder = journal.sharedLocation.appendingPathComponent("spool").path
        let names = try? FileManager.default.contentsOfDirectory(atPath: folder)
        guard names?.isEmpty == false else { return }
        try await journal.mergeSpool()
    }

    /// Writes the mirror after the rows it describes: at most once a second, unless an extension
    /// may need it sooner.
    private func mirror(_ settings: NotificationSettings, isUrgent: Bool) async throws {
        let now = clock.uptime()
        let soonest = (mirrored?.at).map { $0 + .milliseconds(NoticeLimits.mirrorMilliseconds) }
        if let soonest, now < soonest, !isUrgent { return arm(soonest) }
        let preferences = configuration.preferences()
        let value = try await journal.read { [noticeStore] db in
            try noticeStore.mirror(settings, preferences, db)
        }
        guard value != mirrored?.value else { return }
        try await journal.replace(sharedMirror, with: value)
        mirrored = (value, now)
        diagnostics.tally.mirrors += 1
    }

    // MARK: Leaving

    /// Takes away all that a person was shown, as when an account is left.
    func leave(_ centre: (any UserNotifications)?) async {
        let centre = centre.map { TimeoutNotifications($0, clock: clock) as any UserNotifications }
        guard let system = system ?? centre else { return }
        // Messages come until the connection is closed; the round under way may show one.
        isLeft = true
        _ = await inbox.settled(within: NoticeLimits.settledTimeout, by: clock)
        let standing = (try? await system.delivered()).map(DeliveredNotice.all(in:)) ?? []
        try? await remove(standing.map(\.request), system)
        try? await system.setBadge(0)
        try? await journal.write { db in
            try db.execute(
                sql: "UPDATE noticesMessage SET standing = 2, ended = 'left' WHERE standing < 2")
            try NoticeBadgeRow.shown(0, db)
        }
        let empty = NoticeMirror(me: nil, settings: NotificationSettings(authorization: .denied))
        try? await journal.replace(sharedMirror, with: empty)
        mirrored = nil
    }
}

/// The driver's calls of the system.
extension NoticesDriver {
    /// The messages of delivered notifications.
    ///
    /// Removes those of a former user that a kill left behind, or that came since.
    private func standing(_ system: any UserNotifications) async throws -> [DeliveredNotice] {
        let all = DeliveredNotice.all(in: try await system.delivered())
        guard all.contains(where: { $0.hint.to != nil }) else { return all }
        let foreign = try await journal.read { [messages = noticeStore.messages] db in
            try Set(all.filter { try messages.isForeign($0.hint.to, db) })
        }
        try await remove(foreign.map(\.request), system)
        return all.filter { !foreign.contains($0) }
    }

    private func perform(
        _ plan: NoticeStore.Plan, _ standing: [DeliveredNotice], _ moment: NoticeStore.Moment
    ) async throws {
        guard let system else { return }
        diagnostics.tally.secondAlerts += plan.secondAlerts
        diagnostics.tally.again += plan.again
        diagnostics.tally.bulk += plan.bulk
        diagnostics.badge = plan.badge.effective
        if badges.announce(plan.badge.effective) {
            configuration.logger.tell(
                .info, "The badge has changed.", ["count": "\(plan.badge.effective.count)"])
        }
        try await remove(plan.removes.sorted(), system)
        let (there, shows) = try await sort(plan.shows, system)
        let (added, refused, failure) = await show(shows, system)
        if let failure { note(shows, without: added + refused, after: failure) }
        let taken = added + there
        var badge: Int64?
        let count = plan.badge.effective.count
        if moment.settings.badges, isAllowed(moment.settings), !isLeft {
            if !added.isEmpty {
                badge = count
            } else if plan.setsBadge(beside: standing) {
                try await system.setBadge(Int(clamping: count))
                diagnostics.tally.badges += 1
                badge = count
            }
        }
        if !taken.isEmpty || !refused.isEmpty || badge != nil {
            let (wall, shown) = (clock.wall(), badge)
            try await journal.write { [noticeStore] db in
                try noticeStore.asked(taken, refused: refused, badge: shown, at: wall, db)
            }
        }
        if let failure { throw failure }
    }

    /// Removes what is delivered by now.
    ///
    /// The process may have been suspended for days since the system's list was read, and pushes
    /// have been shown meanwhile.
    private func sort(
        _ shows: [(id: EntryID, content: NotificationContent)], _ system: any UserNotifications
    ) async throws -> (there: [EntryID], shows: [(id: EntryID, content: NotificationContent)]) {
        let age = asked.map { $0.duration(to: clock.wall()) } ?? .zero
        let isFresh = age >= .zero && age < .milliseconds(NoticeLimits.freshMilliseconds)
        if shows.isEmpty || isFresh { return ([], shows) }
        let standing = Set(DeliveredNotice.all(in: try await system.delivered()).map(\.id))
        let there = shows.map(\.id).filter(standing.contains)
        diagnostics.tally.overtaken += there.count
        return (there, shows.filter { !standing.contains($0.id) })
    }

    private func show(
        _ shows: [(id: EntryID, content: NotificationContent)], _ system: any UserNotifications
    ) async -> (taken: [EntryID], refused: [EntryID], failure: (any Error)?) {
        var (taken, refused): ([EntryID], [EntryID]) = ([], [])
        for show in shows {
            guard !isLeft else { break }
            let name = NoticeContent.request(of: show.id)
            do {
                try await system.add(NotificationRequest(id: name, content: show.content))
                if isLeft { await takeBack(name, system) }
                taken.append(show.id)
                notTaken.remove(show.id)
                diagnostics.tally.shown += 1
                configuration.logger.tell(
                    .debug, "A notification is shown.", ["message": show.id.text])
            } catch let error as RepriseError
                where error.code == .refused || error.code == .tooLarge
            {
                refused.append(show.id)
                diagnostics.tally.refused += 1
                configuration.logger.tell(
                    .debug, "A notification is refused by the system.",
                    ["message": show.id.text, "reason": error.message])
            } catch {
                return (taken, refused, error)
            }
        }
        return (taken, refused, nil)
    }

    /// The account was left while a notification was on its way.
    private func takeBack(_ name: String, _ system: any UserNotifications) async {
        try? await remove([name], system)
        try? await system.setBadge(0)
    }

    /// Unrequested or refused ones were certainly not seen; a call that did not return is
    /// uncertain.
    private func note(
        _ shows: [(id: EntryID, content: NotificationContent)], without done: [EntryID],
        after failure: any Error
    ) {
        var rest = shows.map(\.id).filter { !done.contains($0) }
        let code = (failure as? RepriseError)?.code
        if failure is CancellationError || code == .timedOut, !rest.isEmpty { rest.removeFirst() }
        notTaken.formUnion(rest)
        // Beyond the limit they count as unconfirmed: an upper bound.
        if notTaken.count > NoticeLimits.recovered { notTaken = [] }
    }

    private func remove(_ names: [String], _ system: any UserNotifications) async throws {
        guard !names.isEmpty else { return }
        try await system.removeDelivered(names)
        diagnostics.tally.removed += names.count
    }

    private func isAllowed(_ settings: NotificationSettings) -> Bool {
        settings.authorization == .authorized || settings.authorization == .provisional
    }
}
