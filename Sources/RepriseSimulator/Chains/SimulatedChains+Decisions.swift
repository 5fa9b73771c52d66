import RepriseChains
import RepriseCore
import RepriseJournal

/// From what the machine decided to what is written. Transcribed of `ChainsEngine+Decisions.swift`.
extension SimulatedChains {
    func carryOut(
        _ actions: [ChainMachine.Action], of chain: LiveChain, into writes: inout ChainWrites
    ) {
        var left = actions[...]
        while let action = left.popFirst() {
            switch action {
            case .intend(let place): left += intend(place, of: chain, &writes)
            case .undo(let place): left += undo(place, of: chain, &writes)
            case .stop(let place): stopForMachine(place, of: chain)
            case .withdraw(let place):
                let row = chain.tasks[place]
                writes.withdrawn += [
                    ChainWrites.entryID(chain.row.id, place: place, round: row.round),
                    lateID(chain, place),
                ]
                writes.changes.append(
                    (
                        place,
                        .ended(
                            .cancelled, output: nil, attempts: row.attempts, started: nil,
                            error: nil)
                    ))
            case .reset(let place):
                chain.tasks[place].failures = 0
                chain.tasks[place].round += 1
                (chain.tasks[place].deadline, chain.tasks[place].intendedAt) = (nil, nil)
                chain.tasks[place].hasInput = false
                writes.changes.append((place, .reset))
            case .become(let state): writes.state = state
            }
        }
    }

    private func lateID(_ chain: LiveChain, _ place: Int) -> String {
        "\(chain.row.id)/late/\(place)/\(chain.tasks[place].round)"
    }

    private func intend(_ place: Int, of chain: LiveChain, _ writes: inout ChainWrites)
        -> [ChainMachine.Action]
    {
        guard let plan = chain.plan, plan.tasks.indices.contains(place) else { return [] }
        let task = plan.tasks[place]
        let isFirst = chain.tasks[place].intendedAt == nil
        if isFirst {
            let now = clock.wall()
            chain.tasks[place].intendedAt = now
            chain.tasks[place].deadline = task.deadline.map { now.advanced(by: $0) }
        }
        if let wait = task.wait { return self.wait(wait, place, of: chain, isFirst, &writes) }
        var input: [UInt8]?
        if !chain.tasks[place].hasInput {
            do {
                input = try makeInput(task.input, of: chain)
            } catch {
                let reason = "The input cannot be made: \(error)"
                writes.changes.append(
                    (
                        place,
                        .ended(.failed, output: nil, attempts: 0, started: nil, error: reason)
                    ))
                writes.reason = "\(chain.tasks[place].name): \(reason)"
                return chain.machine.ended(place, as: .failed)
            }
        }
        keepIntent(place, of: chain, input, isUndo: false, isFirst: isFirst, &writes)
        return []
    }

    private func keepIntent(
        _ place: Int, of chain: LiveChain, _ input: [UInt8]?, isUndo: Bool, isFirst: Bool,
        _ writes: inout ChainWrites
    ) {
        chain.tasks[place].round += 1
        chain.tasks[place].hold = nil
        if let input {
            chain.inputs[place] = input
            chain.tasks[place].hasInput = true
        }
        writes.intents.append(
            ChainWrites.Intent(
                place: place, isUndo: isUndo, round: chain.tasks[place].round, input: input,
                deadline: chain.tasks[place].deadline, isFirst: isFirst))
    }

    private func wait(
        _ target: WaitTarget, _ place: Int, of chain: LiveChain, _ isFirst: Bool,
        _ writes: inout ChainWrites
    ) -> [ChainMachine.Action] {
        if case .readiness(let name) = target, isOpen(Readiness(name)) {
            return arrived(place, of: chain, &writes)
        }
        if chain.tasks[place].hold == "released" { return arrived(place, of: chain, &writes) }
        chain.tasks[place].hold = target.text
        if case .entry(let kind) = target { awaited.insert(kind) }
        let deadline = chain.tasks[place].deadline
        writes.changes.append(
            (place, .held(target.text, isUndo: false, attempts: 0, deadline: deadline)))
        if isFirst, let deadline {
            writes.commands.append(
                (
                    ChainCommand(.late, chain: chain.row.id, task: chain.tasks[place].name),
                    id: lateID(chain, place), delay: clock.wall().duration(to: deadline)
                ))
        }
        return chain.machine.held(place, isUndo: false)
    }

