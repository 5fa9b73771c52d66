import GRDB
import Logging
import RepriseCore
import RepriseJournal
import RepriseWire

/// Decides within the journal's transactions: actions follow the durable decision, never precede
/// it.
struct NoticeStore: Sendable {
    /// The facts outside of the journal while a decision is made.
    struct Moment: Sendable {
        var settings: NotificationSettings
        var onScreen: ChannelName?
        var wall: WallTime
        var preferences = NoticePreferences()
        /// Whether the person may be using this device.
        var isForeground = false
        /// When the person was last seen to read on another device.
        var readElsewhere: WallTime?
    }

    /// The actions that follow a durable decision.
    struct Plan: Sendable {
        /// Requests for the system, oldest message first.
        var shows: [(id: EntryID, content: NotificationContent)] = []
        /// Names in the notification centre.
        var removes: Set<String> = []
        var badge = NoticeBadgeRow(
            total: 0, counted: nil, asOf: 0, shown: nil, isBehind: false)
        var secondAlerts = 0
        var again = 0
        var bulk: Int64 = 0
        /// Whether the person has just read on another device.
        var isReadElsewhere = false

        /// Whether the system's badge is to be set by itself.
        ///
        /// Where it is not known which one the icon has, 0 waits until nothing stands: it would
        /// remove notifications whose messages are not in the log yet.
        func setsBadge(beside standing: [DeliveredNotice]) -> Bool {
            let count = badge.effective.count
            guard badge.shown == nil else { return badge.shown != count }
            return count > 0 || standing.allSatisfy { removes.contains($0.request) }
        }
    }

    let messages: any NoticeMessages
    let configuration: Notices.Configuration

    // MARK: Looking at channels

    /// Decides about changed channels, from their flow and the delivered notifications.
    func look(
        at channels: [ChannelName], flows: [ChannelName: NoticeFlow],
        standing: [DeliveredNotice], _ moment: Moment, _ db: Database
    ) throws -> Plan {
        var plan = Plan()
        try found(standing, moment, &plan, db)
        for channel in channels {
            try look(
                at: channel, flows[channel], standing.filter { $0.hint.channel == channel },
                moment, &plan, db)
        }
        plan.badge = try NoticeBadgeRow.read(db)
        let count = plan.badge.effective.count
        for index in plan.shows.indices where moment.settings.badges {
            plan.shows[index].content.badge = Int(clamping: count)
        }
        return plan
    }

    private func look(
        at channel: ChannelName, _ flow: NoticeFlow?, _ stands: [DeliveredNotice],
        _ moment: Moment, _ plan: inout Plan, _ db: Database
    ) throws {
        let former = try NoticeChannelRow.find(channel, db)
        guard let log = try messages.standing(of: channel, db),
            let mark = try messages.mark(of: channel, db)
        else { return try lookFromAfar(at: channel, former, flow, moment, db) }
        var row = former ?? Self.begin(channel, log)
        if row.log == NoticeChannelRow.noLog {
            row = Self.begin(channel, log)
            (row.wanted, row.dismissed) = (former?.wanted ?? 0, former?.dismissed ?? 0)
        } else if row.log != log.log {
            row.restart(log)
        }
        let came = try messages.newest(
            of: channel, in: log, after: row.cursor, limit: NoticeLimits.looked, db)
        let bulk = max(0, log.arrival - row.cursor - Int64(came.count))
        var unread = try unread(in: channel, log, row, came, bulk: bulk, db)
        if flow?.isRefused == true { unread = (0, false) }
        try NoticeBadgeRow.add(unread.count - (former?.unread ?? 0), db)
        row.unread = unread.count
        row.isExact = unread.isExact
        var moment = moment
        if let former, log.read > former.read, flow?.liveAfter != nil, !moment.isForeground,
            try messages.isReadKnown(channel, through: log.read, db)
        {
            moment.readElsewhere = moment.wall
            plan.isReadElsewhere = true
        }
        (row.cursor, row.head, row.mark) = (log.arrival, log.head, mark)
        (row.read, row.start) = (log.read, log.start)
        try row.write(at: moment.wall, db)
        try NoticeRows.count("bulk", by: bulk, db)
        plan.bulk += bulk
        try take(came, row, flow, moment, &plan, db)
        try clear(row, log, stands, isLeft: flow?.isRefused == true, moment, &plan, db)
    }

