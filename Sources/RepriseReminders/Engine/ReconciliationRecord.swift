package import RepriseCore

/// The findings and changes of a reconciliation, for diagnostics: `reprise reminders` shows it.
package struct ReconciliationRecord: Hashable, Sendable {
    /// One request that should be there, or is.
    package struct Row: Hashable, Sendable, Identifiable {
        /// The status of a planned notification.
        package enum Status: String, Hashable, Sendable {
            /// The system has it.
            case pending
            /// It should have it.
            case missing
            /// The system has it and should not.
            case extra
            /// The system would not take it.
            case refused
            /// One of the next, without a place.
            case beyond
        }

        package var id: String
        package var entity: String
        package var reminder: String
        package var title: String
        package var at: WallTime
        package var local: String
        package var zone: String
        package var status: Status
        package var reason: String?
    }

    /// One change that was made or refused, and why.
    package struct Decision: Hashable, Sendable {
        package enum What: String, Hashable, Sendable {
            case add, replace, remove, removeDelivered, refused, skipped, invalid
        }

        package var at: WallTime
        package var what: What
        package var request: String
        package var entity: String?
        package var reason: String
    }

    package struct Summary: Hashable, Sendable {
        package var permission: String
        package var zone: String
        package var entities: Int
        package var reminders: Int
        package var guaranteedUntil: WallTime?
        package var fault: String?
    }

    package var at: WallTime
    package var cause: ReconciliationCause
    package var summary: Summary
    /// Soonest first.
    package var rows: [Row]
    package var decisions: [Decision]
    /// Marks whose time is over: they are forgotten.
    package var over: [ReminderOverride]
    /// Reminders that make no sense.
    package var invalid: [String: String] = [:]

    /// Whether it adds nothing to `former`.
    func isEmpty(beside former: ReconciliationRecord?) -> Bool {
        guard let former, decisions.isEmpty, over.isEmpty else { return false }
        return summary == former.summary && rows == former.rows && invalid == former.invalid
    }

    /// The part that stays true until the next one.
    var withoutNews: ReconciliationRecord {
        var record = self
        (record.decisions, record.over) = ([], [])
        return record
    }
}

/// One change of the system's notifications.
package enum ReconciliationChange: Hashable, Sendable {
    /// A request to remove.
    package struct Removal: Hashable, Sendable {
        package var id: String
        package var entity: String?
        package var why: String
    }

    /// Notifications that are taken out of the notification centre.
    case removeDelivered([Removal])
    case removePending([Removal])
    /// `isNew`: else it replaces one that is not right any more.
    case add(NotificationRequest, PlannedReminder, isNew: Bool)

    var id: String {
        switch self {
        case .removeDelivered(let removals), .removePending(let removals):
            removals.first?.id ?? ""
        case .add(let request, _, _): request.id
        }
    }

    var question: ReconciliationMachine.Question {
        switch self {
        case .removeDelivered(let removals): .removeDelivered(removals.map(\.id))
        case .removePending(let removals): .removePending(removals.map(\.id))
        case .add(let request, _, _): .add(request)
        }
    }

    func decisions(at now: WallTime) -> [ReconciliationRecord.Decision] {
        switch self {
        case .removeDelivered(let removals):
            removals.map { $0.decision(.removeDelivered, at: now) }
        case .removePending(let removals): removals.map { $0.decision(.remove, at: now) }
        case .add(let request, let planned, let isNew):
            [
                ReconciliationRecord.Decision(
                    at: now, what: isNew ? .add : .replace, request: request.id,
                    entity: planned.entity,
                    reason: isNew
                        ? "It should ring at \(planned.occurrence.local)."
                        : "What it says, or when it rings, has changed.")
            ]
        }
    }

    func refusal(_ why: String, at now: WallTime) -> ReconciliationRecord.Decision {
        var entity: String?
        if case .add(_, let planned, _) = self { entity = planned.entity }
        return ReconciliationRecord.Decision(
            at: now, what: .refused, request: id, entity: entity, reason: why)
    }
}

extension ReconciliationChange.Removal {
    fileprivate func decision(
        _ what: ReconciliationRecord.Decision.What, at now: WallTime
    ) -> ReconciliationRecord.Decision {
        ReconciliationRecord.Decision(at: now, what: what, request: id, entity: entity, reason: why)
    }
}
