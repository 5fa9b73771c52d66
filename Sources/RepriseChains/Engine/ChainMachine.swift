/// Decides the next actions of one chain.
///
/// Decides from the state, not from the last event: after any kill the same rows lead to the same
/// decisions. `running → succeeded`; `running → failing → failed`, `running → cancelling →
/// cancelled`; `paused` and `parked` resume.
package struct ChainMachine: Sendable {
    /// One task.
    package struct Slot: Hashable, Sendable {
        package var step: Int
        package var state: TaskState
        package var undo: UndoState
        package var canUndo: Bool
        package var isInHand = false
        /// Its worker was cancelled.
        package var isStopped = false

        package init(
            step: Int, state: TaskState = .blocked, undo: UndoState = .none, canUndo: Bool = false
        ) {
            self.step = step
            self.state = state
            self.undo = undo
            self.canUndo = canUndo
        }

        /// Done, and not compensated.
        var isDone: Bool { state == .succeeded && undo == .none }
    }

    package enum Action: Hashable, Sendable {
        /// Write an intent: it should run.
        case intend(Int)
        /// Write an intent to take its effect back.
        case undo(Int)
        /// Its worker should stop.
        case stop(Int)
        /// It will not run: whatever it waits for.
        case withdraw(Int)
        /// Reset to its state before the first run; its effect may have been compensated since.
        case reset(Int, isTakenBack: Bool)
        /// The chain is in this state now.
        case become(ChainState)
    }

    /// The decision about a dispatched intent.
    package enum Verdict: Hashable, Sendable {
        case run
        /// Not now.
        case hold(String)
        /// It was decided about otherwise.
        case stale
    }

    package private(set) var state: ChainState
    package private(set) var slots: [Slot]
    /// The places of each step.
    private let steps: [Range<Int>]
    /// The first step that is not done.
    private var current = 0
    /// No compensations are left beyond this index: each decision starts here, not at the end.
    private var undoEnd: Int

    package init(state: ChainState, slots: [Slot]) {
        self.state = state
        self.slots = slots
        undoEnd = slots.count
        var steps: [Range<Int>] = []
        for (place, slot) in slots.enumerated() {
            if let last = steps.last, slots[last.lowerBound].step == slot.step {
                steps[steps.count - 1] = last.lowerBound..<place + 1
            } else {
                steps.append(place..<place + 1)
            }
        }
        self.steps = steps
        moveOn()
    }

    package var isInHand: Bool { slots.contains(where: \.isInHand) }

    // MARK: Intents

    package mutating func handedOver(_ place: Int, isUndo: Bool) -> Verdict {
        guard slots.indices.contains(place), !slots[place].isInHand else { return .stale }
        let slot = slots[place]
        guard isUndo ? slot.undo == .intended : slot.state == .intended else { return .stale }
        switch state {
        case .paused: return .hold("paused")
        case .parked, .queued: return .hold("parked")
        case .running where !isUndo, .failing where isUndo, .cancelling where isUndo:
            slots[place].isInHand = true
            slots[place].isStopped = false
            return .run
        case .running, .failing, .cancelling, .succeeded, .failed, .cancelled, .quarantined:
            return .stale
        }
    }

    /// It returns to the queue unchanged, because it failed or time was over.
    package mutating func handedBack(_ place: Int) -> [Action] {
        slots[place].isInHand = false
        return decide()
    }

    package mutating func held(_ place: Int, isUndo: Bool) -> [Action] {
        slots[place].isInHand = false
        if isUndo { slots[place].undo = .held } else { slots[place].state = .held }
        return decide()
    }

    /// Its wait is over.
    package mutating func released(_ place: Int) -> [Action] {
        guard slots.indices.contains(place) else { return decide() }
        switch state {
        case .running where slots[place].state == .held: slots[place].state = .blocked
        case .failing where slots[place].undo == .held,
            .cancelling where slots[place].undo == .held:
            slots[place].undo = .none
        case .running, .failing, .cancelling, .queued, .paused, .parked, .succeeded, .failed,
            .cancelled, .quarantined:
            break
        }
        return decide()
    }

    package mutating func ended(_ place: Int, as outcome: TaskState) -> [Action] {
        slots[place].isInHand = false
        guard !slots[place].state.isEnd else { return decide() }
        slots[place].state = outcome
        return decide()
    }

    package mutating func undone(_ place: Int, _ outcome: UndoState) -> [Action] {
        slots[place].isInHand = false
        slots[place].undo = outcome
        return decide()
    }

    // MARK: Commands

    package mutating func begun() -> [Action] { become(.running, from: [.queued]) }

    package mutating func paused() -> [Action] { become(.paused, from: [.running]) }

    package mutating func parked() -> [Action] {
        become(.parked, from: [.queued, .running, .paused, .failing, .cancelling])
    }

    package mutating func cancelled() -> [Action] {
        become(.cancelling, from: [.queued, .running, .paused, .parked])
    }

    /// It is late, or cannot continue for another reason.
    package mutating func failed() -> [Action] {
        become(.failing, from: [.queued, .running, .paused, .parked])
    }

    /// It should end, but its compensations are unknown: its tasks end, and it waits for a version
    /// that knows them.
    package mutating func stranded() -> [Action] {
        var actions: [Action] = []
        for place in currentPlaces where !slots[place].state.isEnd && !slots[place].isInHand {
            slots[place].state = .cancelled
            actions.append(.withdraw(place))
        }
        return actions + parked()
    }

    /// Whether its effects are being compensated, or must be.
    package var isToTakeBack: Bool {
        slots.contains { $0.state == .failed || $0.state == .cancelled || $0.undo != .none }
    }

    /// A paused or suspended chain continues with its results.
    package mutating func resumed() -> [Action] {
        guard state == .paused || state == .parked else { return decide() }
        var actions: [Action] = []
        let isFailed = slots.contains { $0.state == .failed }
        undoEnd = slots.count
        let isUndoing = isToTakeBack
        for place in slots.indices {
            if slots[place].state == .held { slots[place].state = .blocked }
            if slots[place].undo == .held { slots[place].undo = .none }
        }
        state = isFailed ? .failing : isUndoing ? .cancelling : .running
        actions.append(.become(state))
        return actions + decide()
    }

    /// A failed or cancelled chain repeats what is not done.
    package mutating func retried() -> [Action] {
        switch state {
        case .paused, .parked: return resumed()
        case .failed, .cancelled: break
        case .queued, .running, .failing, .cancelling, .succeeded, .quarantined: return decide()
        }
        var actions: [Action] = []
        for place in slots.indices where !slots[place].isDone {
            let slot = slots[place]
            slots[place] = Slot(step: slot.step, canUndo: slot.canUndo)
            guard slot.state != .blocked else { continue }
            actions.append(.reset(place, isTakenBack: slot.undo == .undone))
        }
        (state, current, undoEnd) = (.running, 0, slots.count)
        actions.append(.become(.running))
        return actions + decide()
    }

    /// Its rows or files cannot be read.
    package mutating func quarantined() -> [Action] {
        state = .quarantined
        return [.become(.quarantined)]
    }

    /// The places of the step that is not done.
    package var currentPlaces: Range<Int> { current < steps.count ? steps[current] : 0..<0 }

    /// The place of the current or next compensation.
    package var undoPlace: Int? { undoEnd > 0 ? undoEnd - 1 : nil }

    private mutating func become(_ next: ChainState, from: Set<ChainState>) -> [Action] {
        guard from.contains(state) else { return decide() }
        state = next
        return [.become(next)] + decide()
    }

    // MARK: Decision

    /// The next actions for the current state.
    package mutating func decide() -> [Action] {
        switch state {
        case .running: goOn()
        case .failing: takeBack(then: .failed)
        case .cancelling: takeBack(then: .cancelled)
        case .paused, .parked: stopAll()
        case .queued, .succeeded, .failed, .cancelled, .quarantined: []
        }
    }

    private mutating func moveOn() {
        while current < steps.count, steps[current].allSatisfy({ slots[$0].isDone }) {
            current += 1
        }
    }

    private mutating func goOn() -> [Action] {
        moveOn()
        guard current < steps.count else {
            state = .succeeded
            return [.become(.succeeded)]
        }
        let step = steps[current]
        if step.contains(where: { slots[$0].state == .failed }) {
            state = .failing
            return [.become(.failing)] + decide()
        }
        var actions: [Action] = []
        for place in step where slots[place].state == .blocked {
            slots[place].state = .intended
            actions.append(.intend(place))
        }
        return actions
    }

    private mutating func stopAll() -> [Action] {
        var actions: [Action] = []
        for place in slots.indices where slots[place].isInHand && !slots[place].isStopped {
            slots[place].isStopped = true
            actions.append(.stop(place))
        }
        return actions
    }

    private mutating func takeBack(then end: ChainState) -> [Action] {
        var actions: [Action] = []
        var isBusy = false
        for place in currentPlaces {
            let slot = slots[place]
            switch slot.state {
            case .intended where slot.isInHand:
                isBusy = true
                guard !slot.isStopped else { break }
                slots[place].isStopped = true
                actions.append(.stop(place))
            case .blocked where end == .failed: break
            case .blocked, .intended, .held:
                slots[place].state = .cancelled
                actions.append(.withdraw(place))
            case .succeeded, .failed, .cancelled: break
            }
        }
        guard !isBusy else { return actions }
        // One after the other, the newest first.
        while undoEnd > 0 {
            let place = undoEnd - 1
            if slots[place].canUndo, slots[place].state == .succeeded {
                switch slots[place].undo {
                case .intended, .held: return actions
                case .none:
                    slots[place].undo = .intended
                    return actions + [.undo(place)]
                case .undone, .failed: break
                }
            }
            undoEnd = place
        }
        state = end
        return actions + [.become(end)]
    }
}
