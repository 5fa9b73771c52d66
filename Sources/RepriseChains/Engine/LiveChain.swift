import RepriseCore

/// A chain in memory while part of it is in flight: the state of its rows after all decided writes.
///
/// Confined to the engine.
package final class LiveChain {
    package var row: ChainRow
    package var machine: ChainMachine
    package var tasks: [TaskRow]
    /// Nil if this version of the app cannot continue it; ``trouble`` says why.
    package var plan: ChainPlan?
    package var trouble: String?
    /// The definition is another one that is compatible: rows are to be made anew.
    package var rebuilt: ChainWrites.Rebuilt?
    /// Inputs of intents that are not taken yet, and outputs, as far as they are small.
    package var inputs: [Int: [UInt8]] = [:]
    package private(set) var outputs: [Int: [UInt8]] = [:]
    private var outputBytes = 0
    /// Outputs that may not be in their rows yet.
    package var recent: [Int: StoredOutput] = [:]
    /// Decisions that are not durable yet.
    package var unsettled = 0
    package var lastUse: UInt64 = 0
    /// The calendar was set while a decision was not durable: its deadlines are read once it is.
    package var isCalendarOld = false
    /// Its end is to be shown as a notification.
    package var notifies = false
    /// The state that the log has.
    package var logged: ChainState?
    /// The places of the tasks, once somebody has asked.
    private var places: [String: Int]?

    package init(row: ChainRow, tasks: [TaskRow], plan: Result<ChainPlan, any Error>) {
        self.row = row
        self.tasks = tasks
        machine = ChainMachine(state: row.state, slots: [])
        do {
            let plan = try plan.get()
            // Succeeded tasks stay as they are, whatever the definition says now.
            if plan.hash == row.hash || row.state != .succeeded {
                self.plan = plan
                if plan.hash != row.hash { adapt(to: plan) }
                for place in self.tasks.indices {
                    self.tasks[place].slot.canCompensate = plan.tasks[place].compensation != nil
                }
            }
        } catch {
            trouble = "\(error)"
        }
        machine = ChainMachine(state: row.state, slots: self.tasks.map(\.slot))
    }

    package var isIdle: Bool { unsettled == 0 && !machine.isInFlight }

    /// Places that wait for a condition, and would run at once if it were met.
    package var held: [Int] {
        switch machine.state {
        case .running: machine.currentPlaces.filter { machine.slots[$0].state == .held }
        case .failing, .cancelling:
            machine.compensationPlace.map { [$0] }?.filter {
                machine.slots[$0].compensation == .held
            } ?? []
        case .queued, .paused, .suspended, .succeeded, .failed, .cancelled, .quarantined: []
        }
    }

    package func place(of name: String) -> Int? {
        let known =
            places
            ?? Dictionary(
                tasks.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
        places = known
        return known[name]
    }

    /// The idempotency key of a task or its compensation: the same at every attempt.
    ///
    /// A task repeated after its compensation has a new key.
    package func key(of place: Int, isCompensation: Bool) -> String {
        Self.key(of: tasks[place], in: row.id, isCompensation: isCompensation)
    }

    static func key(of task: TaskRow, in chain: String, isCompensation: Bool) -> String {
        let own = Self.key(of: task.name, in: chain, takenBack: task.takenBack)
        return isCompensation ? "\(own)/undo" : own
    }

    static func key(of task: String, in chain: String, takenBack: Int) -> String {
        // No name makes the key of another task.
        let name = task.replacing("%", with: "%25").replacing("/", with: "%2F")
        return "\(chain)/\(name)\(takenBack > 0 ? "/\(takenBack + 1)" : "")"
    }

    /// The attempts of earlier intents.
    package func attempts(of place: Int, isCompensation: Bool) -> Int {
        isCompensation ? tasks[place].compensationAttempts : tasks[place].attempts
    }

    package func writes() -> ChainWrites {
        var writes = ChainWrites(chain: row.seq, id: row.id, name: row.name)
        (writes.rebuilt, writes.notifies) = (rebuilt, notifies)
        rebuilt = nil
        return writes
    }

    /// The calendar was set, and the rows have moved with it: a wait keeps its length.
    ///
    /// Read again rather than moved by the step, so a late or repeated call is correct too.
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

    /// What was decided becomes tasks, behind the step that has decided it.
    ///
    /// - Throws: if the definition has made other tasks than before.
    package func expand(to new: ChainPlan) throws -> ChainWrites.Expansion {
        let (rows, slots) = (tasks, machine.slots)
        let former = Dictionary(
            rows.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
        // No earlier intent has a number of the following ones.
        let round = rows.map(\.round).max() ?? 0
        var expansion = ChainWrites.Expansion(hash: new.hash, round: round, count: new.tasks.count)
        var moves: [Int: Int] = [:]
        let expanded = new.tasks.enumerated().map { place, task -> TaskRow in
            let step = new.steps[place]
            guard let before = former[task.name] else {
                expansion.added.append((place, task.name, task.worker, step))
                var row = TaskRow(name: task.name, slot: ChainMachine.Slot(step: step))
                row.slot.canCompensate = task.compensation != nil
                (row.round, row.isWait) = (round, task.worker == nil)
                return row
            }
            var row = rows[before]
            row.slot = slots[before]
            moves[before] = place
            guard before != place || row.slot.step != step else { return row }
            expansion.moved.append((before, place, step))
            (row.slot.step, row.round) = (step, round)
            return row
        }
        guard moves.count == rows.count else {
            throw RepriseError(
                .malformed, "\(self.row.definition) makes other tasks each time.",
                remedy: "Make the steps of an input and a decision always the same.")
        }
        func moved<T>(_ values: [Int: T]) -> [Int: T] {
            Dictionary(
                values.map { (moves[$0] ?? $0, $1) }, uniquingKeysWith: { first, _ in first })
        }
        (inputs, outputs, recent) = (moved(inputs), moved(outputs), moved(recent))
        (tasks, plan, places) = (expanded, new, nil)
        machine = ChainMachine(state: machine.state, slots: tasks.map(\.slot))
        return expansion
    }

    /// Tasks are known by their names.
    private func adapt(to plan: ChainPlan) {
        let former = Dictionary(
            tasks.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        // No earlier intent has a number of the following ones.
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
            if row.slot.compensation == .intended || row.slot.compensation == .held {
                row.slot.compensation = .none
            }
            return row
        }
        rebuilt = ChainWrites.Rebuilt(
            version: 0, hash: plan.hash, round: round,
            tasks: plan.tasks.enumerated().map { ($1.name, $1.worker, plan.steps[$0]) })
    }

    // MARK: Names and ends

    /// The name that it must have alone to do this.
    package func nameWanted(for verb: ChainCommand.Verb) -> String? {
        guard verb == .begin || verb == .retry,
            machine.state == .queued || machine.state.isEnd
        else { return nil }
        return row.name
    }

    /// Whether another open chain has this name; its end starts the next, and a retry waits for it
    /// too.
    ///
    /// Checks the rows, and decisions that are not written yet, which exist only in memory.
    package func isTaken(_ name: String, by others: [Int64], _ live: [Int64: LiveChain]) -> Bool {
        others.contains { live[$0]?.machine.state.isEnd != true }
            || live.values.contains {
                $0.row.name == name && $0.row.seq != row.seq && !$0.machine.state.isEnd
                    && $0.machine.state != .queued
            }
    }

    package static let leftReason = "It was cancelled twice."

    /// It may have effects, and this version of the app lacks their compensations.
    var isUnrecoverable: Bool {
        trouble != nil
            && tasks.indices.contains {
                let slot = machine.slots[$0]
                return slot.state == .succeeded && !tasks[$0].isWait && !slot.compensation.isEnd
            }
    }

    /// Why it is suspended, and what follows.
    var suspendedReason: String? {
        guard let trouble, let why = reasonToTakeBack else { return trouble }
        return "\(why) What it did is taken back when the app can: \(trouble) "
            + "Cancelled once more, it ends as it is."
    }

    /// Why a suspended chain compensates instead of continuing.
    var reasonToTakeBack: String? {
        guard machine.isToTakeBack else { return nil }
        let failed = machine.slots.firstIndex { $0.state == .failed }
        return failed.map { "\(tasks[$0].name) has failed." } ?? "It was cancelled."
    }

    func entries(of place: Int) -> [String] {
        [
            ChainWrites.entryID(row.id, place: place, round: tasks[place].round),
            lateID(of: place),
        ]
    }

    /// The command at a waiting task's deadline.
    func lateID(of place: Int) -> String { "\(row.id)/late/\(place)/\(tasks[place].round)" }
}
