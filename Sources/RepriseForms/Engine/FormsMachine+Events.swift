package import RepriseCore

/// Events on their way to the page.
extension FormsMachine {
    /// The journal delivers events, in the order recorded; a form of the doubtful ones was granted
    /// to an earlier page and never reported as shown.
    package mutating func delivery(
        _ arrivals: [FormsArrival], doubtful: Set<EntryID>, at now: Duration, wall: WallTime
    ) -> [Action] {
        var (actions, early): ([Action], [Action]) = ([], [])
        for arrival in arrivals {
            let rules = events[arrival.content.name]
            if rules?.onInterruption == .never, doubtful.contains(arrival.id) {
                tally.count(.unconfirmed)
                actions.append(
                    .end(
                        arrival.id, as: .unconfirmed,
                        reason: "A form was granted, and nobody knows whether it appeared.",
                        appeared: nil))
            } else if phase == .handshaken, inUse != nil {
                guard arrival.mayOvertake else {
                    slots.append(Slot(arrival: arrival, stage: .queued))
                    continue
                }
                early.append(
                    .giveBack(
                        arrival.id, reason: "Events recorded before it come first.",
                        isInDoubt: false))
            } else if let rules, rules.then == .deliver, let life = rules.timeToLive,
                arrival.recordedAt.advanced(by: life) <= wall
            {
                tally.count(.late)
                actions.append(.deliverLate(arrival.id))
            } else {
                actions.append(
                    .giveBack(
                        arrival.id, reason: "There is no page for it any more.", isInDoubt: false))
            }
        }
        return actions + behindClosedGate(early) + send(at: now, wall: wall)
    }

    /// Gives events back in a way that nothing newer goes before them.
    ///
    /// What the journal dispatches meanwhile, or has dispatched and is not looked at yet, may
    /// overtake them: each closing of the gate marks it so.
    func behindClosedGate(_ back: [Action]) -> [Action] {
        guard !back.isEmpty else { return [] }
        return [.setReadiness(.formsData, isOpen: false)] + back
            + [.setReadiness(.formsData, isOpen: true)]
    }

    /// Sends waiting events: all of them, or one at a time if one may have killed a page.
    mutating func send(at now: Duration, wall: WallTime) -> [Action] {
        var actions: [Action] = []
        while let batch = nextBatch(at: now) {
            actions.append(.send(HostMessage.events(batch, now: wall)))
        }
        return actions
    }

    private mutating func nextBatch(at now: Duration) -> [FormsArrival]? {
        let isBusy = slots.contains { $0.stage != .queued && $0.stage != .waiting }
        if careful > 0, isBusy { return nil }
        var (batch, bytes): ([FormsArrival], Int) = ([], 0)
        for index in slots.indices where slots[index].stage == .queued {
            let arrival = slots[index].arrival
            bytes += arrival.content.properties.count
            let limit = careful > 0 ? 1 : FormsEngineLimits.eventsPerMessage
            guard batch.count < limit, batch.isEmpty || bytes <= FormsEngineLimits.bytesPerMessage
            else {
                break
            }
            slots[index].stage = .sent(at: now)
            batch.append(arrival)
        }
        return batch.isEmpty ? nil : batch
    }

    func index(of event: EntryID) -> Int? { slots.firstIndex { $0.arrival.id == event } }

    /// The page reports the outcome of an event; later reports are ignored.
    mutating func settle(_ handled: PageMessage.Handled) -> [Action] {
        guard let index = index(of: handled.id) else {
            tally.late += 1
            return []
        }
        switch handled.result {
        case .noMatch: return end(index, .noMatch, as: .applied, "noMatch")
        case .suppressed(let form, let reason):
            let words = ["suppressed", form, reason].compactMap { $0 }
            return end(index, .suppressed, as: .applied, words.joined(separator: " "))
        case .expired(let reason):
            let words = ["expired", reason].compactMap { $0 }
            return end(index, .expired, as: .expired, words.joined(separator: " "))
        case .error(let reason):
            return end(index, .error, as: .dead, "error: \(reason ?? "no reason given")")
        case .shown:
            // It counts when its form has appeared, and that ends it.
            tally.late += 1
            return []
        }
    }

    /// The page gives an event back whose form's time is far off, so that it holds no place until
    /// then.
    mutating func postpone(_ event: PageMessage.Postponed, wall: WallTime) -> [Action] {
        guard let index = index(of: event.id) else {
            tally.late += 1
            return []
        }
        switch slots[index].stage {
        case .queued, .asked, .granted:
            tally.malformed += 1
            return []
        case .sent, .waiting: break
        }
        slots.remove(at: index)
        careful = max(careful - 1, 0)
        tally.postponed += 1
        // At least a second, so that a page whose clock is wrong is not asked again and again.
        let wait = min(
            max(wall.duration(to: event.until), .seconds(1)),
            .seconds(FormsEngineLimits.postponement))
        return [.postpone(event.id, by: wait)]
    }

    mutating func end(
        _ index: Int, _ count: FormsTally.Ending, as outcome: Outcome, _ reason: String,
        appeared: String? = nil
    ) -> [Action] {
        let id = slots.remove(at: index).arrival.id
        deaths[id] = nil
        careful = max(careful - 1, 0)
        tally.count(count)
        return [.end(id, as: outcome, reason: reason, appeared: appeared)]
    }
}
