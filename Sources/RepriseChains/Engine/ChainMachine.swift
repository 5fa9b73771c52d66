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
        package var compensation: CompensationState
        package var canCompensate: Bool
        package var isInFlight = false
        /// Its worker was cancelled.
        package var isStopped = false

        package init(
            step: Int, state: TaskState = .blocked, compensation: CompensationState = .none,
            canCompensate: Bool = false
        ) {
            self.step = step
            self.state = state
            self.compensation = compensation
            self.canCompensate = canCompensate
        }

        /// Done, and not compensated.
        var isDone: Bool { state == .succeeded && compensation == .none }
    }

    package enum Action: Hashable, Sendable {
        /// Write an intent: it should run.
        case intend(Int)
        /// Write an intent to take its effect back.
        case compensation(Int)
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
    package enum Disposition: Hashable, Sendable {
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
    private var compensationEnd: Int

    package init(state: ChainState, slots: [Slot]) {
        self.state = state
        self.slots = slots
        compensationEnd = slots.count
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

    package var isInFlight: Bool { slots.contains(where: \.isInFlight) }

    // MARK: Intents

    package mutating func dispatched(_ place: Int, isCompensation: Bool) -> Disposition {
        guard slots.indices.contains(place), !slots[place].isInFlight else { return .stale }
        let slot = slots[place]
        guard isCompensation ? slot.compensation == .intended : slot.state == .intended else {
            return .stale
        }
        switch state {
        case .paused: return .hold("paused")
        case .suspended, .queued: return .hold("parked")
        case .running where !isCompensation, .failing where isCompensation,
            .cancelling where isCompensation:
            slots[place].isInFlight = true
            slots[place].isStopped = false
            return .run
        case .running, .failing, .cancelling, .succeeded, .failed, .cancelled, .quarantined:
            return .stale
        }
    }

    /// It returns to the queue unchanged, because it failed or time was over.
    package mutating func requeued(_ place: Int) -> [Action] {
        slots[place].isInFlight = false
        return decide()
    }

    package mutating func held(_ place: Int, isCompensation: Bool) -> [Action] {
        slots[place].isInFlight = false
        if isCompensation { slots[place].compensation = .held } else { slots[place].state = .held }
        return decide()
    }

    /// Its wait is over.
    package mutating func released(_ place: Int) -> [Action] {
        guard slots.indices.contains(place) else { return decide() }
        switch state {
        case .running where slots[place].state == .held: slots[place].state = .blocked
        case .failing where slots[place].compensation == .held,
            .cancelling where slots[place].compensation == .held:
            slots[place].compensation = .none
        case .running, .failing, .cancelling, .queued, .paused, .suspended, .succeeded, .failed,
            .cancelled, .quarantined:
            break
        }
        return decide()
    }

    package mutating func ended(_ place: Int, as outcome: TaskState) -> [Action] {
        slots[place].isInFlight = false
        guard !slots[place].state.isEnd else { return decide() }
        slots[place].state = outcome
        return decide()
    }

    package mutating func compensated(_ place: Int, _ outcome: CompensationState) -> [Action] {
        slots[place].isInFlight = false
        slots[place].compensation = outcome
        return decide()
    }

    // MARK: Commands

    package mutating func begun() -> [Action] { become(.running, from: [.queued]) }

    package mutating func paused() -> [Action] { become(.paused, from: [.running]) }

    package mutating func suspended() -> [Action] {
        become(.suspended, from: [.queued, .running, .paused, .failing, .cancelling])
    }

    package mutating func cancelled() -> [Action] {
        become(.cancelling, from: [.queued, .running, .paused, .suspended])
    }

    /// It is late, or cannot continue for another reason.
    package mutating func failed() -> [Action] {
        become(.failing, from: [.queued, .running, .paused, .suspended])
    }

    /// It should end, but its compensations are unknown: its tasks end, and it waits for a version
    /// that knows them.
    package mutating func unrecoverable() -> [Action] {
        var actions: [Action] = []
        for place in currentPlaces where !slots[place].state.isEnd && !slots[place].isInFlight {
            slots[place].state = .cancelled
            actions.append(.withdraw(place))
        }
        return actions + suspended()
    }

    /// Whether its effects are being compensated, or must be.
    package var isToTakeBack: Bool {
        slots.contains { $0.state == .failed || $0.state == .cancelled || $0.compensation != .none }
    }

    /// A paused or suspended chain continues with its results.
    package mutating func resumed() -> [Action] {
        guard state == .paused || state == .suspended else { return decide() }
        var actions: [Action] = []
        let isFailed = slots.contains { $0.state == .failed }
        compensationEnd = slots.count
        let isUndoing = isToTakeBack
        for place in slots.indices {
            if slots[place].state == .held { slots[place].state = .blocked }
            if slots[place].compensation == .held { slots[place].compensation = .none }
        }
        forgetStops()
        state = isFailed ? .failing : isUndoing ? .cancelling : .running
        actions.append(.become(state))
        return actions + decide()
    }

    /// A failed or cancelled chain repeats what is not done.
    package mutating func retried() -> [Action] {
        switch state {
        case .paused, .suspended: return resumed()
        case .failed, .cancelled: break
        case .queued, .running, .failing, .cancelling, .succeeded, .quarantined: return decide()
        }
        var actions: [Action] = []
        for place in slots.indices where !slots[place].isDone {
            let slot = slots[place]
            slots[place] = Slot(step: slot.step, canCompensate: slot.canCompensate)
            guard slot.state != .blocked else { continue }
            actions.append(.reset(place, isTakenBack: slot.compensation == .compensated))
        }
        (state, current, compensationEnd) = (.running, 0, slots.count)
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
    package var compensationPlace: Int? { compensationEnd > 0 ? compensationEnd - 1 : nil }

    private mutating func become(_ next: ChainState, from: Set<ChainState>) -> [Action] {
        guard from.contains(state) else { return decide() }
        state = next
        forgetStops()
        return [.become(next)] + decide()
    }

    /// A worker that a pause has stopped is stopped again when the chain ends: only then is it
    /// abandoned if it goes on.
    private mutating func forgetStops() {
        for place in slots.indices { slots[place].isStopped = false }
    }

    // MARK: Decision

    /// The next actions for the current state.
    package mutating func decide() -> [Action] {
        switch state {
        case .running: goOn()
        case .failing: takeBack(then: .failed)
        case .cancelling: takeBack(then: .cancelled)
        case .paused, .suspended: stopAll()
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
        for place in slots.indices where slots[place].isInFlight && !slots[place].isStopped {
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
            case .intended where slot.isInFlight:
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
        while compensationEnd > 0 {
            let place = compensationEnd - 1
            if slots[place].canCompensate, slots[place].state == .succeeded {
                switch slots[place].compensation {
                case .intended, .held: return actions
                case .none:
                    slots[place].compensation = .intended
                    return actions + [.compensation(place)]
                case .compensated, .failed: break
                }
            }
            compensationEnd = place
        }
        state = end
        return actions + [.become(end)]
    }
}
