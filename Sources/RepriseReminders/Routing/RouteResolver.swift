public import RepriseCore
import RepriseJournal
import Synchronization

/// The resolution of an arrival, as of one moment.
package struct ResolvedRoute: Hashable, Sendable {
    /// nil: it carries none.
    package var info: ReminderInfo?
    package var resolution: Resolution
    /// Why, for people.
    package var reason: String
}

/// Reads an arrival's route and looks its entity up in the app's store.
package final class RouteResolver: Sendable {
    private let rules: RouteRules
    let lookUps: LookUps
    private let store = Mutex<(any ReminderStore)?>(nil)

    package init(_ configuration: Reminders.Configuration) {
        rules = RouteRules(configuration)
        lookUps = LookUps(
            timekeeper: configuration.timekeeper, timeout: configuration.lookUpTimeout)
    }

    /// The current store; nil while none is set.
    package func use(_ store: (any ReminderStore)?) { self.store.withLock { $0 = store } }

    /// The app's store has said that something has changed.
    package func changed(_ change: ReminderChange) {
        switch change {
        case .entities(let ids): lookUps.changed(ids)
        case .everything: lookUps.changed(nil)
        }
    }

    /// The number of abandoned calls of the store.
    package var abandoned: Int { lookUps.abandoned }

    func currentStore() throws -> any ReminderStore {
        guard let store = store.withLock({ $0 }) else {
            throw DispatchFailure.notReady("The reminders do not run: nobody can be asked.")
        }
        return store
    }

    // MARK: Resolving

    /// Resolves an arrival as of now.
    ///
    /// - Throws: what the store throws, or its timeout; then try again.
    package func resolve(_ arrival: RouteArrival) async throws -> ResolvedRoute {
        switch rules.read(arrival) {
        case .decided(let resolved): resolved
        case .lookUp(let info): try await resolve(info)
        }
    }

    private func resolve(_ info: ReminderInfo) async throws -> ResolvedRoute {
        let store = try currentStore()
        var looks = 0
        while true {
            looks += 1
            let (finding, hasChanged) = try await lookUps.watching(info.route.id) {
                try await lookUps.ask("find") { try await store.find(info.route) }
            }
            if let resolved = rules.judge(finding, info, hasChanged: hasChanged, looks: looks) {
                return resolved
            }
        }
    }
}

extension ResolvedRoute {
    static func malformed(_ malformation: Malformation, _ info: ReminderInfo? = nil) -> Self {
        Self(info: info, resolution: .malformed(malformation), reason: malformation.reason)
    }

    static func found(_ entity: Entity, _ info: ReminderInfo) -> Self {
        guard entity.state == .active else {
            return Self(
                info: info, resolution: .paused(entity),
                reason: "“\(entity.title)” is \(entity.state.rawValue).")
        }
        guard let id = info.route.part else {
            return Self(
                info: info, resolution: .active(entity, .whole),
                reason: "“\(entity.title)” is in use.")
        }
        guard let part = entity.parts.first(where: { $0.id == id }) else {
            return Self(
                info: info, resolution: .active(entity, .partGone(id: id)),
                reason:
                    "“\(entity.title)” is in use; its part is no more, so the whole stands for it.")
        }
        return Self(
            info: info, resolution: .active(entity, .part(part)),
            reason: "“\(entity.title)” is in use, and so is “\(part.title)”.")
    }
}

extension Resolution {
    /// One word for the log: `active`, `paused`, `deleted`, `missing`, `superseded`, `malformed`.
    public var name: String {
        switch self {
        case .active: "active"
        case .paused: "paused"
        case .deleted: "deleted"
        case .missing: "missing"
        case .superseded: "superseded"
        case .malformed: "malformed"
        }
    }
}

extension Malformation {
    /// The reason, for people.
    var reason: String {
        switch self {
        case .notJSON: "What it carries is no JSON object, or one beyond the limits."
        case .noRoute: "It carries no route: somebody else has made it."
        case .missing(let field): "Its \(field) is not there."
        case .invalid(let field): "Its \(field) is not what it should be."
        case .newer(let version): "It is of version \(version) of the format, which is newer."
        case .anotherUser: "It leads to something of another user."
        case .unknownSort(let sort):
            "It leads to a \(sort.prefix(64)), which this app does not have."
        }
    }
}
