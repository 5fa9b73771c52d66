import RepriseChains
import RepriseCore
import RepriseJournal

/// A worker while it works: takes its time, has an effect that somebody outside sees, fails, hangs,
/// and stops when it is told to, or not.
final class SimulatedWork {
    let key: SimulatedChains.Key
    /// What it gives to a service that takes effects by their keys.
    let workKey: String
    var whenFinished: () -> Void = {}
    private let chain: String
    private let task: String
    private unowned let chains: SimulatedChains
    private var isOver = false
    private var wasTold = false
    private var listens = true
    private var simulation: Simulation { chains.simulation }

    init(
        _ chains: SimulatedChains, _ key: SimulatedChains.Key, chain: String, task: String,
        workKey: String
    ) {
        (self.chains, self.key) = (chains, key)
        (self.chain, self.task, self.workKey) = (chain, task, workKey)
    }

    func begin() {
        simulation.trace(chains.process.name, "works on \(workKey)")
        listens = chains.random.chance(0.7)
        let trouble = chains.app.device.trouble
        var length = chains.random.spread(.milliseconds(5), .seconds(8))
        switch trouble {
        case .handlerHangs where chains.random.chance(0.3):
            simulation.met(.handlerHangs)
            return
        case .handlerLate:
            simulation.met(.handlerLate)
            length = chains.random.spread(.seconds(20), .seconds(200))
        default:
            // Who does not listen is given up now and then, and speaks after that.
            guard !listens, chains.random.chance(0.2) else { break }
            length = chains.random.spread(.seconds(12), .seconds(60))
        }
        let failure = failure(trouble)
        let hasEffect = failure == nil || chains.random.chance(0.5)
        simulation.after(length * chains.random.fraction(), on: chains.process) { [self] in
            if hasEffect, !isOver { takeEffect() }
        }
        simulation.after(length, on: chains.process) { [self] in
            end(
                failure.map(Result.failure)
                    ?? .success(
                        chains.outputs.output(of: task, isCompensation: key.isCompensation)))
        }
    }

    private func failure(_ trouble: Fault.Kind?) -> (any Error)? {
        let often = trouble == .handlerThrows
        guard chains.random.chance(often ? 0.7 : 0.08) else { return nil }
        if often { simulation.met(.handlerThrows) }
        return switch chains.random.index(8) {
        case 0: DispatchFailure.permanent("refused")
        case 1: DispatchFailure.retry(after: .seconds(10), "later")
        case 2: DispatchFailure.notReady("not now")
        default: GatesFailure()
        }
    }

    func takeEffect() {
        guard chains.process.survives("the effect of \(workKey)") else { return }
        simulation.trace(chains.process.name, "the effect of \(workKey) takes place")
        chains.checker.tookEffect(
            chain, task, isCompensation: key.isCompensation, key: workKey, by: chains.app,
            wasTold: wasTold)
    }

    private func end(_ result: Result<[UInt8], any Error>) {
        guard !isOver, chains.process.survives("the outcome of \(workKey)") else { return }
        isOver = true
        whenFinished()
        let kept: Result<SimulatedOutputs.Output, any Error> = result.flatMap { bytes in
            Result { try chains.outputs.keep(bytes) }
        }
        if case .success(let output) = kept, output.stored.file != nil {
            guard chains.process.survives("hearing of a file") else { return }
        }
        chains.put(.finished(key, kept))
    }

    /// Cooperative, if it is of that sort.
    func stop() {
        guard !wasTold else { return }
        wasTold = true
        guard listens else { return }
        let wait = chains.random.spread(.milliseconds(1), .seconds(3))
        simulation.after(wait, on: chains.process) { [self] in end(.failure(CancellationError())) }
    }
}
