import Foundation
import GRDB
import RepriseCore
import RepriseJournal
import RepriseWire

/// Handles changes: reads, decides in a transaction, calls the system, and records the result, one
/// round after the other.
actor NoticesDriver {
    nonisolated let noticeStore: NoticeStore
    nonisolated let journal: Journal
    nonisolated let loop: FeatureLoop<NoticeWork>
    nonisolated var inbox: Mailbox<NoticeWork> { loop.mailbox }
    nonisolated let scene = NoticeScene()
    nonisolated let badges = StateBroadcaster(IconBadge())

    var diagnostics = NoticeDiagnostics()
    /// The system's last reported permission.
    private(set) var permission: NotificationSettings?
    var system: (any UserNotifications)?
    /// The time of the last read of the system's list.
    var asked: WallTime?
    /// Requests that the system refused, so that they were certainly not seen.
    var notTaken: Set<EntryID> = []
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

    var configuration: Notices.Configuration { noticeStore.configuration }
    var clock: any Timekeeper { noticeStore.configuration.timekeeper }

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
        guard let system else { return }
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
        var channels = work.channels
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
            isUrgent || !isPostponed(name, isCatchingUp: flows[name]?.isCatchingUp == true)
        }
        let plan = try await journal.write { [noticeStore] db in
            try noticeStore.look(at: ready, flows: flows, standing: standing, moment, db)
        }
        if plan.isReadElsewhere { readElsewhere = moment.wall }
        try await perform(plan, standing, moment)
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
                .reduce(into: [String: String]()) { $0[$1[0]] = $1[1] }
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
        guard !configuration.isSpoolEmpty(journal) else { return }
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
        try await journal.replace(journal.noticeMirror, with: value)
        mirrored = (value, now)
        diagnostics.tally.mirrors += 1
    }

    // MARK: Leaving

    /// Takes away all that a person was shown, as when an account is left.
    func leave() async {
        guard let system else { return }
        let standing = (try? await system.delivered()).map(DeliveredNotice.all(in:)) ?? []
        try? await remove(standing.map(\.request), system)
        try? await system.setBadge(0)
        try? await journal.write { db in
            try db.execute(
                sql: "UPDATE noticesMessage SET standing = 2, ended = 'left' WHERE standing < 2")
            try NoticeBadgeRow.shown(0, db)
        }
        let empty = NoticeMirror(me: nil, settings: NotificationSettings(authorization: .denied))
        try? await journal.replace(journal.noticeMirror, with: empty)
        mirrored = nil
    }
}
