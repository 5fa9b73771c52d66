import RepriseChannels
import RepriseCore
import RepriseJournal
import RepriseWire

/// Messages in flight: the machine, and who waits for each answer.
struct SimulatedOutboxDriver {
    typealias Waiter = (entry: Entry, done: SimulatedJournal.Completion)

    var machine: OutboxMachine
    let timeout: Duration
    var waiters: [EntryID: Waiter] = [:]
    /// The mutation `outboxNewID`: which message an invented id stands for.
    var invented: [EntryID: EntryID] = [:]

    init(settings: OutboxMachine.Settings) {
        machine = OutboxMachine(settings: settings)
        timeout = settings.timeout
    }
}

extension DeviceLife {
    func send(_ entry: Entry, _ done: @escaping SimulatedJournal.Completion) {
        var frame: [UInt8]
        do {
            frame = try outbox.machine.dispatched(
                entry, wall: process.clock.wall(), at: now)
        } catch {
            return done(error)
        }
        if simulation.mutation == .outboxNewID, entry.attempt > 1 {
            frame = withNewID(frame, entry)
        }
        if simulation.mutation == .outboxForgetsPredecessor { frame = withoutPredecessor(frame) }
        guard process.survives("publishing \(entry.id)") else { return }
        outbox.waiters[entry.id] = (entry, done)
        socket?.send([frame])
        if simulation.mutation == .outboxEndsWhenSent {
            _ = outbox.machine.answered(entry.id, .published(seq: 0))
            resolve(entry.id)
        }
        simulation.after(outbox.timeout, on: process) { [unowned self] in
            for id in outbox.machine.timerFired(at: now) { resolve(id) }
        }
    }

    private func withNewID(_ frame: [UInt8], _ entry: Entry) -> [UInt8] {
        var decoder = FrameDecoder()
        guard case .publish(var publish)? = try? decoder.clientFrame(frame) else { return frame }
        publish.id = EntryID(unchecked: "\(entry.id)-\(entry.attempt)")
        outbox.invented[publish.id] = entry.id
        return ClientFrame.publish(publish).encoded()
    }

    private func withoutPredecessor(_ frame: [UInt8]) -> [UInt8] {
        var decoder = FrameDecoder()
        guard case .publish(var publish)? = try? decoder.clientFrame(frame) else { return frame }
        publish.after = nil
        return ClientFrame.publish(publish).encoded()
    }

    func hangUpOutbox() {
        for id in outbox.machine.disconnected() { resolve(id) }
    }

    func answered(_ published: ServerFrame.Published) {
        var published = published
        published.id = outbox.invented[published.id] ?? published.id
        if let id = outbox.machine.published(published) { resolve(id) }
    }

    func answered(_ refused: ServerFrame.Refused) {
        if let id = outbox.machine.refused(refused) { resolve(id) }
    }

    private func resolve(_ id: EntryID) {
        guard let (entry, done) = outbox.waiters.removeValue(forKey: id) else { return }
        let refusal = outbox.machine.refusal(of: id)
        do {
            _ = try outbox.machine.ended(entry, jitter: jitter)
        } catch {
            if let code = refusal?.code, !code.isTemporary { device.refused(device, id, code) }
            return done(error)
        }
        guard process.survives("telling the app that \(id) is published") else { return }
        device.acknowledged(device, id)
        done(nil)
    }
}
