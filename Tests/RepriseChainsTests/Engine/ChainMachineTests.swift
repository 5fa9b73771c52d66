import RepriseChains
import Testing

@Suite("The machine of a chain")
struct ChainMachineTests {
    /// Steps of so many tasks.
    private func machine(
        _ steps: [Int], state: ChainState = .running, compensation: Bool = false
    ) -> ChainMachine {
        ChainMachine(
            state: state,
            slots: steps.enumerated().flatMap { step, count in
                (0..<count).map { _ in ChainMachine.Slot(step: step, canCompensate: compensation) }
            })
    }

    @Test("A step begins when all tasks of the one before are done")
    func order() {
        var machine = machine([1, 2, 1])
        #expect(machine.decide() == [.intend(0)])
        #expect(machine.dispatched(0, isCompensation: false) == .run)
        #expect(machine.ended(0, as: .succeeded) == [.intend(1), .intend(2)])
        #expect(machine.dispatched(1, isCompensation: false) == .run)
        #expect(machine.dispatched(2, isCompensation: false) == .run)
        #expect(machine.ended(2, as: .succeeded) == [])
        #expect(machine.ended(1, as: .succeeded) == [.intend(3)])
        #expect(machine.dispatched(3, isCompensation: false) == .run)
        #expect(machine.ended(3, as: .succeeded) == [.become(.succeeded)])
        #expect(machine.decide() == [])
    }

    @Test("An intent that is dispatched twice, or was decided about otherwise, does not run")
    func stale() {
        var machine = machine([1, 1])
        #expect(machine.dispatched(0, isCompensation: false) == .stale)
        _ = machine.decide()
        #expect(machine.dispatched(0, isCompensation: false) == .run)
        #expect(machine.dispatched(0, isCompensation: false) == .stale)
        #expect(machine.dispatched(1, isCompensation: false) == .stale)
        #expect(machine.dispatched(7, isCompensation: false) == .stale)
    }

    @Test("Each of ten thousand compensations costs the same")
    func manyCompensations() {
        var machine = ChainMachine(
            state: .running,
            slots: (0..<10_000).map { .init(step: $0, state: .succeeded, canCompensate: true) } + [
                .init(step: 10_000, state: .intended)
            ])
        _ = machine.dispatched(10_000, isCompensation: false)
        var actions = machine.ended(10_000, as: .failed)
        let begin = ContinuousClock.now
        var compensated: [Int] = []
        while case .compensation(let place)? = actions.last {
            compensated.append(place)
            #expect(machine.dispatched(place, isCompensation: true) == .run)
            actions = machine.compensated(place, .compensated)
        }
        #expect(compensated == (0..<10_000).reversed())
        #expect(machine.state == .failed)
        // Quadratic it would take half a minute here.
        #expect(ContinuousClock.now - begin < .seconds(5))
    }

    @Test("A failure stops the others of its step, and then effects are taken back one by one")
    func failure() {
        var machine = machine([1, 3], compensation: true)
        _ = machine.decide()
        _ = machine.dispatched(0, isCompensation: false)
        _ = machine.ended(0, as: .succeeded)
        _ = machine.dispatched(1, isCompensation: false)
        _ = machine.dispatched(2, isCompensation: false)
        // The fourth waits for another attempt: it is withdrawn; the third runs: it is stopped.
        #expect(
            machine.ended(1, as: .failed) == [.become(.failing), .stop(2), .withdraw(3)])
        // It was faster than that.
        #expect(machine.ended(2, as: .succeeded) == [.compensation(2)])
        #expect(machine.dispatched(2, isCompensation: true) == .run)
        #expect(machine.compensated(2, .failed) == [.compensation(0)])
        #expect(machine.dispatched(0, isCompensation: true) == .run)
        #expect(machine.compensated(0, .compensated) == [.become(.failed)])
    }

    @Test("A retried chain runs the tasks that are not done or were compensated")
    func retry() {
        var machine = machine([1, 1], compensation: true)
        _ = machine.decide()
        _ = machine.dispatched(0, isCompensation: false)
        _ = machine.ended(0, as: .succeeded)
        _ = machine.dispatched(1, isCompensation: false)
        #expect(machine.ended(1, as: .failed) == [.become(.failing), .compensation(0)])
        _ = machine.dispatched(0, isCompensation: true)
        #expect(machine.compensated(0, .compensated) == [.become(.failed)])
        #expect(
            machine.retried() == [
                .reset(0, isTakenBack: true), .reset(1, isTakenBack: false), .become(.running),
                .intend(0),
            ])
    }

    @Test("A cancelled chain withdraws its waiting tasks and ends when no task runs")
    func cancel() {
        var machine = machine([2])
        _ = machine.decide()
        _ = machine.dispatched(0, isCompensation: false)
        #expect(machine.cancelled() == [.become(.cancelling), .stop(0), .withdraw(1)])
        #expect(machine.ended(0, as: .cancelled) == [.become(.cancelled)])
        #expect(machine.cancelled() == [])
    }

    @Test("A paused chain holds its tasks, and requests them again when it goes on")
    func pause() {
        var machine = machine([2])
        _ = machine.decide()
        _ = machine.dispatched(0, isCompensation: false)
        #expect(machine.paused() == [.become(.paused), .stop(0)])
        #expect(machine.held(0, isCompensation: false) == [])
        #expect(machine.dispatched(1, isCompensation: false) == .hold("paused"))
        #expect(machine.held(1, isCompensation: false) == [])
        #expect(machine.resumed() == [.become(.running), .intend(0), .intend(1)])
    }

    @Test(
        "A worker that goes on after its chain was paused is stopped again when that is cancelled or late, resumed before or not",
        arguments: [false, true], [false, true])
    func stoppedAgain(isResumed: Bool, isLate: Bool) {
        var machine = machine([1])
        _ = machine.decide()
        _ = machine.dispatched(0, isCompensation: false)
        #expect(machine.paused() == [.become(.paused), .stop(0)])
        if isResumed { #expect(machine.resumed() == [.become(.running)]) }
        let end = isLate ? machine.failed() : machine.cancelled()
        #expect(end == [.become(isLate ? .failing : .cancelling), .stop(0)])
    }

    @Test("A chain that was suspended while it took effects back goes on taking them back")
    func parkedWhileFailing() {
        var machine = machine([1, 1], compensation: true)
        _ = machine.decide()
        _ = machine.dispatched(0, isCompensation: false)
        _ = machine.ended(0, as: .succeeded)
        _ = machine.dispatched(1, isCompensation: false)
        _ = machine.ended(1, as: .failed)
        #expect(machine.suspended() == [.become(.suspended)])
        #expect(machine.dispatched(0, isCompensation: true) == .hold("parked"))
        _ = machine.held(0, isCompensation: true)
        #expect(machine.resumed() == [.become(.failing), .compensation(0)])
    }

    @Test(
        "The same rows lead to the same decisions, wherever the chain was killed", arguments: 0..<4)
    func levelTriggered(done: Int) {
        var whole = machine([1, 1, 1, 1])
        for place in 0..<done {
            _ = whole.decide()
            _ = whole.dispatched(place, isCompensation: false)
            _ = whole.ended(place, as: .succeeded)
        }
        var again = ChainMachine(
            state: .running,
            slots: (0..<4).map {
                ChainMachine.Slot(step: $0, state: $0 < done ? .succeeded : .blocked)
            })
        #expect(again.decide() == [.intend(done)])
    }
}
