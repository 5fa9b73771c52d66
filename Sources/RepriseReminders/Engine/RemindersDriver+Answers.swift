import RepriseCore
import RepriseJournal

/// Performs the machine's questions.
extension RemindersDriver {
    func answer(_ question: ReconciliationMachine.Question) async -> ReconciliationMachine.Answer {
        guard let dependencies else { return .failed("The reminders do not run.") }
        do {
            return try await answer(question, dependencies)
        } catch {
            return judge(error)
        }
    }

    private func answer(
        _ question: ReconciliationMachine.Question, _ dependencies: Dependencies
    ) async throws -> ReconciliationMachine.Answer {
        let system = dependencies.notifications
        switch question {
        case .entities(let ids): return .entities(try await entities(ids, of: dependencies.store))
        case .settings: return .settings(try await asking { try await system.settings() })
        case .pending: return .pending(try await asking { try await system.pending() })
        case .delivered: return .delivered(try await asking { try await system.delivered() })
        case .marks: return .marks(try await marks())
        case .look(let routes):
            return .looked(inUse: try await look(routes, in: dependencies.store))
        case .removeDelivered(let ids):
            try await asking { try await system.removeDelivered(ids) }
        case .removePending(let ids): try await asking { try await system.removePending(ids) }
        case .add(let request): try await asking { try await system.add(request) }
        case .write(let record): try await writing { try await self.planStore.write(record) }
        }
        return .done
    }

    private func entities(
        _ ids: Set<String>?, of store: any ReminderStore
    ) async throws -> [RemindedEntity] {
        try await storeTimeout.wait(
            configuration.storeTimeout, for: "The app's store (reminded)"
        ) {
            if let ids { try await store.reminded(ids) } else { try await store.reminded() }
        }
    }

    func asking<T: Sendable>(
        _ body: @escaping @Sendable () async throws -> T
    ) async throws -> T {
        try await systemTimeout.wait(
            configuration.systemTimeout, for: "The notification centre", body)
    }

    /// The journal checks the clocks first: calendar-based dates move with them.
    private func marks() async throws -> [ReminderOverride] {
        try await writing { [planStore] in
            let marks = try await planStore.marks()
            guard marks.contains(where: \.isWait) else { return marks }
            try await planStore.journal.write { _ in }
            return try await planStore.marks()
        }
    }

    private func look(
        _ routes: [String: Route], in store: any ReminderStore
    ) async throws -> Set<String> {
        var inUse: Set<String> = []
        for (id, route) in routes.sorted(by: { $0.key < $1.key }) {
            let finding = try await storeTimeout.wait(
                configuration.lookUpTimeout, for: "The app's store (find)"
            ) { try await store.find(route) }
            guard case .found(let entity) = finding, entity.state == .active,
                route.owner == nil || entity.owner == nil || route.owner == entity.owner
            else { continue }
            inUse.insert(id)
        }
        return inUse
    }

    private func writing<T: Sendable>(_ body: () async throws -> T) async throws -> T {
        do {
            return try await body()
        } catch {
            loop.note(error)
            throw error
        }
    }

    /// Tells permanent refusals from temporary failures.
    private func judge(_ error: any Error) -> ReconciliationMachine.Answer {
        guard let known = error as? RepriseError else { return .failed("\(error)") }
        let isForGood: Set<RepriseError.Code> = [
            .refused, .tooLarge, .malformed, .badConfiguration, .full, .badID,
        ]
        return isForGood.contains(known.code)
            ? .refused(known.description) : .failed(known.description)
    }

    func requestRefresh(_ at: WallTime) {
        guard let scheduler = dependencies?.scheduler, let id = configuration.refreshTask else {
            return
        }
        let request = BackgroundRequest(id: id, kind: .refresh, earliest: at)
        let asked = Task { [inbox, systemTimeout, configuration] in
            do {
                try await systemTimeout.wait(
                    configuration.systemTimeout, for: "The background scheduler"
                ) { try await scheduler.submit(request) }
                inbox.put(.event(.refreshAsked(fault: nil)))
            } catch {
                inbox.put(.event(.refreshAsked(fault: "\(error)")))
            }
        }
        refreshing = asked
        beside { await asked.value }
    }
}

extension ReminderOverride {
    /// Whether its time is a wait, which a calendar step must not change.
    fileprivate var isWait: Bool { what != .skip }
}

extension RemindersDriver {
    /// Removes all of our requests; best effort, as the next reconciliation does the same.
    func leave() async {
        guard let system = dependencies?.notifications else { return }
        await loop.stop()
        do {
            let pending = try await asking { try await system.pending() }.filter(\.isOurs).map(\.id)
            if !pending.isEmpty { try await asking { try await system.removePending(pending) } }
            let shown = try await asking { try await system.delivered() }.map(\.request)
                .filter(\.isOurs).map(\.id)
            if !shown.isEmpty { try await asking { try await system.removeDelivered(shown) } }
        } catch {
            return
        }
    }
}
