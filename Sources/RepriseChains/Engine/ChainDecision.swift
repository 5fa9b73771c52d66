import DequeModule
import RepriseCore
package import RepriseJournal

/// The decisions about one chain after one event: the entry's end, the writes with it, and the
/// workers to cancel.
///
/// It performs no I/O. ``next()`` names the outputs it needs; its driver reads them and calls
/// ``supply(_:)``. The engine and the simulation drive the same decisions, so the tested code is
/// the shipping code.
package struct ChainDecision {
    /// Outputs that the input of a task takes.
    package struct Need: Sendable {
        package let chain: Int64
        package let place: Int
        /// Its neighbours, which are likely to be asked for next.
        package let places: Range<Int>
        /// It was made and may not be in its row yet.
        package let recent: StoredOutput?
    }

    /// An input that is being made.
    private struct Making {
        var place: Int
        var isCompensation: Bool
        var isFirst: Bool
        var known: [String: [UInt8]] = [:]
        var need: Need?
    }

    package let chain: LiveChain
    package let ending: EntryDelivery.Ending
    /// Only the end of the entry is written.
    package let isBare: Bool
    package var writes: ChainWrites
    /// Places whose workers should stop.
    package private(set) var stops: [Int] = []
    /// The chain is out of the way: all its workers should stop.
    package private(set) var stopsAll = false
    /// Kinds of entries with a waiting task from now on.
    package private(set) var awaited: Set<String> = []
    /// The error of reading.
    package private(set) var trouble: (any Error)?
    let facts: ChainFacts
    private var left: Deque<ChainMachine.Action> = []
    private var making: Making?
    /// What tasks of this step have decided, which becomes tasks together.
    private var decided: [(place: Int, json: [UInt8])] = []

    init(
        _ chain: LiveChain, _ ending: EntryDelivery.Ending, _ facts: ChainFacts,
        isBare: Bool = false
    ) {
        (self.chain, self.ending, self.facts, self.isBare) = (chain, ending, facts, isBare)
        let row = chain.row
        writes = isBare ? ChainWrites(chain: row.seq, id: row.id, name: row.name) : chain.writes()
    }

    /// The row's mark of a released wait.
    package static let released = "released"

    static func lateID(_ chain: LiveChain, _ place: Int) -> String {
        "\(chain.row.id)/late/\(place)/\(chain.tasks[place].round)"
    }

    // MARK: Carrying out

    mutating func add(_ actions: [ChainMachine.Action]) { left += actions }

    /// Continues until it is done, or needs outputs.
    ///
    /// - Returns: the needed outputs; nil: it is done.
    package mutating func next() -> Need? {
        while true {
            if let need = make() { return need }
            if !left.isEmpty {
                carryOut(left.removeFirst())
            } else if decided.isEmpty {
                return nil
            } else {
                expand()
            }
        }
    }

    /// The outputs that ``next()`` requested.
    package mutating func supply(_ outputs: Result<[Int: [UInt8]], any Error>) {
        guard let making, let need = making.need else { return }
        do {
            let outputs = try outputs.get()
            guard outputs[need.place] != nil else {
                let name = chain.tasks[need.place].name
                throw ChainRow.Broken(description: "the output of \(name) is missing")
            }
            for (place, bytes) in outputs { self.making?.known[chain.tasks[place].name] = bytes }
            self.making?.need = nil
        } catch {
            cannotMake(making, error)
        }
    }

    private mutating func carryOut(_ action: ChainMachine.Action) {
        switch action {
        case .intend(let place): intend(place)
        case .compensation(let place):
            guard chain.plan?.tasks[place].compensation != nil else { return }
            making = Making(place: place, isCompensation: true, isFirst: false)
        case .stop(let place): stops.append(place)
        case .withdraw(let place):
            writes.withdrawn += chain.entries(of: place)
            end(place, .cancelled)
        case .reset(let place, let isTakenBack):
            if isTakenBack { chain.tasks[place].takenBack += 1 }
            (chain.tasks[place].failures, chain.tasks[place].compensationAttempts) = (0, 0)
            chain.tasks[place].round += 1
            (chain.tasks[place].deadline, chain.tasks[place].intendedAt) = (nil, nil)
            chain.tasks[place].hasInput = false
            writes.changes.append((place, .reset))
        case .become(let state): writes.state = state
        }
    }

    mutating func end(
        _ place: Int, _ state: TaskState, output: StoredOutput? = nil, attempts: Int? = nil,
        started: WallTime? = nil, error: String? = nil
    ) {
        if let attempts { chain.tasks[place].attempts = attempts }
        let attempts = chain.tasks[place].attempts
        writes.changes.append(
            (
                place,
                .ended(state, output: output, attempts: attempts, started: started, error: error)
            ))
    }

    // MARK: Intents

    private mutating func intend(_ place: Int) {
        guard let plan = chain.plan else { return }
        let task = plan.tasks[place]
        let isFirst = chain.tasks[place].intendedAt == nil
        if isFirst {
            let now = facts.wall()
            chain.tasks[place].intendedAt = now
            chain.tasks[place].deadline = task.deadline.map { now.advanced(by: $0) }
        }
        if let wait = task.wait { return self.wait(wait, place, isFirst) }
        guard !chain.tasks[place].hasInput else {
            return keepIntent(place, nil, isCompensation: false, isFirst: isFirst)
        }
        making = Making(place: place, isCompensation: false, isFirst: isFirst)
    }

    private mutating func keepIntent(
        _ place: Int, _ input: [UInt8]?, isCompensation: Bool, isFirst: Bool
    ) {
        chain.tasks[place].round += 1
        chain.tasks[place].hold = nil
        if let input {
            chain.inputs[place] = input
            chain.tasks[place].hasInput = true
        }
        writes.intents.append(
            ChainWrites.Intent(
                place: place, isCompensation: isCompensation, round: chain.tasks[place].round,
                input: input,
                deadline: chain.plan?.tasks[place].deadline, isFirst: isFirst))
    }

    private mutating func wait(_ target: WaitTarget, _ place: Int, _ isFirst: Bool) {
        if case .readiness(let name) = target, facts.isOpen(Readiness(name)) {
            return arrived(place)
        }
        // It came while the chain could not continue.
        if chain.tasks[place].hold == Self.released { return arrived(place) }
        chain.tasks[place].hold = target.text
        if case .entry(let kind) = target { awaited.insert(kind) }
        let deadline = isFirst ? chain.plan?.tasks[place].deadline : nil
        writes.changes.append(
            (place, .held(target.text, isCompensation: false, attempts: 0, deadline: deadline)))
        if let deadline { remind(place, after: deadline) }
        add(chain.machine.held(place, isCompensation: false))
    }

    /// Sets a timer for a waiting task's deadline, as no worker runs it.
    mutating func remindOfDeadline(_ place: Int) {
        guard let deadline = chain.tasks[place].deadline else { return }
        remind(place, after: facts.wall().duration(to: deadline))
    }

    private mutating func remind(_ place: Int, after wait: Duration) {
        writes.commands.append(
            (
                ChainCommand(.late, chain: chain.row.id, task: chain.tasks[place].name),
                id: Self.lateID(chain, place), delay: wait
            ))
    }

    /// The condition of a wait is met.
    mutating func arrived(_ place: Int) {
        chain.tasks[place].hold = nil
        end(place, .succeeded)
        if chain.tasks[place].deadline != nil { writes.withdrawn.append(Self.lateID(chain, place)) }
        add(chain.machine.ended(place, as: .succeeded))
    }

    // MARK: Inputs

    /// The closure names outputs by requesting them; missing ones are read, and it is called again.
    private mutating func make() -> Need? {
        guard let making, let task = chain.plan?.tasks[making.place] else { return nil }
        if let need = making.need { return need }
        let wanted = WantedOutputs(in: chain, known: making.known)
        let input = making.isCompensation ? task.compensation?.input ?? task.input : task.input
        let outputs = ChainOutputs(isDone: { wanted.isDone($0) }) { try wanted.find($0) }
        let result = Result { try input(outputs) }
        do {
            if let missing = wanted.missing {
                let need = try need(for: missing)
                self.making?.need = need
                return need
            }
            let bytes = try result.get()
            guard bytes.count <= ChainsLimits.inputBytes else {
                throw RepriseError(.tooLarge, "The input has \(bytes.count) bytes.")
            }
            made(making, bytes)
        } catch {
            cannotMake(making, error)
        }
        return nil
    }

    private func need(for name: String) throws -> Need {
        guard let place = chain.place(of: name), chain.machine.slots[place].state == .succeeded
        else { throw RepriseError(.malformed, "The task \(name) has made nothing yet.") }
        let step = chain.machine.slots[place].step
        let first = chain.tasks[..<place].lastIndex { $0.slot.step != step }.map { $0 + 1 } ?? 0
        let end = chain.tasks[place...].firstIndex { $0.slot.step != step } ?? chain.tasks.count
        return Need(
            chain: chain.row.seq, place: place, places: first..<end, recent: chain.recent[place])
    }

    private mutating func made(_ task: Making, _ input: [UInt8]) {
        making = nil
        if chain.plan?.tasks[task.place].isChoice == true {
            return decided.append((task.place, input))
        }
        if task.isCompensation {
            chain.tasks[task.place].failures = 0
            writes.changes.append((task.place, .failure(count: 0, error: "", isCompensation: true)))
        }
        keepIntent(task.place, input, isCompensation: task.isCompensation, isFirst: task.isFirst)
    }

    private mutating func cannotMake(_ task: Making, _ error: any Error) {
        making = nil
        if let error = error as? ChainRow.Broken { return broken(error) }
        let place = task.place
        guard !task.isCompensation else {
            writes.changes.append((place, .compensated(.failed, error: "undo: \(error)")))
            return add(chain.machine.compensated(place, .failed))
        }
        trouble = error
        let reason = "The input cannot be made: \(error)"
        end(place, .failed, error: reason)
        writes.reason = "\(chain.tasks[place].name): \(reason)"
        add(chain.machine.ended(place, as: .failed))
    }

    // MARK: Decisions of tasks

    /// Decisions become durable together with the tasks that follow from them.
    private mutating func expand() {
        let (decided, plan) = (self.decided, chain.plan)
        self.decided = []
        guard let plan else { return }
        func deciding(_ decided: [(place: Int, json: [UInt8])]) throws -> ChainPlan {
            try plan.deciding(
                Dictionary(uniqueKeysWithValues: decided.map { (plan.tasks[$0].name, $1) }))
        }
        do {
            let new = try deciding(decided)
            writes.changes.append((0, .expanded(try chain.expand(to: new))))
            for (place, json) in decided {
                (chain.tasks[place].hasInput, chain.tasks[place].decision) = (true, json)
                writes.changes.append((place, .decided(json)))
            }
            // Its tasks are held, as with a version that lacks the worker.
            if let missing = new.missingWorker(facts.hasWorker) { chain.trouble = "\(missing)" }
            for (place, _) in decided { add(chain.machine.ended(place, as: .succeeded)) }
        } catch {
            // Of several, the one that cannot even be decided alone.
            let first = decided.first { one in (try? deciding([one])) == nil }
            guard let place = (first ?? decided.last)?.place else { return }
            cannotMake(Making(place: place, isCompensation: false, isFirst: true), error)
        }
    }

    /// The chain alone is taken out of the way.
    private mutating func broken(_ error: ChainRow.Broken) {
        writes.reason = "corrupt: \(error)"
        stopsAll = true
        add(chain.machine.quarantined())
    }
}

/// The outputs that a closure has asked for.
///
/// Used by one closure at a time, on the engine.
private final class WantedOutputs: @unchecked Sendable {  // never leaves the call that made it
    var missing: String?
    private let known: [String: [UInt8]]
    private let chain: LiveChain

    init(in chain: LiveChain, known: [String: [UInt8]]) {
        (self.chain, self.known) = (chain, known)
    }

    func isDone(_ name: String) -> Bool {
        chain.place(of: name).map { chain.machine.slots[$0].isDone } ?? false
    }

    func find(_ name: String) throws -> [UInt8] {
        if let bytes = known[name] { return bytes }
        if let bytes = chain.place(of: name).flatMap({ chain.outputs[$0] }) { return bytes }
        missing = name
        throw ChainOutputs.Missing(name: name)
    }
}
