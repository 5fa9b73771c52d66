import Foundation
import RepriseCore
import RepriseJournal

/// Starts and cancels tasks.
extension ChainsEngine {
    func begin(_ delivery: EntryDelivery) async {
        guard let payload = try? ChainJSON.decode(IntentPayload.self, from: delivery.entry.payload)
        else {
            return delivery.end(DispatchFailure.permanent("malformed: It names no task."))
        }
        do {
            guard let chain = try await chain(payload.chain) else {
                return delivery.end(as: .ended(.superseded, reason: "The chain is gone."))
            }
            switch ChainDecision.begin(payload, attempt: delivery.entry.attempt, of: chain, facts) {
            case .decided(let decision): await carryOut(decision, delivery)
            case .run(let name):
                guard let worker = registry?[name] else { return }
                await start(payload, of: chain, worker, delivery)
            }
        } catch let error as ChainRow.Broken {
            quarantine(payload.chain, error.description, delivery)
        } catch {
            loop.note(error)
            delivery.end(DispatchFailure.notReady("The chain cannot be read: \(error)"))
        }
    }

    private func start(
        _ payload: IntentPayload, of chain: LiveChain, _ worker: @escaping WorkerRegistry.Run,
        _ delivery: EntryDelivery
    ) async {
        let (place, seq) = (payload.place, chain.row.seq)
        let row = chain.tasks[place]
        let key = TaskKey(
            chain: seq, place: place, round: payload.round, isCompensation: payload.isCompensation)
        let attempts =
            chain.attempts(of: place, isCompensation: payload.isCompensation)
            + delivery.entry.attempt
        var kept = chain.inputs.removeValue(forKey: place)
        var checkpoint: [UInt8]?
        if kept == nil || attempts > 1 {
            do {
                let isCompensation = payload.isCompensation
                let found = try await journal.read { db in
                    try ChainReading.work(seq, place, isCompensation: isCompensation, db)
                }
                (kept, checkpoint) = (kept ?? found.input, found.checkpoint)
            } catch {
                loop.note(error)
                _ = chain.machine.requeued(place)
                return delivery.end(DispatchFailure.notReady("The task cannot be read: \(error)"))
            }
        }
        guard let input = kept else {
            _ = chain.machine.requeued(place)
            return quarantine(seq, "the input of \(row.name) is missing", delivery)
        }
        let deadline = [row.deadline, chain.row.deadline].compactMap { $0 }.min()
        let context = WorkContext(
            key: chain.key(of: place, isCompensation: payload.isCompensation), attempt: attempts,
            deadline: payload.isCompensation ? nil : deadline, saved: checkpoint,
            hooks: hooks(for: key, entry: delivery.entry.id.text, name: row.name, id: chain.row.id))
        let work = Task.detached { [inbox, files] in
            do {
                let bytes = try await worker(input, context)
                let done = WorkDone(bytes: bytes, output: try files.store(bytes))
                inbox.put(.finished(key, .success(done)))
            } catch {
                inbox.put(.finished(key, .failure(error)))
            }
        }
        running[key] = Running(
            delivery: delivery, task: work, started: clock.wall(), attempts: attempts)
        if payload.isCompensation {
            alarm(.late(key), after: configuration.compensationDeadline, for: key)
        } else if let deadline = row.deadline {
            alarm(.late(key), after: clock.wall().duration(to: deadline), for: key)
        }
    }

    private func alarm(_ event: ChainsEvent, after wait: Duration, for key: TaskKey) {
        let timer = Alarm(clock)
        timer.set(clock.uptime() + max(wait, .zero)) { [inbox] in inbox.put(event) }
        running[key]?.timers.append(timer)
    }

    /// The deadline is over: it is cancelled, and abandoned if it does not end.
    func late(_ key: TaskKey) {
        // A cancelled one is already decided.
        guard let run = running[key], run.stop == nil else { return }
        stop(key, .late)
        alarm(.abandoned(key), after: configuration.cancelGrace, for: key)
    }

    func stopForMachine(_ place: Int, of chain: LiveChain) {
        for key in running.keys where key.chain == chain.row.seq && key.place == place {
            stop(key, .machine)
            if chain.machine.state == .cancelling || chain.machine.state == .failing {
                alarm(.abandoned(key), after: configuration.cancelGrace, for: key)
            }
        }
    }
}