    private static func begin(_ channel: ChannelName, _ log: NoticeStatus) -> NoticeChannelRow {
        NoticeChannelRow(
            channel: channel, log: log.log, mark: "", cursor: log.base,
            before: log.hasFormer ? log.head : 0, read: 0, start: 0, dismissed: 0, head: 0,
            unread: 0, isExact: false, wanted: 0)
    }

    /// A channel of which this device has nothing: the server may have counted it, or a push.
    private func lookFromAfar(
        at channel: ChannelName, _ former: NoticeChannelRow?, _ flow: NoticeFlow?,
        _ moment: Moment, _ db: Database
    ) throws {
        let counted = try messages.unread(in: channel, db)
        guard former != nil || counted.count > 0 else { return }
        var row = former ?? NoticeChannelRow(heardOf: channel)
        guard row.log == NoticeChannelRow.noLog else { return }
        try NoticeBadgeRow.add(counted.count - row.unread, db)
        (row.unread, row.head) = (counted.count, counted.head)
        // What a push has counted never arrives: only a later count of the server takes its place.
        if flow == nil, counted.head == 0 { row.wanted = 0 }
        if row != former { try row.write(at: moment.wall, db) }
    }

    /// The current unread count, updated incrementally where that is exact.
    private func unread(
        in channel: ChannelName, _ log: NoticeStatus, _ row: NoticeChannelRow,
        _ came: [NoticeMessage], bulk: Int64, _ db: Database
    ) throws -> (count: Int64, isExact: Bool) {
        if row.isExact, log.isComplete, bulk == 0, row.start == log.start, !log.hasFormer,
            row.unread < WireLimits.unreadCounted,
            !came.contains(where: { if case .deletes = $0.change { true } else { false } })
        {
            let me = try messages.user(db)
            let more = came.count { message in
                message.change == nil && !message.isDeleted && message.seq > log.start
                    && (message.from == nil || message.from != me)
            }
            return (min(row.unread + Int64(more), WireLimits.unreadCounted), true)
        }
        // The server may have counted messages that are still on their way here.
        let unread = try messages.unread(in: channel, db)
        return (unread.count, log.isComplete && unread.head <= log.head)
    }

    /// Decides about new messages.
    private func take(
        _ came: [NoticeMessage], _ row: NoticeChannelRow, _ flow: NoticeFlow?, _ moment: Moment,
        _ plan: inout Plan, _ db: Database
    ) throws {
        var left = configuration.bannersPerChannel
        let me = try messages.user(db)
        var shows: [(id: EntryID, content: NotificationContent)] = []
        for message in came.sorted(by: { $0.seq > $1.seq }) where message.change == nil {
            let isLive = (flow?.liveAfter).map { message.seq > $0 } ?? false
            let source: Notice.Source = isLive ? .live : .catchUp
            let known = try knownRow(message.id, at: moment.wall, db)
            let ahead = flow?.calendarAhead ?? .zero
            var notice =
                known
                ?? NoticeRow(
                    id: message.id, channel: message.channel, seq: message.seq,
                    time: message.time.advanced(by: ahead))
            notice.seq = message.seq
            let decision = decide(
                message, source, row, NoticeMachine.shown(known?.machine), me, moment,
                ahead: ahead)
            if known == nil, left <= 0, !decision.presentation.isDisjoint(with: [.banner, .list]) {
                try NoticeRows.count("beyond", db)
                tell(message, source, "beyond")
                continue
            }
            guard
                let content = NoticeContent.make(
                    message, head: row.head, to: me, decision.presentation, configuration)
            else {
                tell(message, source, "withoutNotice")
                continue
            }
            tell(message, source, decision.reason.rawValue, decision.presentation)
            let step = NoticeMachine.take(
                .stored(decision, isLive ? .live : .catchUp), &notice.machine)
            notice.content = step.shows ? content : nil
            try finish(notice, step, moment, &plan, db)
            if known == nil { try NoticeRows.count(decision.reason.rawValue, db) }
            if step.shows {
                left -= 1
                shows.append((message.id, content))
            }
        }
        plan.shows += shows.reversed()
    }

