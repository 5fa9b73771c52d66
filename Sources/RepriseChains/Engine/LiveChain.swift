import RepriseCore

/// A chain in memory, while something of it is in hand: what its rows will be when all that was
/// decided is written.
///
/// Confined to the engine.
package final class LiveChain {
    package var row: ChainRow
    package var machine: ChainMachine
    package var tasks: [TaskRow]
    /// Nil if this version of the app cannot go on with it; ``trouble`` says why.
    package var plan: ChainPlan?
    package var trouble: String?
    /// The definition is another one that is compatible: rows are to be made anew.
    package var rebuilt: ChainWrites.Rebuilt?
    /// Inputs of intents that are not taken yet, and outputs, as far as they are small.
    package var inputs: [Int: [UInt8]] = [:]
    package private(set) var outputs: [Int: [UInt8]] = [:]
    private var outputBytes = 0
    /// What was made and may not be in its row yet.
    package var recent: [Int: StoredOutput] = [:]
    /// What was decided and is not durable yet.
    package var unsettled = 0
    package var lastUse: UInt64 = 0
    /// The calendar was set while something was decided and not durable: the deadlines of that are
    /// read once it is.
    package var isCalendarOld = false
    private lazy var places = Dictionary(
        tasks.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })

    package init(row: ChainRow, tasks: [TaskRow], plan: Result<ChainPlan, any Error>) {
        self.row = row
        self.tasks = tasks
        machine = ChainMachine(state: row.state, slots: [])
        do {
            let plan = try plan.get()
            // What has succeeded stays as it was done, whatever its definition is now.
            if plan.hash == row.hash || row.state != .succeeded {
                self.plan = plan
                if plan.hash != row.hash { adapt(to: plan) }
                for place in self.tasks.indices {
                    self.tasks[place].slot.canUndo = plan.tasks[place].undo != nil
                }
            }
        } catch {
            trouble = "\(error)"
        }
        machine = ChainMachine(state: row.state, slots: self.tasks.map(\.slot))
    }

    package var isIdle: Bool { unsettled == 0 && !machine.isInHand }

    /// Places that wait for something, and would go on at once if it were there.
    package var held: [Int] {
        switch machine.state {
        case .running: machine.currentPlaces.filter { machine.slots[$0].state == .held }
        case .failing, .cancelling:
            machine.undoPlace.map { [$0] }?.filter { machine.slots[$0].undo == .held } ?? []
        case .queued, .paused, .parked, .succeeded, .failed, .cancelled, .quarantined: []
        }
    }

    package func place(of name: String) -> Int? { places[name] }

    /// What the effect of a task is known by, or the taking back of it: the same at every attempt.
    ///
    /// Done again after it was taken back, it is another effect.
    package func key(of place: Int, isUndo: Bool) -> String {
        let row = tasks[place]
        // No name makes the key of another task.
        let name = row.name.replacing("%", with: "%25").replacing("/", with: "%2F")
        let again = row.takenBack > 0 ? "/\(row.takenBack + 1)" : ""
        return "\(self.row.id)/\(name)\(again)\(isUndo ? "/undo" : "")"
    }

    /// The attempts of intents before the one that stands.
    package func attempts(of place: Int, isUndo: Bool) -> Int {
        isUndo ? tasks[place].undoAttempts : tasks[place].attempts
    }

    package func writes() -> ChainWrites {
        var writes = ChainWrites(chain: row.seq, id: row.id, name: row.name)
        writes.rebuilt = rebuilt
        rebuilt = nil
        return writes
    }

    /// The calendar was set, and the rows have moved with it: a wait keeps its length.
    ///
    /// Read, not moved by as much again: who hears of it late, or has loaded the chain meanwhile,
    /// has them right all the same.
    package func calendarSet(_ read: ChainReading.Deadlines) {
        row.deadline = read.chain
        for place in tasks.indices where tasks[place].deadline != nil {
            tasks[place].deadline = read.tasks[tasks[place].name] ?? tasks[place].deadline
        }
        isCalendarOld = unsettled > 0
    }

    package func keep(_ output: [UInt8], of place: Int) {
        guard output.count <= ChainsLimits.inlineBytes else { return }
        if outputBytes > ChainsLimits.outputsInMemory { (outputs, outputBytes) = ([:], 0) }
        outputs[place] = output
        outputBytes += output.count
    }

    /// Tasks are known by their names.
    private func adapt(to plan: ChainPlan) {
        let former = Dictionary(
            tasks.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        // No intent of before has a number like those to come.
        let round = (tasks.map(\.round).max() ?? 0) + 1
        tasks = plan.tasks.enumerated().map { place, task in
            var row =
                former[task.name]
                ?? TaskRow(name: task.name, slot: ChainMachine.Slot(step: plan.steps[place]))
            row.slot.step = plan.steps[place]
            row.round = round
            // An intent of before names another place.
            if row.slot.state == .intended || row.slot.state == .held && task.wait == nil {
                row.slot.state = .blocked
            }
            if row.slot.undo == .intended || row.slot.undo == .held { row.slot.undo = .none }
            return row
        }
        rebuilt = ChainWrites.Rebuilt(
            version: 0, hash: plan.hash, round: round,
            tasks: plan.tasks.enumerated().map { ($1.name, $1.worker, plan.steps[$0]) })
    }
}
