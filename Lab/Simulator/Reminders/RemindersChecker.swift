import RepriseCore
import RepriseJournal
import RepriseReminders

/// Sees what people did, what rang and what a screen showed on one phone, and believes neither the
/// journal nor its counters.
final class RemindersChecker {
    private struct Record {
        let meaning: SimulatedTap.Meaning?
        let isAction: Bool
        var isAcknowledged = false
        var presented = 0
        /// The app was told that it is durable that a screen has shown it.
        var isTold = false
        var hasEnded = false
    }

    private let simulation: Simulation
    private let name: String
    private var records: [EntryID: Record] = [:]
    /// In the order in which they became known.
    private var ids: [EntryID] = []
    /// When the last complete reconciliation began.
    private(set) var lastReconciliation: Duration?

    init(_ simulation: Simulation, name: String) {
        self.simulation = simulation
        self.name = name
    }

    // MARK: Taps

    func asked(_ tap: SimulatedTap) {
        guard records[tap.id] == nil else { return }
        ids.append(tap.id)
        records[tap.id] = Record(
            meaning: tap.meaning,
            isAction: RemindersWorld.kind(of: tap.arrival) == ReminderKinds.action)
    }

    func isAcknowledged(_ id: EntryID) -> Bool { records[id]?.isAcknowledged ?? false }

    func acknowledged(_ id: EntryID) { records[id]?.isAcknowledged = true }

    /// The app's loop gets a tap: what it resolved to is what the store says now.
    func dispatched(_ id: EntryID, _ resolved: ResolvedRoute, store: SimulatedGoals, isSure: Bool) {
        guard let record = records[id] else {
            return violated(.recorded, "\(id) is dispatched and was never recorded")
        }
        if record.isTold { violated(.once, "\(id) is dispatched after its screen was shown") }
        guard isSure else { return }
        let isRight: Bool
        if let meaning = record.meaning {
            isRight = resolved.resolution == Self.expected(meaning, store)
        } else if case .malformed = resolved.resolution {
            isRight = true
        } else {
            isRight = false
        }
        if !isRight {
            violated(.agreement, "\(id) resolves to \(resolved.resolution), which the store denies")
        }
    }

    private static func expected(
        _ meaning: SimulatedTap.Meaning, _ store: SimulatedGoals
    ) -> Resolution {
        switch store.find(meaning.id) {
        case .unknown: return .missing(id: meaning.id)
        case .deleted(let when): return .deleted(when: when)
        case .replaced(let entity): return .superseded(by: entity)
        case .found(let entity):
            guard entity.state == .active else { return .paused(entity) }
            guard let part = meaning.part else { return .active(entity, .whole) }
            let found = entity.parts.first { $0.id == part }
            return .active(entity, found.map { .part($0) } ?? .partGone(id: part))
        }
    }

    /// A person sees the screen.
    func presented(_ id: EntryID) {
        if records[id]?.isTold == true {
            violated(.once, "\(id) is presented after its screen was shown for good")
        }
        records[id]?.presented += 1
    }

    /// The app knows that it is durable.
    func acknowledgedByScreen(_ id: EntryID) {
        if records[id]?.presented == 0 {
            violated(.acknowledged, "\(id) counts as presented, and nobody has seen it")
        }
        records[id]?.isTold = true
    }

    // MARK: Reminders

    func reconciled(since began: Duration) {
        lastReconciliation = max(lastReconciliation ?? began, began)
    }

    /// It rings; a reconciliation that began well after its entity was gone has taken it back.
    func rang(_ request: NotificationRequest, store: SimulatedGoals) {
        guard let info = ReminderRequest.info(request, sort: "goal"), request.isOurs,
            let gone = store.goneSince[info.route.id], let lastReconciliation,
            gone + .seconds(10) < lastReconciliation
        else { return }
        violated(
            .released,
            "\(request.content.title) rings, which is gone since \(gone.clock) and was reconciled since"
        )
    }

    func dropped(_ request: NotificationRequest) {
        violated(.bounded, "\(request.content.title) is dropped: more than 64 are pending")
    }

    // MARK: The journal

    func isAllOver(_ transaction: any DeviceTransaction) throws -> Bool {
        for id in ids {
            guard let record = records[id], record.isAcknowledged else { return false }
            if !record.hasEnded, let entry = try transaction.entry(id) {
                guard case .finished = entry.state else { return false }
            }
        }
        return true
    }

    func look(_ transaction: any DeviceTransaction, store: SimulatedGoals, isEnd: Bool) throws {
        let ledger = try transaction.ledger()
        if !ledger.isBalanced { violated(.accounted, "the ledger is not balanced: \(ledger)") }
        let effects = try transaction.effects()
        for id in ids {
            guard let record = records[id] else { continue }
            guard let entry = try transaction.entry(id) else {
                if record.isAcknowledged, !record.hasEnded {
                    violated(.recorded, "\(id) was acknowledged and is not there")
                }
                continue
            }
            let inside = effects.count { $0 == id.text }
            check(entry, record, inside: inside, outside: store.effects[id] ?? 0)
            if case .finished = entry.state {
                records[id]?.hasEnded = true
            } else if record.hasEnded {
                violated(.recorded, "\(id) had ended and is pending again")
            } else if isEnd {
                violated(.alive, "\(id) has not ended: \(entry.state), \(entry.reason ?? "")")
            }
        }
        if isEnd, ledger.accepted != Int64(ids.count) {
            violated(.accounted, "\(ids.count) were recorded, the ledger says \(ledger.accepted)")
        }
    }

    private func check(_ entry: Entry, _ record: Record, inside: Int, outside: Int) {
        if inside > 1 || outside > 1 {
            violated(.once, "\(entry.id) took effect \(max(inside, outside)) times")
        }
        guard case .finished(let outcome) = entry.state else {
            if inside > 0 { violated(.once, "\(entry.id) has its effect and has not ended") }
            return
        }
        guard record.isAction else {
            if outcome != .applied {
                violated(
                    .acknowledged, "\(entry.id) has ended as \(outcome), \(entry.reason ?? "")")
            } else if record.presented == 0 {
                violated(.acknowledged, "\(entry.id) has ended, and nobody has seen it")
            }
            return
        }
        let reason = entry.reason ?? ""
        if (inside == 1) != ["snoozed", "skipped"].contains(reason) {
            violated(.accounted, "\(entry.id) has \(inside) effects and ended: \(reason)")
        }
        if ["logged", "paused"].contains(reason), outside != 1 {
            violated(.accounted, "\(entry.id) has \(outside) effects and ended: \(reason)")
        }
    }

    func violated(_ invariant: Invariant, _ what: @autoclosure () -> String) {
        simulation.violated(invariant, "\(name): \(what())")
    }
}
