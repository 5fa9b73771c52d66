package import RepriseCore
package import RepriseForms
package import RepriseWire

/// The showings of a device as values: what the tables of the feature hold, without a database.
package struct FormsModel {
    package struct Showing: Hashable, Sendable {
        package var id: String
        package var event: EntryID
        package var form: String
        /// Milliseconds of the calendar, as the others.
        package var granted: Int64
        package var appeared: Int64?
        package var dismissed: Int64?
        package var how: String?

        var dump: String {
            let moments = [granted, appeared, dismissed].map { $0.map { "\($0)" } ?? "-" }
            return "showing|\(id)|\(event)|\(form)|\(moments.joined(separator: "|"))|\(how ?? "-")"
        }
    }

    private(set) var showings: [Showing] = []
    private var identity = FormsStore.Identity()
    /// The attribute that audiences depend on.
    var plan: String?
    /// How often each event was recorded.
    private var events: [String: Int64] = [:]

    package init() {}

    mutating func leave(
        for event: EntryID, isOver: Bool, form: String, in catalogue: FormsCatalogue,
        as id: String, at now: WallTime, asksApp: Bool, mutation: Mutation?
    ) -> FormsStore.Permission {
        guard let shown = catalogue.form(form) else { return .denied(reason: "unknownForm") }
        guard !isOver else { return .denied(reason: "settled") }
        let former = showings.firstIndex {
            $0.event == event && $0.form == form && $0.appeared == nil
        }
        let others = showings.filter { $0.id != former.map { showings[$0].id } }
        let conditions =
            SimulatedCatalogue.all[catalogue.version]?.form(form)?.conditions
            ?? SimulatedConditions()
        if let wanted = conditions.plan, plan != wanted, mutation != .audienceForgotten {
            return .denied(reason: "audience")
        }
        if let past = conditions.past, mutation != .pastEventsNotCounted {
            let count = events[past.event] ?? 0
            guard count >= past.atLeast, count <= past.atMost else {
                return .denied(reason: "past")
            }
        }
        if mutation != .capsForgotten {
            if let cap = shown.frequency,
                Self.isReached(cap, at: now, by: others.filter { $0.form == form })
            {
                return .denied(reason: "formFrequency")
            }
            if let overall = catalogue.frequency, Self.isReached(overall, at: now, by: others) {
                return .denied(reason: "overallFrequency")
            }
        }
        if let until = conditions.quietEnd(at: now), mutation != .quietTimesForgotten {
            return .postponed(until: until, by: now.duration(to: until))
        }
        if let former {
            showings[former].granted = now.milliseconds
            return .granted(showing: showings[former].id)
        }
        if asksApp { return .undecided }
        showings.append(
            Showing(id: id, event: event, form: form, granted: now.milliseconds))
        return .granted(showing: id)
    }

    private static func isReached(
        _ cap: FormsCatalogue.Frequency, at now: WallTime, by showings: [Showing]
    ) -> Bool {
        let since = now.advanced(by: .seconds(-cap.seconds)).milliseconds
        return showings.count { $0.granted > since } >= cap.most
    }

    func isDoubtful(_ event: EntryID) -> Bool {
        showings.contains { $0.event == event && $0.appeared == nil }
    }

    mutating func appeared(_ id: String, at now: WallTime) {
        for index in showings.indices
        where showings[index].id == id && showings[index].appeared == nil {
            showings[index].appeared = now.milliseconds
        }
    }

    mutating func dismissed(_ id: String, how: String, at now: WallTime) {
        for index in showings.indices
        where showings[index].id == id && showings[index].dismissed == nil {
            showings[index].dismissed = now.milliseconds
            showings[index].how = how
        }
    }

    mutating func change(_ change: FormsChange) -> (outcome: Outcome, reason: String)? {
        let clearing = change.apply(&identity)
        guard let clearing else { return nil }
        showings = []
        // Attributes and events are the person's.
        if clearing.outcome != .superseded { (plan, events) = (nil, [:]) }
        return clearing
    }

    mutating func recorded(_ event: String) { events[event, default: 0] += 1 }

    mutating func calendarMoved(by milliseconds: Int64) {
        for index in showings.indices { showings[index].granted += milliseconds }
    }

    /// No catalogue is kept in the simulation's journals, so that a day is the longest that
    /// anything counts.
    mutating func prune(at now: WallTime, isPending: (EntryID) -> Bool) {
        let since = now.advanced(by: .seconds(-86_400)).milliseconds
        showings.removeAll { $0.granted <= since && !isPending($0.event) }
    }

    static func line(_ user: String?, _ company: String?) -> String {
        "identity|\(user ?? "-")|\(company ?? "-")"
    }

    /// Every row as `GRDBStore` writes it.
    var dump: [String] {
        let isKnown = identity.user != nil || identity.company != nil
        return showings.sorted { $0.id < $1.id }.map(\.dump)
            + (isKnown ? [Self.line(identity.user, identity.company)] : [])
    }
}

extension ModelTransaction: FormsTransaction {
    package func leave(
        for event: EntryID, form: String, in catalogue: FormsCatalogue, as showing: String,
        asksApp: Bool
    ) -> FormsStore.Permission {
        let index = state.entries.index(of: event)
        return state.forms.leave(
            for: event, isOver: index.map { state.entries.rows[$0].state.hasEnded } ?? true,
            form: form, in: catalogue, as: showing, at: now, asksApp: asksApp,
            mutation: rules.mutation)
    }

    package func doubtful(_ events: [EntryID]) -> Set<EntryID> {
        Set(events.filter { state.forms.isDoubtful($0) })
    }

    package func formAppeared(_ showing: String) { state.forms.appeared(showing, at: now) }

    package func formDismissed(_ showing: String, how: String) {
        state.forms.dismissed(showing, how: how, at: now)
    }

    package func change(_ change: FormsChange) -> Bool {
        guard let clearing = state.forms.change(change) else { return false }
        if rules.mutation != .logOutKeepsEvents {
            endAll(
                of: [FormsEvent.family, FormsEvent.link], as: clearing.outcome,
                reason: clearing.reason)
        }
        return true
    }

    package func setPlan(_ plan: String?) { state.forms.plan = plan }

    /// An event of the family was recorded that was not there before.
    func countEvent(_ entry: NewEntry) {
        guard entry.kind == FormsEvent.family || entry.kind.hasPrefix(FormsEvent.family + "."),
            let content = try? EventContent(payload: entry.payload)
        else { return }
        state.forms.recorded(content.name)
    }

    package func showings() -> [FormsModel.Showing] {
        state.forms.showings.sorted { $0.id < $1.id }
    }

    /// An event that was only handed to a page has shown nothing: nothing about it is in doubt.
    func forgiveForms() {
        for index in state.entries.rows.indices {
            let row = state.entries.rows[index]
            guard row.state.waits, row.interruptions > 0,
                row.kind == FormsEvent.family || row.kind.hasPrefix(FormsEvent.family + "."),
                !state.forms.isDoubtful(row.content.new.id)
            else { continue }
            state.entries.rows[index].interrupted = false
            state.entries.rows[index].interruptions = 0
        }
    }

    func pruneForms() {
        guard !state.forms.showings.isEmpty else { return }
        state.forms.prune(at: now) { [state] event in
            state.entries.index(of: event).map { !state.entries.rows[$0].state.hasEnded } ?? false
        }
    }
}
