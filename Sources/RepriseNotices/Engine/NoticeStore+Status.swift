import GRDB
import RepriseCore
import RepriseJournal
import RepriseWire

/// Delivered, obsolete and uncertain notifications.
extension NoticeStore {
    /// Compares with the system's list, which is authoritative.
    func found(
        _ standing: [DeliveredNotice], _ moment: Moment, _ plan: inout Plan, _ db: Database
    ) throws {
        for notice in standing {
            var row =
                try NoticeRows.row(notice.id, db)
                ?? NoticeRow(notice.hint, id: notice.id, at: moment.wall)
            let before = row.machine
            let step = NoticeMachine.take(.found(isRemote: notice.isRemote), &row.machine)
            if step.removes { plan.removes.insert(notice.request) }
            guard row.machine != before else { continue }
            try finish(row, step, moment, &plan, db)
        }
    }

    /// Removes obsolete notifications.
    func clear(
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
        try found(standing, moment, &plan, db)
        let me = try messages.user(db)
        let there = Set(standing.map(\.id))
        for var row in try NoticeRows.standing(limit: NoticeLimits.recovered, db)
        where !there.contains(row.id) {
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
        try NoticeBadgeRow.forgetShown(db)
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
        var channel = try NoticeChannelRow.find(row.channel, db)
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
}
