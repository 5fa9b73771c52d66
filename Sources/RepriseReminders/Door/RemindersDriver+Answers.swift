import RepriseCore
import RepriseJournal

/// Performs the machine's questions.
extension RemindersDriver {
    func answer(_ question: SurveyMachine.Question) async -> SurveyMachine.Answer {
        guard let company else { return .failed("The reminders do not run.") }
        do {
            return try await answer(question, company)
        } catch {
            return judge(error)
        }
    }

    private func answer(
        _ question: SurveyMachine.Question, _ company: Company
    ) async throws -> SurveyMachine.Answer {
        let system = company.notifications
        switch question {
        case .entities(let ids): return .entities(try await entities(ids, of: company.store))
        case .settings: return .settings(try await asking { try await system.settings() })
        case .pending: return .pending(try await asking { try await system.pending() })
        case .delivered: return .delivered(try await asking { try await system.delivered() })
        case .marks: return .marks(try await marks())
        case .look(let routes):
            return .looked(inUse: try await look(routes, in: company.store))
        case .removeDelivered(let ids):
            try await asking { try await system.removeDelivered(ids) }
        case .removePending(let ids): try await asking { try await system.removePending(ids) }
        case .add(let request): try await asking { try await system.add(request) }
        case .write(let record): try await writing { try await self.desk.write(record) }
        }
        return .done
    }

    private func entities(
        _ ids: Set<String>?, of store: any ReminderStore
    ) async throws -> [RemindedEntity] {
        try await storePatience.wait(
            configuration.storePatience, for: "The app's store (reminded)"
        ) {
            if let ids { try await store.reminded(ids) } else { try await store.reminded() }
        }
    }

    func asking<T: Sendable>(
        _ body: @escaping @Sendable () async throws -> T
    ) async throws -> T {
        try await systemPatience.wait(
            configuration.systemPatience, for: "The notification centre", body)
    }

    /// The journal checks the clocks first: calendar-based dates move with them.
    private func marks() async throws -> [ReminderMark] {
        try await writing { [desk] in
            let marks = try await desk.marks()
            guard marks.contains(where: \.isWait) else { return marks }
            try await desk.journal.write { _ in }
            return try await desk.marks()
        }
    }

    private func look(
        _ routes: [String: Route], in store: any ReminderStore
    ) async throws -> Set<String> {
        var inUse: Set<String> = []
        for (id, route) in routes.sorted(by: { $0.key < $1.key }) {
            let finding = try await storePatience.wait(
                configuration.lookUpPatience, for: "The app's store (find)"
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
        } catch let error as RepriseError
            where error.code == .ownershipLost || error.code == .closed
        {
            inbox.put(.lost(error))
            throw error
        }
    }

    /// Tells permanent refusals from temporary failures.
    private func judge(_ error: any Error) -> SurveyMachine.Answer {
        guard let known = error as? RepriseError else { return .failed("\(error)") }
        let isForGood: Set<RepriseError.Code> = [
            .refused, .tooLarge, .malformed, .badConfiguration, .full, .badID,
        ]
        return isForGood.contains(known.code)
            ? .refused(known.description) : .failed(known.description)
    }

    func requestRefresh(_ at: WallTime) {
        guard let scheduler = company?.scheduler, let id = configuration.refreshTask else { return }
        let request = BackgroundRequest(id: id, kind: .refresh, earliest: at)
        let asked = Task { [inbox, systemPatience, configuration] in
            do {
                try await systemPatience.wait(
                    configuration.systemPatience, for: "The background scheduler"
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

extension ReminderMark {
    /// Whether its time is a wait, which a calendar step must not change.
    fileprivate var isWait: Bool { what != .skip }
}

extension RemindersDriver {
    /// Removes all of our requests; best effort, as the next survey does the same.
    func leave() async {
        guard let system = company?.notifications else { return }
        await stop()
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
