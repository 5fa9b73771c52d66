import GRDB
import RepriseChains
import RepriseCore
import RepriseJournal

/// Drives `ChainDecision`, as `ChainsEngine` does, and breaks it where a mutation says so.
extension SimulatedChains {
    var facts: ChainFacts {
        ChainFacts(
            wall: { [clock] in clock.wall() },
            now: { [self] in stepped?.now ?? clock.wall() },
            mayExpire: { [self] in stepped?.mayExpire ?? false }, conditions: conditions,
            isOpen: { [self] in isOpen($0) }, hasWorker: { [app] in app.workers.contains($0) },
            jitter: { [self] in random.fraction() })
    }

    private var stepped: SteppedJournal? { (journal.opened as? OpenJournal)?.stepped }

    func carryOut(
        _ decision: ChainDecision, _ delivery: SimulatedDelivery, isSuccess: Bool = false
    ) {
        var decision = decision
        while let need = decision.next() {
            decision.supply(Result { try outputs(need) })
        }
        awaited.formUnion(decision.awaited)
        let chain = decision.chain
        for place in decision.stops { stopForMachine(place, of: chain) }
        // A former owner may miss files that the new one has swept; it can write nothing.
        if decision.stopsAll, !app.isFormer {
            checker.violated(.recorded, "\(chain.row.id) cannot be read")
        }
        guard !decision.isBare else { return delivery.end(decision.ending, nil) }
        var writes = decision.writes
        if mutation == .chainCompensatesInStartOrder { compensateOldest(of: chain, &writes) }
        if mutation == .chainStepBeforeOutcome, isSuccess {
            for intent in writes.intents where !intent.isCompensation {
                startEarly(intent, of: chain)
            }
        }
        settle(delivery, as: decision.ending, writes)
    }

    private func outputs(_ need: ChainDecision.Need) throws -> [Int: [UInt8]] {
        if let recent = need.recent { return [need.place: try files.read(recent)] }
        if mutation == .chainDecidesBlindly { return [need.place: Array("\"\"".utf8)] }
        let found = try journal.read {
            try ChainReading.outputs(need.chain, need.places, shipping($0).db)
        }
        return try found.filter { $0 == need.place || $1.file == nil }.mapValues(files.read)
    }

    /// The mutation `chainStepBeforeOutcome`.
    private func startEarly(_ intent: ChainWrites.Intent, of chain: LiveChain) {
        let name = chain.tasks[intent.place].name
        SimulatedWork(
            self,
            Key(
                chain: chain.row.seq, place: intent.place, round: intent.round,
                isCompensation: false),
            chain: chain.row.id, task: name, workKey: "\(chain.row.id)/\(name)"
        ).takeEffect()
    }

    /// The mutation `chainCompensatesInStartOrder`.
    private func compensateOldest(of chain: LiveChain, _ writes: inout ChainWrites) {
        guard let index = writes.intents.firstIndex(where: \.isCompensation) else { return }
        let place = writes.intents[index].place
        var slots = chain.machine.slots
        let first = slots.firstIndex {
            $0.canCompensate && $0.state == .succeeded && $0.compensation == .none
        }
        guard let first, first < place else { return }
        (slots[first].compensation, slots[place].compensation) = (.intended, .none)
        chain.machine = ChainMachine(state: chain.machine.state, slots: slots)
        chain.tasks[first].round += 1
        chain.inputs[first] = chain.inputs.removeValue(forKey: place)
        writes.intents[index].place = first
        writes.intents[index].round = chain.tasks[first].round
    }

    // MARK: Commands

