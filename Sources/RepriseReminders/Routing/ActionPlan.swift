package import RepriseCore

/// What is to be done about an action, once it is known what it is about.
package enum ActionPlan: Hashable, Sendable {
    /// Nothing: it ends so.
    case end(Outcome, reason: String)
    case snooze(Entity, ReminderInfo, Duration)
    case skipToday(Entity)
    /// The app's store gets it.
    case give(ReminderCommand.Action, Entity, ReminderInfo, reason: String)
}

extension ReminderActionRule {
    /// Decides.
    ///
    /// - Parameters:
    ///   - arrival: what was recorded.
    ///   - resolved: what it turned out to be.
    /// - Returns: what is to be done.
    package func plan(_ arrival: RouteArrival, _ resolved: ResolvedRoute) -> ActionPlan {
        guard let info = resolved.info, let entity = resolved.resolution.entity else {
            return .end(.dead, reason: "\(resolved.resolution.name): \(resolved.reason)")
        }
        guard !info.route.isTest else { return .end(.applied, reason: "test") }
        switch effect {
        case .snooze(let wait): return .snooze(entity, info, wait)
        case .skipToday: return .skipToday(entity)
        case .log: return .give(.log(arrival.answer ?? id), entity, info, reason: "logged")
        case .pause: return .give(.pause, entity, info, reason: "paused")
        case .open: return .end(.applied, reason: "no rule")
        }
    }

    /// What becomes of an action that no rule is for.
    package static func withoutRule(_ arrival: RouteArrival) -> ActionPlan {
        // The rule that it was recorded for is no more, or it was a dismissal.
        .end(.applied, reason: arrival.action == dismissal ? "dismissed" : "no rule")
    }
}

extension Resolution {
    /// What an action is about: also what is paused, and what has taken the place of what rang.
    fileprivate var entity: Entity? {
        switch self {
        case .active(let entity, _), .paused(let entity), .superseded(let entity): entity
        case .deleted, .missing, .malformed: nil
        }
    }
}