    /// Logs how a message is shown, or why not.
    func tell(
        _ message: NoticeMessage, _ source: Notice.Source, _ reason: @autoclosure () -> String,
        _ presentation: PresentationOptions = []
    ) {
        configuration.logger.tell(
            .debug, "A message is decided.",
            [
                "message": message.id.text, "channel": message.channel.text,
                "seq": "\(message.seq)", "by": "\(source)", "reason": reason(),
                "presentation": "\(presentation.rawValue)",
            ])
    }

    /// The row of a message; also from an unmerged record of an extension.
    func knownRow(_ id: EntryID, at now: WallTime, _ db: Database) throws -> NoticeRow? {
        if let row = try NoticeRows.row(id, db) { return row }
        let entry = try Journal.entry(ShownRecord.entryID(of: id.text), in: db)
        guard let entry, let record = try? ShownRecord(payload: entry.payload) else { return nil }
        _ = try shown(record, at: now, db)
        return try NoticeRows.row(id, db)
    }

    /// A message has the server's date; `ahead` makes it one of this device's calendar, or a device
    /// an hour ahead would find all of it late.
    func decide(
        _ message: NoticeMessage, _ source: Notice.Source, _ row: NoticeChannelRow?,
        _ shown: NoticeState.Shown, _ me: UserID?, _ moment: Moment, ahead: Duration = .zero
    ) -> NoticeDecision {
        var notice = Notice(
            id: message.id, channel: message.channel, seq: message.seq, sender: message.from,
            isMention: Mentions(in: message.body).contains(me)
                || configuration.isRawJSONMention(message.body),
            isDeleted: message.isDeleted,
            published: message.time.advanced(by: ahead), source: source)
        notice.isDeleted = message.isDeleted
        return .decide(notice, in: state(notice, row, shown, me, moment))
    }

    func state(
        _ notice: Notice, _ row: NoticeChannelRow?, _ shown: NoticeState.Shown, _ me: UserID?,
        _ moment: Moment
    ) -> NoticeState {
        var state = NoticeState(me: me, settings: moment.settings, now: moment.wall)
        state.read = max(row?.read ?? 0, row?.dismissed ?? 0)
        state.before = row?.before ?? 0
        state.shown = shown
        state.onScreen = moment.onScreen
        state.channelMute = moment.preferences.channelMute(notice.channel)
        state.senderMute = notice.sender.map { moment.preferences.senderMute($0) } ?? .none
        state.isQuiet =
            moment.preferences.isQuiet(moment.wall) || configuration.isFocused()
            || moment.isActiveElsewhere
        state.lateAfter = configuration.lateAfter
        return state
    }

    func finish(
        _ row: NoticeRow, _ step: NoticeMachine.Step, _ moment: Moment, _ plan: inout Plan,
        _ db: Database
    ) throws {
        try NoticeRows.write(row, at: moment.wall, db)
        if step.removes { plan.removes.insert(NoticeContent.request(of: row.id)) }
        if step.isSecondAlert {
            plan.secondAlerts += 1
            try NoticeRows.count("secondAlert", db)
        }
        if step.isAgain {
            plan.again += 1
            try NoticeRows.count("unconfirmed", db)
        }
    }
}

extension NoticeStore.Moment {
    /// Whether the person is active on another device, and wants no sound then.
    fileprivate var isActiveElsewhere: Bool {
        guard preferences.isSilentElsewhere, !isForeground, let readElsewhere else { return false }
        return PushSilence.isActive(since: readElsewhere, at: wall)
    }
}

extension NoticeChannelRow {
    /// A channel known from a push alone, without anything in the journal.
    static let noLog: Int64 = -1

    /// A channel first known from a push.
    init(heardOf channel: ChannelName) {
        self.init(
            channel: channel, log: Self.noLog, mark: "", cursor: 0, before: 0, read: 0, start: 0,
            dismissed: 0, head: 0, unread: 0, isExact: false, wanted: 0)
    }

    /// The log was restarted: nothing up to its head is new, and pushes of the former one are void.
    fileprivate mutating func restart(_ log: NoticeStatus) {
        self.log = log.log
        cursor = log.base
        before = log.head
        (dismissed, wanted, isExact) = (0, 0, false)
    }
}
