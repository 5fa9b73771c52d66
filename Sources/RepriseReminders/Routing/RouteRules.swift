package import RepriseCore
import RepriseJournal

/// The decisions of routing, without a store or a clock: what is read, when a look-up counts, and
/// what it means.
package struct RouteRules: Sendable {
    /// What is to be done about something that came in.
    package enum Step: Hashable, Sendable {
        case decided(ResolvedRoute)
        /// The app's store knows what it is.
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

    /// What the store's answer means.
    ///
    /// - Parameters:
    ///   - finding: the answer.
    ///   - info: what was looked up.
    ///   - hasChanged: whether the store said meanwhile that the entity has changed.
    ///   - looks: how often it was looked up, this time included.
    /// - Returns: nil: it is to be looked up again.
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

    /// Nobody is named, or nobody is signed in by name, or they are the same.
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
