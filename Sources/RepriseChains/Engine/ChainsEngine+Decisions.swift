import Foundation
import GRDB
import RepriseCore
import RepriseJournal

/// From what the machine decided to what is written.
extension ChainsEngine {
    func carryOut(
        _ actions: [ChainMachine.Action], of chain: LiveChain, into writes: inout ChainWrites
    ) async {
        var left = actions[...]
        while let action = left.popFirst() {
            switch action {
            case .intend(let place): left += await intend(place, of: chain, &writes)
            case .undo(let place): left += await undo(place, of: chain, &writes)
            case .stop(let place): stopForMachine(place, of: chain)
            case .withdraw(let place):
                let row = chain.tasks[place]
                writes.withdrawn += [
                    ChainWrites.entryID(chain.row.id, place: place, round: row.round),
                    Self.lateID(chain, place),
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

    /// How a row says that what it waited for is there.
    static let released = "released"

    static func lateID(_ chain: LiveChain, _ place: Int) -> String {
        "\(chain.row.id)/late/\(place)/\(chain.tasks[place].round)"
    }

    private func intend(_ place: Int, of chain: LiveChain, _ writes: inout ChainWrites) async
        -> [ChainMachine.Action]
    {
        guard let plan = chain.plan else { return [] }
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
                input = try await makeInput(task.input, of: chain, task.name)
            } catch {
                return cannotBegin(place, of: chain, error, &writes)
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

    private func cannotBegin(
        _ place: Int, of chain: LiveChain, _ error: any Error, _ writes: inout ChainWrites
    ) -> [ChainMachine.Action] {
        if let error = error as? ChainRow.Broken { return broken(error, of: chain, &writes) }
        note(error)
        let reason = "The input cannot be made: \(error)"
        writes.changes.append(
            (place, .ended(.failed, output: nil, attempts: 0, started: nil, error: reason)))
        writes.reason = "\(chain.tasks[place].name): \(reason)"
        return chain.machine.ended(place, as: .failed)
    }

    /// The chain alone is taken out of the way.
    private func broken(
        _ error: ChainRow.Broken, of chain: LiveChain, _ writes: inout ChainWrites
    ) -> [ChainMachine.Action] {
        writes.reason = "corrupt: \(error)"
        for key in running.keys where key.chain == chain.row.seq { stop(key, .machine) }
        return chain.machine.quarantined()
    }

    private func wait(
        _ target: WaitTarget, _ place: Int, of chain: LiveChain, _ isFirst: Bool,
        _ writes: inout ChainWrites
    ) -> [ChainMachine.Action] {
        if case .readiness(let name) = target, journal.isOpen(Readiness(name)) {
            return arrived(place, of: chain, &writes)
        }
        if chain.tasks[place].hold == Self.released {
            // It came while the chain could not go on.
            return arrived(place, of: chain, &writes)
        }
        chain.tasks[place].hold = target.text
        if case .entry(let kind) = target { awaited.insert(kind) }
        let deadline = chain.tasks[place].deadline
        writes.changes.append(
            (place, .held(target.text, isUndo: false, attempts: 0, deadline: deadline)))
        if isFirst { remindOfDeadline(place, of: chain, &writes) }
        return chain.machine.held(place, isUndo: false)
    }

    /// Somebody has to look at a task that waits when it is late: nobody runs it.
    func remindOfDeadline(_ place: Int, of chain: LiveChain, _ writes: inout ChainWrites) {
        guard let deadline = chain.tasks[place].deadline else { return }
        writes.commands.append(
            (
                ChainCommand(.late, chain: chain.row.id, task: chain.tasks[place].name),
                id: Self.lateID(chain, place), delay: clock.wall().duration(to: deadline)
            ))
    }

    /// What a step waited for is there.
    func arrived(_ place: Int, of chain: LiveChain, _ writes: inout ChainWrites)
        -> [ChainMachine.Action]
    {
        chain.tasks[place].hold = nil
        writes.changes.append(
            (place, .ended(.succeeded, output: nil, attempts: 0, started: nil, error: nil)))
        if chain.tasks[place].deadline != nil { writes.withdrawn.append(Self.lateID(chain, place)) }
        return chain.machine.ended(place, as: .succeeded)
    }

    private func undo(_ place: Int, of chain: LiveChain, _ writes: inout ChainWrites) async
        -> [ChainMachine.Action]
    {
        guard let task = chain.plan?.tasks[place], let undo = task.undo else { return [] }
        do {
            let input = try await makeInput(undo.input, of: chain, task.name)
            chain.tasks[place].failures = 0
            writes.changes.append((place, .failure(count: 0, error: "", isUndo: true)))
            keepIntent(place, of: chain, input, isUndo: true, isFirst: false, &writes)
            return []
        } catch let error as ChainRow.Broken {
            return broken(error, of: chain, &writes)
        } catch {
            writes.changes.append((place, .undone(.failed, error: "undo: \(error)")))
            return chain.machine.undone(place, .failed)
        }
    }

    // MARK: Inputs

    /// The closure says which outputs it wants by asking for them; what is not in memory is read, and it is asked again.
    private func makeInput(
        _ make: @Sendable (ChainOutputs) throws -> [UInt8], of chain: LiveChain, _ name: String
    ) async throws -> [UInt8] {
        let wanted = WantedOutputs(in: chain)
        while true {
            let result = Result { try make(ChainOutputs { try wanted.find($0) }) }
            guard let missing = wanted.missing else {
                let input = try result.get()
                guard input.count <= ChainsLimits.inputBytes else {
                    throw RepriseError(.tooLarge, "The input has \(input.count) bytes.")
                }
                return input
            }
            try await fetch(missing, of: chain, into: wanted)
        }
    }

    private func fetch(_ name: String, of chain: LiveChain, into wanted: WantedOutputs) async throws
    {
        guard let place = chain.place(of: name), chain.machine.slots[place].state == .succeeded
        else {
            throw RepriseError(.malformed, "The task \(name) has made nothing yet.")
        }
        wanted.missing = nil
        if let recent = chain.recent[place] {
            wanted.known[name] = try files.read(recent)
            return
        }
        // Its neighbours are likely to be asked for next.
        let step = chain.machine.slots[place].step
        let first = chain.tasks[..<place].lastIndex { $0.slot.step != step }.map { $0 + 1 } ?? 0
        let end = chain.tasks[place...].firstIndex { $0.slot.step != step } ?? chain.tasks.count
        let seq = chain.row.seq
        let found = try await journal.read { try ChainReading.outputs(seq, first..<end, $0) }
        for (other, output) in found where other == place || output.file == nil {
            wanted.known[chain.tasks[other].name] = try files.read(output)
        }
        guard wanted.known[name] != nil else {
            throw ChainRow.Broken(description: "the output of \(name) is missing")
        }
    }

    // MARK: The chain as a whole

    /// Does what there is to do as things stand; the entry is of no use beyond that.
    func look(_ chain: LiveChain, _ lent: Lent) async {
        var writes = chain.writes()
        await carryOut(chain.machine.decide(), of: chain, into: &writes)
        settle(lent, as: .ended(.superseded, reason: "It was decided about otherwise."), writes)
    }

    /// It cannot go on with this version of the app; that is seen, and nothing is dropped.
    func park(_ chain: LiveChain, _ lent: Lent, holding payload: IntentPayload? = nil) async {
        var writes = chain.writes()
        writes.reason = chain.trouble
        let actions = chain.machine.parked()
        await carryOut(actions, of: chain, into: &writes)
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
}

/// The outputs that a closure has asked for.
///
/// Used by one closure at a time, on the engine.
private final class WantedOutputs: @unchecked Sendable {  // never leaves the call that made it
    var known: [String: [UInt8]] = [:]
    var missing: String?
    private let chain: LiveChain

    init(in chain: LiveChain) { self.chain = chain }

    func find(_ name: String) throws -> [UInt8] {
        if let bytes = known[name] { return bytes }
        if let bytes = chain.place(of: name).flatMap({ chain.outputs[$0] }) { return bytes }
        missing = name
        throw ChainOutputs.Missing(name: name)
    }
}
