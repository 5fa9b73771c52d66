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
        let former = try channelRow(channel, db)
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
        let behind = log.arrival > row.cursor ? log.arrival - row.cursor : 0
        let bulk = max(0, behind - Int64(came.count))
        var unread = try unread(in: channel, log, row, came, bulk: bulk, db)
        if flow?.isRefused == true {
            unread = (0, false)
            row.voidPushes()
        }
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

    /// A row that cannot be read counts as that of a channel first heard of, with what it has in
    /// the badge; the next decision writes it anew.
    private func channelRow(_ channel: ChannelName, _ db: Database) throws -> NoticeChannelRow? {
        do {
            return try NoticeChannelRow.find(channel, db)
        } catch let error as RepriseError {
            configuration.logger.tell(
                .error, "What was shown of a channel cannot be read.",
                ["channel": channel.text, "error": "\(error)"])
            var row = NoticeChannelRow(heardOf: channel)
            row.unread = try NoticeChannelRow.unread(inUnreadable: channel, db)
            return row
        }
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
        let counted = try counted(channel, db)
        guard former != nil || counted.count > 0 else { return }
        var row = former ?? NoticeChannelRow(heardOf: channel)
        guard row.log == NoticeChannelRow.noLog else { return }
        try NoticeBadgeRow.add(counted.count - row.unread, db)
        (row.unread, row.head) = (counted.count, counted.head)
        // What a push has counted never arrives: only a later count of the server takes its place.
        if flow == nil, counted.head == 0 { row.wanted = 0 }
        if flow?.isRefused == true { row.voidPushes() }
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
        let unread = try counted(channel, db)
        return (unread.count, log.isComplete && unread.head <= log.head)
    }

    /// The unread messages; a stored count that no count can be is cut.
    private func counted(_ channel: ChannelName, _ db: Database) throws -> Unread {
        var unread = try messages.unread(in: channel, db)
        unread.count = min(max(0, unread.count), WireLimits.unreadCounted)
        return unread
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
    private func tell(
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

    /// The row of a message; also from an extension's record whose entry is not handled yet.
    private func knownRow(_ id: EntryID, at now: WallTime, _ db: Database) throws -> NoticeRow? {
        if let row = try NoticeRows.row(id, db) { return row }
        let entry = try Journal.entry(ShownRecord.entryID(of: id.text), in: db)
        guard let entry, let record = try? ShownRecord(payload: entry.payload) else { return nil }
        _ = try shown(record, at: now, db)
        return try NoticeRows.row(id, db)
    }

    /// A message has the server's date; `ahead` makes it one of this device's calendar, or a device
    /// an hour ahead would find all of it late.
    private func decide(
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

    private func state(
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

    private func finish(
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

    // MARK: Delivered notifications

    /// Compares with the system's list, which is authoritative.
    private func found(
        _ standing: [DeliveredNotice], _ moment: Moment, _ plan: inout Plan, _ db: Database
    ) throws {
        for notice in standing {
            var row =
                try knownRow(notice.id, at: moment.wall, db)
                ?? NoticeRow(notice.hint, id: notice.id, at: moment.wall)
            let before = row.machine
            let step = NoticeMachine.take(.found(isRemote: notice.isRemote), &row.machine)
            if step.removes { plan.removes.insert(notice.request) }
            guard row.machine != before else { continue }
            try finish(row, step, moment, &plan, db)
        }
    }

    /// Removes obsolete notifications.
    private func clear(
        _ row: NoticeChannelRow, _ log: NoticeStatus, _ stands: [DeliveredNotice], isLeft: Bool,
        _ moment: Moment, _ plan: inout Plan, _ db: Database
    ) throws {
        let rows = try NoticeRows.standing(in: row.channel, db)
        // Several catch-ups together stay below the same number.
        var surplus =
            rows.count { $0.machine?.way == .catchUp } - configuration.bannersPerChannel
        for var known in rows {
            var why = try reason(toEnd: known, row, log, isLeft: isLeft, moment, db)
            if why == nil, surplus > 0, known.machine?.way == .catchUp { why = "beyond" }
            guard let why else { continue }
            if known.machine?.way == .catchUp { surplus -= 1 }
            let step = NoticeMachine.take(.ended(why), &known.machine)
            plan.shows.removeAll { $0.id == known.id }
            try finish(known, step, moment, &plan, db)
            for notice in stands where notice.id == known.id {
                plan.removes.insert(notice.request)
            }
        }
    }

    private func reason(
        toEnd known: NoticeRow, _ row: NoticeChannelRow, _ log: NoticeStatus, isLeft: Bool,
        _ moment: Moment, _ db: Database
    ) throws -> String? {
        if isLeft { return "left" }
        if known.seq <= max(row.read, row.dismissed) { return NoticeDecision.Reason.read.rawValue }
        if moment.onScreen == row.channel { return NoticeDecision.Reason.onScreen.rawValue }
        return try messages.find(known.seq, in: log.log, db).isDeleted
            ? NoticeDecision.Reason.deleted.rawValue : nil
    }

    // MARK: After a start

    /// Resolves requests of a dead process, whose outcome is uncertain; those in `notTaken` were
    /// refused in this one.
    func recover(
        _ standing: [DeliveredNotice], notTaken: Set<EntryID> = [], held: Set<ChannelName> = [],
        _ moment: Moment, _ db: Database
    ) throws -> Plan {
        var plan = Plan()
        let stored = try NoticeRows.standing(limit: NoticeLimits.recovered, db)
        try NoticeBadgeRow.forgetShown(db)
        try found(standing, moment, &plan, db)
        let me = try messages.user(db)
        let there = Set(standing.map(\.id))
        if stored.unreadable > 0 {
            configuration.logger.tell(
                .error, "What is stored of notifications cannot be read, and is left out.",
                ["count": "\(stored.unreadable)"])
        }
        for var row in stored.rows where !there.contains(row.id) {
            let before = row.machine
            var step = NoticeMachine.Step()
            if row.machine?.standing == .asked, let content = row.content {
                if held.contains(row.channel), !notTaken.contains(row.id) { continue }
                let decision = try decideAgain(row, me, moment, db)
                step = NoticeMachine.take(
                    notTaken.contains(row.id) ? .failed(decision) : .lost(decision), &row.machine)
                if step.shows {
                    let shown = content.presented(as: decision.presentation)
                    row.content = shown
                    plan.shows.append((row.id, shown))
                }
            } else {
                step = NoticeMachine.take(.missing, &row.machine)
            }
            if row.machine != before { try finish(row, step, moment, &plan, db) }
        }
        plan.badge = try NoticeBadgeRow.read(db)
        for index in plan.shows.indices where moment.settings.badges {
            plan.shows[index].content.badge = Int(clamping: plan.badge.effective.count)
        }
        return plan
    }

    /// Decides as if nothing had been shown: the message may be read or muted since, or quiet hours
    /// may have begun.
    private func decideAgain(
        _ row: NoticeRow, _ me: UserID?, _ moment: Moment, _ db: Database
    ) throws -> NoticeDecision {
        let hint = row.content.flatMap { NoticeContent.hint($0.info) }
        var (isDeleted, body): (Bool, [UInt8]) = (false, [])
        var channel = try channelRow(row.channel, db)
        if let log = try messages.standing(of: row.channel, db) {
            isDeleted = try messages.find(row.seq, in: log.log, db).isDeleted
            body = try messages.body(of: row.seq, in: log.log, db) ?? []
            channel?.read = log.read
        }
        let message = NoticeMessage(
            id: row.id, channel: row.channel, seq: row.seq, from: hint?.from, time: row.time,
            isDeleted: isDeleted, body: body)
        return decide(message, .catchUp, channel, .never, me, moment)
    }

    /// The system has taken requests, or would not.
    func asked(
        _ taken: [EntryID], refused: [EntryID], badge: Int64?, at now: WallTime, _ db: Database
    ) throws {
        for (ids, event) in [(taken, NoticeMachine.Event.taken), (refused, .refused)] {
            for id in ids {
                guard var row = try NoticeRows.row(id, db) else { continue }
                let before = row.machine
                _ = NoticeMachine.take(event, &row.machine)
                if row.machine != before { try NoticeRows.write(row, at: now, db) }
            }
        }
        if let badge { try NoticeBadgeRow.shown(badge, db) }
    }

    // MARK: Pushes

    /// Handles a push without an alert, or the other content of one with an alert.
    func heard(_ hint: PushHint, at now: WallTime, _ db: Database) throws {
        // For the former user: its badge is not this user's.
        if try messages.isForeign(hint.to, db) { return }
        if let badge = hint.badge { _ = try NoticeBadgeRow.counted(badge, db) }
        // Without a row the badge would be 0 until the log has come, and 0 removes delivered
        // notifications.
        var row =
            try channelRow(hint.channel, db) ?? NoticeChannelRow(heardOf: hint.channel)
        if hint.badge != nil, hint.head > Int64(clamping: row.wanted.magnitude) {
            row.wanted = hint.head
        }
        if hint.kind == .dismiss { row.dismissed = max(row.dismissed, hint.seq) }
        try row.write(at: now, db)
    }

    /// The person has tapped a notification or put it away, and the system has taken it from the
    /// notification centre.
    ///
    /// If nothing here has heard of the message, the system has shown a push of it.
    func touched(_ hint: PushHint, by action: String, at now: WallTime, _ db: Database) throws {
        guard let id = hint.id else { return }
        if try messages.isForeign(hint.to, db) { return }
        var row = try knownRow(id, at: now, db) ?? NoticeRow(hint, id: id, at: now)
        _ = NoticeMachine.take(.touched(action), &row.machine)
        try NoticeRows.write(row, at: now, db)
    }

    /// An extension has shown a message.
    func shown(_ record: ShownRecord, at now: WallTime, _ db: Database) throws -> ChannelName {
        let (id, channel) = (try EntryID(record.id), try ChannelName(record.channel))
        var row =
            try NoticeRows.row(id, db)
            ?? NoticeRow(
                id: id, channel: channel, seq: record.seq,
                time: WallTime(milliseconds: record.at))
        let isNew = row.machine == nil
        // One record a message: it may have been looked at before its entry was handled.
        if row.machine?.way == .extension { return channel }
        configuration.logger.tell(
            .debug, "The extension has shown a message.",
            [
                "message": id.text, "channel": channel.text, "seq": "\(record.seq)",
                "reason": record.reason, "presentation": "\(record.presentation)",
            ])
        let step = NoticeMachine.take(
            .extensionShowed(
                PresentationOptions(rawValue: record.presentation), reason: record.reason),
            &row.machine)
        if isNew { try NoticeRows.count(record.reason, db) }
        if step.isSecondAlert { try NoticeRows.count("secondAlert", db) }
        try NoticeRows.write(row, at: now, db)
        if let count = record.counted, let asOf = record.countedAsOf {
            var hint = PushHint(
                kind: .badge, channel: channel, seq: record.seq, head: record.head)
            hint.badge = PushHint.Badge(count: count, asOf: WallTime(milliseconds: asOf))
            try heard(hint, at: now, db)
        }
        try NoticeBadgeRow.forgetShown(db)
        return channel
    }

    // MARK: In the foreground

    /// Decides the presentation of an arrival.
    func arrived(
        _ hint: PushHint, _ id: EntryID, isRemote: Bool, _ moment: Moment, _ db: Database
    ) throws -> NoticeMachine.Step {
        if try messages.isForeign(hint.to, db) { return NoticeMachine.Step() }
        if isRemote { try heard(hint, at: moment.wall, db) }
        var row = try NoticeRows.row(id, db) ?? NoticeRow(hint, id: id, at: moment.wall)
        let known = row.machine
        let log = try messages.standing(of: hint.channel, db)
        var channel = try channelRow(hint.channel, db)
        if let log { channel?.read = log.read }
        let isDeleted = try log.map { try messages.find(hint.seq, in: $0.log, db).isDeleted }
        let message = NoticeMessage(
            id: id, channel: hint.channel, seq: hint.seq, from: hint.from,
            time: hint.time ?? moment.wall, isDeleted: isDeleted ?? false, body: [])
        let decision = decide(
            message, .push, channel, NoticeMachine.shown(known), try messages.user(db), moment)
        tell(message, .push, decision.reason.rawValue, decision.presentation)
        let event: NoticeMachine.Event =
            isRemote ? .pushArrived(decision) : .localArrived(decision)
        var step = NoticeMachine.take(event, &row.machine)
        if known == nil { try NoticeRows.count(decision.reason.rawValue, db) }
        if row.machine != known { try NoticeRows.write(row, at: moment.wall, db) }
        // A push brings the server's figure. Ours is newer if our log has all that it counted.
        if isRemote, try NoticeBadgeRow.read(db).effective.count != hint.badge?.count {
            step.options.remove(.badge)
        }
        return step
    }

    // MARK: The mirror, leaving

    /// The mirror's current content.
    func mirror(
        _ settings: NotificationSettings, _ preferences: NoticePreferences, _ db: Database
    ) throws -> NoticeMirror {
        var mirror = NoticeMirror(me: try messages.user(db)?.text, settings: settings)
        let rows = try Row.fetchCursor(
            db.cachedStatement(
                sql: """
                    SELECT channel, MAX(read, dismissed), before, head FROM noticesChannel
                    ORDER BY changed DESC LIMIT ?
                    """), arguments: [NoticeLimits.mirrored])
        var order: [String] = []
        while let row = try rows.next() {
            // A look at its channel tells of one that cannot be read, and writes it anew.
            guard let channel = try? row.text(0), let read = try? row.integer(1),
                let before = try? row.integer(2), let head = try? row.integer(3)
            else { continue }
            order.append(channel)
            mirror.standings[channel] = NoticeMirror.Status(read: read, before: before, head: head)
        }
        let badge = try NoticeBadgeRow.read(db)
        mirror.badge = badge.effective.count
        mirror.badgeAsOf = badge.asOf
        mirror.shown = try String.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT id FROM noticesMessage INDEXED BY noticesMessageStanding
                    WHERE standing < 2 AND standing = 1 ORDER BY decided DESC LIMIT ?
                    """), arguments: [NoticeLimits.mirroredShown])
        preferences.mirror(&mirror)
        return mirror.fitted(order: order)
    }

    /// The app has left a channel: its notifications are removed, and nothing of it is waited for.
    func leave(_ channel: ChannelName, at now: WallTime, _ db: Database) throws {
        for var row in try NoticeRows.standing(in: channel, db) {
            _ = NoticeMachine.take(.ended("left"), &row.machine)
            try NoticeRows.write(row, at: now, db)
        }
        guard var row = try channelRow(channel, db), row.wanted > 0 else { return }
        row.voidPushes()
        try row.write(at: now, db)
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
    fileprivate init(heardOf channel: ChannelName) {
        self.init(
            channel: channel, log: Self.noLog, mark: "", cursor: 0, before: 0, read: 0, start: 0,
            dismissed: 0, head: 0, unread: 0, isExact: false, wanted: 0)
    }

    /// What pushes have counted never arrives: also a late one counts only if it is newer.
    fileprivate mutating func voidPushes() {
        if wanted > 0 { wanted = -wanted }
    }

    /// The log was restarted: nothing up to its head is new, and pushes of the former one are void.
    fileprivate mutating func restart(_ log: NoticeStatus) {
        self.log = log.log
        cursor = log.base
        before = log.head
        (dismissed, wanted, isExact) = (0, 0, false)
    }
}