    func arrived(_ place: Int, of chain: LiveChain, _ writes: inout ChainWrites)
        -> [ChainMachine.Action]
    {
        chain.tasks[place].hold = nil
        writes.changes.append(
            (place, .ended(.succeeded, output: nil, attempts: 0, started: nil, error: nil)))
        if chain.tasks[place].deadline != nil { writes.withdrawn.append(lateID(chain, place)) }
        return chain.machine.ended(place, as: .succeeded)
    }

    private func undo(_ place: Int, of chain: LiveChain, _ writes: inout ChainWrites)
        -> [ChainMachine.Action]
    {
        let place = mutation == .chainUndoInOrderOfStart ? oldest(insteadOf: place, chain) : place
        guard let undo = chain.plan?.tasks[place].undo else { return [] }
        do {
            let input = try makeInput(undo.input, of: chain)
            chain.tasks[place].failures = 0
            writes.changes.append((place, .failure(count: 0, error: "", isUndo: true)))
            keepIntent(place, of: chain, input, isUndo: true, isFirst: false, &writes)
            return []
        } catch {
            writes.changes.append((place, .undone(.failed, error: "undo: \(error)")))
            return chain.machine.undone(place, .failed)
        }
    }

    /// The mutation `chainUndoInOrderOfStart`.
    private func oldest(insteadOf place: Int, _ chain: LiveChain) -> Int {
        var slots = chain.machine.slots
        let first = slots.firstIndex {
            $0.canUndo && $0.state == .succeeded && $0.undo == .none
        }
        guard let first, first < place else { return place }
        (slots[first].undo, slots[place].undo) = (.intended, .none)
        chain.machine = ChainMachine(state: chain.machine.state, slots: slots)
        return first
    }

    // MARK: Inputs

    private func makeInput(
        _ make: @Sendable (ChainOutputs) throws -> [UInt8], of chain: LiveChain
    ) throws -> [UInt8] {
        var known: [String: [UInt8]] = [:]
        let seq = chain.row.seq
        let found = try journal.read {
            try ChainReading.outputs(seq, 0..<chain.tasks.count, shipping($0).db)
        }
        for (place, output) in found { known[chain.tasks[place].name] = output.bytes }
        for (place, output) in chain.recent { known[chain.tasks[place].name] = output.bytes }
        for (place, bytes) in chain.outputs { known[chain.tasks[place].name] = bytes }
        let outputs = known
        return try make(
            ChainOutputs { name in
                guard let bytes = outputs[name] else { throw ChainOutputs.Missing(name: name) }
                return bytes
            })
    }

    // MARK: The chain as a whole

    func look(_ chain: LiveChain, _ lent: SimulatedLent) {
        var writes = chain.writes()
        carryOut(chain.machine.decide(), of: chain, into: &writes)
        settle(lent, as: .ended(.superseded, reason: "It was decided about otherwise."), writes)
    }

    func park(_ chain: LiveChain, _ lent: SimulatedLent, holding payload: IntentPayload? = nil) {
        var writes = chain.writes()
        writes.reason = chain.trouble
        carryOut(chain.machine.parked(), of: chain, into: &writes)
        writes.state = .parked
        if let payload, chain.tasks.indices.contains(payload.place),
            chain.tasks[payload.place].round == payload.round,
            chain.machine.handedOver(payload.place, isUndo: payload.isUndo) != .stale
        {
            chain.tasks[payload.place].hold = "parked"
            writes.changes.append(
                (
                    payload.place,
                    .held(
                        "parked", isUndo: payload.isUndo,
                        attempts: chain.tasks[payload.place].attempts + lent.entry.attempt,
                        deadline: nil)
                ))
            _ = chain.machine.held(payload.place, isUndo: payload.isUndo)
        }
        writes.log.append((nil, "Parked: \(chain.trouble ?? "")"))
        settle(lent, as: .ended(.superseded, reason: "parked"), writes)
    }

    // MARK: Commands

