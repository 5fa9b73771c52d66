package import RepriseCore
import RepriseJournal

/// The decisions of routing, without a store or a clock: reading, the validity of a look-up, and
/// its meaning.
package struct RouteRules: Sendable {
    /// The next step for an arrival.
    package enum Step: Hashable, Sendable {
        case decided(ResolvedRoute)
        /// Look it up in the app's store.
        case lookUp(ReminderInfo)
    }

    private let reading: RouteReading
    private let sorts: Set<String>
    private let owner: String?

    package init(_ configuration: Reminders.Configuration) {
        reading = RouteReading(sort: configuration.sort, readers: configuration.readers)
        sorts = [configuration.sort]
        owner = configuration.owner
    }

    package func read(_ arrival: RouteArrival) -> Step {
        switch reading.read(arrival) {
        case .malformed(let malformation): return .decided(.malformed(malformation))
        case .read(let info):
            guard sorts.contains(info.route.sort) else {
                return .decided(.malformed(.unknownSort(info.route.sort), info))
            }
            guard isOurs(info.route.owner) else {
                return .decided(.malformed(.anotherUser, info))
            }
            return .lookUp(info)
        }
    }

    /// Interprets the store's answer.
    ///
    /// - Parameters:
    ///   - finding: the answer.
    ///   - info: the entity looked up.
    ///   - hasChanged: whether the store reported a change of the entity meanwhile.
    ///   - looks: the number of look-ups, including this one.
    /// - Returns: nil: look it up again.
    package func judge(
        _ finding: EntityFinding, _ info: ReminderInfo, hasChanged: Bool, looks: Int
    ) -> ResolvedRoute? {
        guard !hasChanged || looks > RouteLimits.lookUpsAgain else { return nil }
        var resolved = judge(finding, info)
        if looks > 1 {
            resolved.reason += " It was looked up \(looks) times, for it changed meanwhile."
        }
        return resolved
    }

    /// Neither is named, or they are the same.
    private func isOurs(_ other: String?) -> Bool {
        guard let owner, let other else { return true }
        return owner == other
    }

    private func judge(_ finding: EntityFinding, _ info: ReminderInfo) -> ResolvedRoute {
        switch finding {
        case .found(let entity):
            guard isOurs(entity.owner) else { return .malformed(.anotherUser, info) }
            return .found(entity, info)
        case .replaced(let entity):
            guard isOurs(entity.owner) else { return .malformed(.anotherUser, info) }
            return ResolvedRoute(
                info: info, resolution: .superseded(by: entity),
                reason: "“\(entity.title)” has taken its place.")
        case .deleted(let when):
            return ResolvedRoute(
                info: info, resolution: .deleted(when: when),
                reason: "The store has a tombstone of it.")
        case .unknown:
            return ResolvedRoute(
                info: info, resolution: .missing(id: info.route.id),
                reason: "The store has never heard of it.")
        }
    }
}
