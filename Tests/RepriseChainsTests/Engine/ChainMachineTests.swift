import RepriseChains
import Testing

@Suite("The machine of a chain")
struct ChainMachineTests {
    /// Steps of so many tasks.
    private func machine(
        _ steps: [Int], state: ChainState = .running, undo: Bool = false
    ) -> ChainMachine {
        ChainMachine(
            state: state,
            slots: steps.enumerated().flatMap { step, count in
                (0..<count).map { _ in ChainMachine.Slot(step: step, canUndo: undo) }
            })
    }

    @Test("A step begins when all tasks of the one before are done")
    func order() {
        var machine = machine([1, 2, 1])
        #expect(machine.decide() == [.intend(0)])
        #expect(machine.handedOver(0, isUndo: false) == .run)
        #expect(machine.ended(0, as: .succeeded) == [.intend(1), .intend(2)])
        #expect(machine.handedOver(1, isUndo: false) == .run)
        #expect(machine.handedOver(2, isUndo: false) == .run)
        #expect(machine.ended(2, as: .succeeded) == [])
        #expect(machine.ended(1, as: .succeeded) == [.intend(3)])
        #expect(machine.handedOver(3, isUndo: false) == .run)
        #expect(machine.ended(3, as: .succeeded) == [.become(.succeeded)])
        #expect(machine.decide() == [])
    }

    @Test("An intent that is handed over twice, or was decided about otherwise, does not run")
    func stale() {
        var machine = machine([1, 1])
        #expect(machine.handedOver(0, isUndo: false) == .stale)
        _ = machine.decide()
        #expect(machine.handedOver(0, isUndo: false) == .run)
        #expect(machine.handedOver(0, isUndo: false) == .stale)
        #expect(machine.handedOver(1, isUndo: false) == .stale)
        #expect(machine.handedOver(7, isUndo: false) == .stale)
    }

    @Test("Taking ten thousand effects back costs each of them the same")
    func manyUndos() {
        var machine = ChainMachine(
            state: .running,
            slots: (0..<10_000).map { .init(step: $0, state: .succeeded, canUndo: true) } + [
                .init(step: 10_000, state: .intended)
            ])
        _ = machine.handedOver(10_000, isUndo: false)
        var actions = machine.ended(10_000, as: .failed)
        let begin = ContinuousClock.now
        var undone: [Int] = []
        while case .undo(let place)? = actions.last {
            undone.append(place)
            #expect(machine.handedOver(place, isUndo: true) == .run)
            actions = machine.undone(place, .undone)
        }
        #expect(undone == (0..<10_000).reversed())
        #expect(machine.state == .failed)
        // Quadratic it would take half a minute here.
        #expect(ContinuousClock.now - begin < .seconds(5))
    }

    @Test("A failure stops the others of its step, and then effects are taken back one by one")
    func failure() {
        var machine = machine([1, 3], undo: true)
        _ = machine.decide()
        _ = machine.handedOver(0, isUndo: false)
        _ = machine.ended(0, as: .succeeded)
        _ = machine.handedOver(1, isUndo: false)
        _ = machine.handedOver(2, isUndo: false)
        // The fourth waits for another attempt: it is withdrawn; the third runs: it is stopped.
        #expect(
            machine.ended(1, as: .failed) == [.become(.failing), .stop(2), .withdraw(3)])
        // It was faster than that.
        #expect(machine.ended(2, as: .succeeded) == [.undo(2)])
        #expect(machine.handedOver(2, isUndo: true) == .run)
        #expect(machine.undone(2, .failed) == [.undo(0)])
        #expect(machine.handedOver(0, isUndo: true) == .run)
        #expect(machine.undone(0, .undone) == [.become(.failed)])
    }

    @Test("A chain that has failed does again what is not done, and what was taken back")
    func retry() {
        var machine = machine([1, 1], undo: true)
        _ = machine.decide()
        _ = machine.handedOver(0, isUndo: false)
        _ = machine.ended(0, as: .succeeded)
        _ = machine.handedOver(1, isUndo: false)
        #expect(machine.ended(1, as: .failed) == [.become(.failing), .undo(0)])
        _ = machine.handedOver(0, isUndo: true)
        #expect(machine.undone(0, .undone) == [.become(.failed)])
        #expect(
            machine.retried() == [
                .reset(0, isTakenBack: true), .reset(1, isTakenBack: false), .become(.running),
                .intend(0),
            ])
    }

    @Test("A cancelled chain withdraws what waits and ends when nothing runs")
    func cancel() {
        var machine = machine([2])
        _ = machine.decide()
        _ = machine.handedOver(0, isUndo: false)
        #expect(machine.cancelled() == [.become(.cancelling), .stop(0), .withdraw(1)])
        #expect(machine.ended(0, as: .cancelled) == [.become(.cancelled)])
        #expect(machine.cancelled() == [])
    }

    @Test("A paused chain holds what comes, and asks for it again when it goes on")
    func pause() {
        var machine = machine([2])
        _ = machine.decide()
        _ = machine.handedOver(0, isUndo: false)
        #expect(machine.paused() == [.become(.paused), .stop(0)])
        #expect(machine.held(0, isUndo: false) == [])
        #expect(machine.handedOver(1, isUndo: false) == .hold("paused"))
        #expect(machine.held(1, isUndo: false) == [])
        #expect(machine.resumed() == [.become(.running), .intend(0), .intend(1)])
    }

    @Test("A chain that was parked while it took effects back goes on taking them back")
    func parkedWhileFailing() {
        var machine = machine([1, 1], undo: true)
        _ = machine.decide()
        _ = machine.handedOver(0, isUndo: false)
        _ = machine.ended(0, as: .succeeded)
        _ = machine.handedOver(1, isUndo: false)
        _ = machine.ended(1, as: .failed)
        #expect(machine.parked() == [.become(.parked)])
        #expect(machine.handedOver(0, isUndo: true) == .hold("parked"))
        _ = machine.held(0, isUndo: true)
        #expect(machine.resumed() == [.become(.failing), .undo(0)])
    }

    @Test("The same rows lead to the same decisions, wherever it was killed", arguments: 0..<4)
    func levelTriggered(done: Int) {
        var whole = machine([1, 1, 1, 1])
        for place in 0..<done {
            _ = whole.decide()
            _ = whole.handedOver(place, isUndo: false)
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
