import GRDB
import RepriseCore
import RepriseJournal
import RepriseWire

/// Performs the machine's actions.
extension FormsDriver {
    func perform(_ actions: [FormsMachine.Action]) async {
        for action in actions {
            switch action {
            case .open(let life): open(life)
            case .close: close()
            case .setReadiness(let readiness, let isOpen):
                if isOpen {
                    await store.journal.setReady(readiness)
                } else {
                    await store.journal.setNotReady(readiness)
                }
            case .send(let message): send(message)
            case .setVisible(let isVisible): await view?.view.setVisible(isVisible)
            case .askLeave(let event, let form, let catalogue):
                await askLeave(event, form, catalogue)
            case .end(let id, let outcome, let reason, let showing):
                deliveries.removeValue(forKey: id)?.delivery.end(
                    as: .ended(outcome, reason: reason), alongside: showing.map(store.appeared))
            case .giveBack(let id, let reason, let isInDoubt):
                deliveries.removeValue(forKey: id)?.delivery.end(
                    as: .back(reason: reason, isInDoubt: isInDoubt))
            case .postpone(let id, let wait):
                deliveries.removeValue(forKey: id)?.delivery.end(
                    as: .postponed(by: wait, reason: "The time of its form has not come."))
            case .deliverLate(let id): deliverLate(id)
            case .dismissed(let showing, let how):
                // Not worth failing for: the showing was counted when it was granted.
                try? await store.dismissed(showing, how: how)
            case .perform(let action, let id, _, let form):
                await record(id) { [store] in try await store.record(action, id: id, of: form) }
            case .submit(let id, let answers, let screen):
                await submit(id, answers, screen)
            case .fetchCatalogue: reason.raise()
            }
        }
    }

    func askLeave(
        _ event: EntryID, _ form: String, _ catalogue: FormsCatalogue
    ) async {
        do {
            let leave = try await store.leave(for: event, form: form, in: catalogue)
            await perform(
                machine.leaveDecided(leave, for: event, form: form, at: clock.uptime()))
        } catch {
            loop.note(error)
            await perform(
                machine.viewLost(
                    reason: "The journal cannot be written: \(error)", at: clock.uptime()))
        }
    }

    func submit(_ id: String, _ answers: [UInt8], _ screen: FormsMachine.FormOnScreen) async {
        await record(id) { [store, record = self.answers] in
            guard let record else {
                throw RepriseError(.refused, "Nobody takes answers.")
            }
            try await store.submit(id, answers, screen, record: record)
        }
    }

    /// Replies to the page once the record is durable, or with the reason of the failure.
    func record(_ id: String, _ body: () async throws -> Void) async {
        do {
            try await body()
            send(HostMessage.recorded(id))
        } catch {
            loop.note(error)
            send(
                HostMessage.refused(id, reason: (error as? RepriseError)?.code.name ?? "internal"))
        }
    }
}
