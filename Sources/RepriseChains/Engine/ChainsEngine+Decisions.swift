import Foundation
import GRDB
import RepriseCore
import RepriseJournal

/// Drives `ChainDecision`: reads its needs, writes its decisions.
extension ChainsEngine {
    var facts: ChainFacts {
        ChainFacts(
            wall: { [clock] in clock.wall() }, now: { [journal] in journal.now },
            mayExpire: { [journal] in journal.mayExpire }, conditions: conditions,
            isOpen: { [journal] in journal.isOpen($0) },
            hasWorker: { [registry] in registry?[$0] != nil }, jitter: configuration.jitter)
    }

    func carryOut(_ decision: ChainDecision, _ delivery: EntryDelivery) async {
        var decision = decision
        while let need = decision.next() { decision.supply(await outputs(need)) }
        awaited.formUnion(decision.awaited)
        if let trouble = decision.trouble { loop.note(trouble) }
        let chain = decision.chain
        for place in decision.stops { stopForMachine(place, of: chain) }
        if decision.stopsAll {
            for key in running.keys where key.chain == chain.row.seq { stop(key, .machine) }
        }
        guard !decision.isBare else { return delivery.end(as: decision.ending) }
        settle(delivery, as: decision.ending, decision.writes)
    }

    private func outputs(_ need: ChainDecision.Need) async -> Result<[Int: [UInt8]], any Error> {
        do {
            if let recent = need.recent {
                return .success([need.place: try files.read(recent)])
            }
            let found = try await journal.read {
                try ChainReading.outputs(need.chain, need.places, $0)
            }
            var outputs: [Int: [UInt8]] = [:]
            for (place, output) in found where place == need.place || output.file == nil {
                outputs[place] = try files.read(output)
            }
            return .success(outputs)
        } catch {
            return .failure(error)
        }
    }

    /// Ends an entry together with its decisions.
    private func settle(
        _ delivery: EntryDelivery, as ending: EntryDelivery.Ending, _ writes: ChainWrites
    ) {
        live[writes.chain]?.unsettled += 1
        let retention = configuration.retention
        let lost = lostWork(writes)
        delivery.end(
            as: ending,
            alongside: { [journal] db in
                try writes.perform(in: db, journal, retention: retention)
            },
            written: { [weak self, inbox] in
                inbox.put(.written(writes.chain))
                guard !lost.isEmpty else { return }
                Task { await self?.onAbandon(lost, of: writes.chain) }
            })
    }

    // MARK: Outcomes

    func finished(_ key: TaskKey, _ result: Result<WorkDone, any Error>) async {
        guard let run = running.removeValue(forKey: key) else { return }  // it was given up
        for timer in run.timers { timer.cancel() }
        guard let chain = live[key.chain] else {
            return run.delivery.end(as: .ended(.dead, reason: "corrupt: Its chain cannot be read."))
        }
        switch result {
        case .success(let done):
            let decision = ChainDecision.succeeded(
                key.payload, of: chain, done.bytes, done.output, run.attempt, facts)
            await carryOut(decision, run.delivery)
        case .failure(let error):
            if error.isEndOfJournal { return loop.fail(error) }
            await carryOut(
                .failed(key.payload, of: chain, error, run.attempt, facts), run.delivery)
        }
    }

    func abandon(_ key: TaskKey) async {
        guard let run = running.removeValue(forKey: key), let chain = live[key.chain] else {
            return
        }
        for timer in run.timers { timer.cancel() }
        await carryOut(.abandoned(key.payload, of: chain, run.attempt, facts), run.delivery)
    }
}
