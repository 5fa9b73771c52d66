package import RepriseCore

/// The plan for an action, once its entity is known.
package enum ActionPlan: Hashable, Sendable {
    /// No effect: it ends with this outcome.
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
    ///   - arrival: the recorded action.
    ///   - resolved: its resolution.
    /// - Returns: the plan.
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

    /// The outcome of an action without a rule.
    package static func withoutRule(_ arrival: RouteArrival) -> ActionPlan {
        // The rule that it was recorded for is no more, or it was a dismissal.
        .end(.applied, reason: arrival.action == dismissal ? "dismissed" : "no rule")
    }
}

extension Resolution {
    /// The entity of an action: also a paused one, or the replacement of the original.
    fileprivate var entity: Entity? {
        switch self {
        case .active(let entity, _), .paused(let entity), .superseded(let entity): entity
        case .deleted, .missing, .malformed: nil
        }
    }
}