    func obey(_ lent: SimulatedLent) {
        guard let command = try? ChainCommand(lent.entry.payload) else {
            return lent.end(.failed(HandOverFailure.permanent("malformed")), nil)
        }
        do {
            let seq = try journal.read { try ChainReading.seq(of: command.chain, shipping($0).db) }
            guard let seq, let chain = try chain(seq) else {
                return lent.end(.failed(HandOverFailure.permanent("No chain has this id.")), nil)
            }
            if try isNameTaken(for: command.command, of: chain) {
                let outcome: Outcome = command.command == .begin ? .superseded : .dead
                return lent.end(.ended(outcome, reason: "Another chain of its name goes on."), nil)
            }
            obey(command, chain, lent)
        } catch {
            witness.violated(.recorded, "a chain cannot be read: \(error)")
        }
    }

    private func isNameTaken(for verb: ChainCommand.Verb, of chain: LiveChain) throws -> Bool {
        guard verb == .begin || verb == .retry, let name = chain.row.name,
            chain.machine.state == .queued || chain.machine.state.isEnd
        else { return false }
        let seq = chain.row.seq
        let others = try journal.read {
            try ChainReading.goingOn(named: name, but: seq, shipping($0).db)
        }
        return others.contains { live[$0]?.machine.state.isEnd != true }
            || live.values.contains {
                $0.row.name == name && $0.row.seq != seq && !$0.machine.state.isEnd
                    && $0.machine.state != .queued
            }
    }

    private func obey(_ command: ChainCommand, _ chain: LiveChain, _ lent: SimulatedLent) {
        simulation.trace(process.name, "\(command.command) \(chain.row.id) \(command.task ?? "")")
        var writes = chain.writes()
        let actions: [ChainMachine.Action]
        if chain.trouble != nil,
            [.resume, .retry, .begin, .look, .release].contains(command.command),
            !chain.machine.state.isEnd, chain.machine.state != .queued || command.command == .begin
        {
            if command.command == .release, let place = command.task.flatMap(chain.place(of:)) {
                chain.tasks[place].hold = "released"
            }
            return park(chain, lent)
        }
        switch command.command {
        case .pause: actions = chain.machine.paused()
        case .resume: actions = chain.machine.resumed()
        case .cancel:
            writes.reason = "It was cancelled."
            if mutation == .chainCancelForgetsRunning { forgetRunning(of: chain) }
            actions = chain.machine.cancelled()
        case .retry:
            guard chain.plan != nil else {
                return lent.end(.failed(HandOverFailure.permanent("It cannot go on.")), nil)
            }
            actions = chain.machine.retried()
        case .begin: actions = chain.machine.begun()
        case .look:
            actions =
                chain.machine.state == .parked ? chain.machine.resumed() : chain.machine.decide()
        case .release: actions = released(command.task, chain, &writes)
        case .late: actions = late(command.task, chain, &writes)
        }
        carryOut(actions, of: chain, into: &writes)
        settle(lent, as: .applied, writes)
    }

    private func forgetRunning(of chain: LiveChain) {
        for key in running.keys.sorted() where key.chain == chain.row.seq {
            running[key] = nil
            _ = chain.machine.handedBack(key.place)
        }
    }

    private func released(_ name: String?, _ chain: LiveChain, _ writes: inout ChainWrites)
        -> [ChainMachine.Action]
    {
        guard let name, let place = chain.place(of: name) else { return [] }
        let isWait = chain.plan?.tasks[place].wait != nil
        if isWait, chain.machine.slots[place].state == .held {
            return arrived(place, of: chain, &writes)
        }
        return chain.machine.released(place)
    }

    private func late(_ name: String?, _ chain: LiveChain, _ writes: inout ChainWrites)
        -> [ChainMachine.Action]
    {
        guard let name else {
            writes.reason = "timedOut: It was not done in time."
            return chain.machine.failed()
        }
        guard let place = chain.place(of: name), chain.machine.slots[place].state == .held else {
            return []
        }
        let reason = "timedOut: What it waits for did not come in time."
        writes.changes.append(
            (place, .ended(.failed, output: nil, attempts: 0, started: nil, error: reason)))
        writes.reason = "\(chain.tasks[place].name): \(reason)"
        return chain.machine.ended(place, as: .failed)
    }
}