    func perform(_ delivery: SimulatedDelivery) {
        guard let command = try? ChainCommand(delivery.entry.payload) else {
            return delivery.end(.failed(DispatchFailure.permanent("malformed")), nil)
        }
        switch command.command {
        case .delete, .clear: return remove(command, delivery)
        case .scheduled: return cameDue(command.task, delivery)
        // A tool's alone.
        case .unschedule: return delivery.end(.ended(.superseded, reason: "no schedule"), nil)
        case .pause, .resume, .cancel, .retry, .begin, .look, .release, .late: break
        }
        do {
            let seq = try journal.read { try ChainReading.seq(of: command.chain, shipping($0).db) }
            guard let seq, let chain = try chainOrQuarantine(seq, delivery) else {
                return delivery.end(
                    .failed(DispatchFailure.permanent("No chain has this id.")), nil)
            }
            if let name = chain.nameWanted(for: command.command), try isTaken(name, chain) {
                let outcome: Outcome = command.command == .begin ? .superseded : .dead
                return delivery.end(
                    .ended(outcome, reason: "Another chain of its name goes on."), nil)
            }
            simulation.trace(
                process.name, "\(command.command) \(chain.row.id) \(command.task ?? "")")
            if mutation == .chainCancelForgetsRunning, command.command == .cancel {
                forgetRunning(of: chain)
            }
            carryOut(.perform(command, chain, facts), delivery)
        } catch {
            checker.violated(.recorded, "a chain cannot be read: \(error)")
        }
    }

    private func chainOrQuarantine(_ seq: Int64, _ delivery: SimulatedDelivery) throws
        -> LiveChain?
    {
        do {
            return try chain(seq)
        } catch let error as ChainRow.Broken {
            quarantine(seq, error.description, delivery)
            return nil
        }
    }

    /// Its rows cannot be read.
    func quarantine(_ seq: Int64, _ why: String, _ delivery: SimulatedDelivery) {
        checker.cannotRead(seq, why)
        live[seq] = nil
        for key in running.keys.sorted() where key.chain == seq { stop(key, .machine) }
        let ending = EntryDelivery.Ending.ended(.dead, reason: "corrupt: \(why)")
        guard mutation != .chainDamageOverlooked else { return delivery.end(ending, nil) }
        let notifies = notifications != nil
        var found: ChainQuarantine.Found?
        delivery.whenWritten { [weak self] in
            if let found { self?.notifications?.quarantined(found.id) }
        }
        delivery.end(ending) { [checker] transaction in
            let shipping = try shipping(transaction)
            found = try ChainQuarantine.write(
                seq, why: why, retention: .seconds(7 * 86_400), shipping.db, shipping.journal,
                notifies: { _ in notifies })
            checker.touched.insert(seq)
        }
    }

    private func remove(_ command: ChainCommand, _ delivery: SimulatedDelivery) {
        journal.write(
            { [checker, mutation] transaction -> [String] in
                let shipping = try shipping(transaction)
                let db = shipping.db
                var names: [String] = []
                // Whatever leaves: all of them are looked at, before and after.
                let before = try Row.fetchAll(db, sql: "SELECT seq, id, state FROM chain")
                if command.command == .delete {
                    if mutation == .chainDeletesOpen {
                        try db.execute(
                            sql: "DELETE FROM chain WHERE id = ?", arguments: [command.chain])
                    }
                    if case .removed(let files) = try ChainRemoval.remove(command.chain, db) {
                        names = files
                    }
                } else {
                    let age = Duration.seconds(command.seconds ?? 0)
                    names = try ChainRemoval.page(
                        after: .min, endedBefore: shipping.journal.now.advanced(by: .zero - age),
                        db
                    ).files
                }
                for row in before {
                    let (seq, id, state): (Int64, String, Int) = (row[0], row[1], row[2])
                    checker.touched.insert(seq)
                    guard try ChainReading.seq(of: id, db) == nil else { continue }
                    checker.leaves(id, in: ChainState(rawValue: state) ?? .quarantined)
                }
                if mutation == .chainNumberAgain { try db.execute(sql: "DELETE FROM chainNumber") }
                return names
            },
            then: { [self] (result: Result<[String], any Error>) in
                switch result {
                case .success(let names):
                    guard names.isEmpty || process.survives("removing files") else { return }
                    files.remove(names)
                    delivery.end(.applied, nil)
                    notifications?.removed()
                case .failure(let error):
                    delivery.end(.failed(DispatchFailure.notReady("\(error)")), nil)
                }
            })
    }

    private func isTaken(_ name: String, _ chain: LiveChain) throws -> Bool {
        let others = try journal.read {
            try ChainReading.goingOn(named: name, but: chain.row.seq, shipping($0).db)
        }
        return chain.isTaken(name, by: others, live)
    }

    private func forgetRunning(of chain: LiveChain) {
        for key in running.keys.sorted() where key.chain == chain.row.seq {
            running[key] = nil
            _ = chain.machine.requeued(key.place)
        }
    }
}
