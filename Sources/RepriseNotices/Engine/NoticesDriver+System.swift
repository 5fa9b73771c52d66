import Logging
import RepriseCore
import RepriseJournal
import RepriseWire

/// The driver's calls of the system.
extension NoticesDriver {
    /// The messages of delivered notifications.
    ///
    /// Removes those of a former user that a kill left behind.
    func standing(_ system: any UserNotifications) async throws -> [DeliveredNotice] {
        let all = DeliveredNotice.all(in: try await system.delivered())
        guard all.contains(where: { $0.hint.to != nil }) else { return all }
        let me = try await journal.read { [noticeStore] db in try noticeStore.messages.user(db) }
        let foreign = all.filter { $0.hint.isForeign(to: me) }
        try await remove(foreign.map(\.request), system)
        return foreign.isEmpty ? all : all.filter { !$0.hint.isForeign(to: me) }
    }

    func perform(
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
        if moment.settings.badges, isAllowed(moment.settings) {
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
            do {
                try await system.add(
                    NotificationRequest(
                        id: NoticeContent.request(of: show.id), content: show.content))
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

    func remove(_ names: [String], _ system: any UserNotifications) async throws {
        guard !names.isEmpty else { return }
        try await system.removeDelivered(names)
        diagnostics.tally.removed += names.count
    }

    private func isAllowed(_ settings: NotificationSettings) -> Bool {
        settings.authorization == .authorized || settings.authorization == .provisional
    }
}
