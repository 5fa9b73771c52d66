package import RepriseCore
package import RepriseReminders

/// Marks and routes of a device as values: what the tables of the feature hold, without a database.
package struct RemindersModel {
    struct Row: Hashable {
        var resolution: String?
        var dispatched = 0
        var isPresented = false
    }

    private var kept: [ReminderOverride.Key: ReminderOverride] = [:]
    private var routes: [EntryID: Row] = [:]

    package init() {}

    var marks: [ReminderOverride] {
        kept.values.sorted {
            ($0.entity, $0.reminder, $0.occurrence) < ($1.entity, $1.reminder, $1.occurrence)
        }
    }

    mutating func mark(_ mark: ReminderOverride, at now: WallTime) throws {
        if kept.count >= ReminderEngineLimits.marks {
            kept = kept.filter { $0.value.what.isTest || $0.value.until > now }
        }
        guard kept.count < ReminderEngineLimits.marks else {
            throw RepriseError(.full, "So many marks are kept already.")
        }
        let isContradicted = kept.values.contains {
            $0.ends(mark) || ($0.key == mark.key && mark.isSaid(before: $0))
        }
        guard !isContradicted else { return }
        guard mark.what != .snooze || mark.rings > now else {
            kept[mark.key] = nil
            return
        }
        kept = kept.filter {
            !mark.isOfDay || mark.isSaid(before: $0.value) || !isDue($0.value, on: mark)
        }
        kept[mark.key] = mark
    }

    private func isDue(_ mark: ReminderOverride, on day: ReminderOverride) -> Bool {
        mark.what == .snooze && mark.entity == day.entity && mark.until < day.until
            && (day.reminder.isEmpty || day.reminder == mark.reminder)
    }

    mutating func write(_ record: ReconciliationRecord) {
        for mark in record.over where kept[mark.key]?.until == mark.until {
            kept[mark.key] = nil
        }
    }

    mutating func recorded(_ id: EntryID) { if routes[id] == nil { routes[id] = Row() } }

    mutating func resolved(_ id: EntryID, _ resolved: ResolvedRoute, isDispatched: Bool) {
        routes[id]?.resolution = resolved.resolution.name
        if isDispatched { routes[id]?.dispatched += 1 }
    }

    mutating func presented(_ id: EntryID) { routes[id]?.isPresented = true }

    func isPresented(_ id: EntryID) -> Bool { routes[id]?.isPresented ?? false }

    mutating func calendarMoved(by milliseconds: Int64) {
        for (key, mark) in kept {
            if let said = mark.said {
                kept[key]?.said = WallTime(milliseconds: said.milliseconds + milliseconds)
            }
            guard mark.what != .skip else { continue }
            kept[key]?.until = WallTime(milliseconds: mark.until.milliseconds + milliseconds)
        }
    }

    mutating func prune(at now: WallTime, isKept: (EntryID) -> Bool) {
        let since = now.advanced(by: .seconds(-86_400))
        let week = now.advanced(by: .seconds(-ReminderEngineLimits.skipSeconds))
        kept = kept.filter { $0.value.until > ($0.value.what.isTest ? since : week) }
        routes = routes.filter { isKept($0.key) }
    }

    /// Every row as `GRDBStore` writes it.
    var dump: [String] {
        marks.map(Self.line)
            + routes.map {
                Self.line(
                    $0.key.text, $0.value.resolution, $0.value.dispatched, $0.value.isPresented)
            }
            .sorted()
    }

    static func line(_ mark: ReminderOverride) -> String {
        "mark|\(mark.entity)|\(mark.reminder)|\(mark.occurrence)|\(mark.what.name)|\(mark.until.milliseconds)"
            + "|\(mark.said?.milliseconds ?? 0)"
    }

    static func line(
        _ entry: String, _ resolution: String?, _ dispatched: Int, _ isPresented: Bool
    ) -> String {
        "route|\(entry)|\(resolution ?? "-")|\(dispatched)|\(isPresented)"
    }
}

extension ReminderOverride.What {
    fileprivate var isTest: Bool {
        switch self {
        case .test: true
        case .snooze, .skip: false
        }
    }
}

extension ModelTransaction: RemindersTransaction {
    package func reminderMarks() -> [ReminderOverride] { state.reminders.marks }

    package func mark(_ mark: ReminderOverride) throws { try state.reminders.mark(mark, at: now) }

    package func write(_ record: ReconciliationRecord) { state.reminders.write(record) }

    package func routeRecorded(_ id: EntryID, _ arrival: RouteArrival, _ info: ReminderInfo?) {
        state.reminders.recorded(id)
    }

    package func routeResolved(_ id: EntryID, _ resolved: ResolvedRoute, isDispatched: Bool) {
        state.reminders.resolved(id, resolved, isDispatched: isDispatched)
    }

    package func routePresented(_ id: EntryID) { state.reminders.presented(id) }

    package func isPresented(_ id: EntryID) -> Bool { state.reminders.isPresented(id) }

    func pruneReminders() {
        state.reminders.prune(at: now) { [state] id in state.entries.index(of: id) != nil }
    }
}
