import GRDB
import RepriseChains
import RepriseCore
import RepriseJournal

/// The notifications of chains that a device shows; they outlive the app.
final class ChainsCentre {
    struct Shown {
        var text: String
        var isEnd: Bool
    }

    var delivered: [String: Shown] = [:]
}

/// In virtual time what `ChainNotifications` is in real time: the shipping decisions and rows.
final class SimulatedNotifications {
    private var notifier = ChainNotifier()
    private unowned let chains: SimulatedChains
    private var random: SeededRandom
    private var armed: Duration?
    private var lastProgress: Duration?

    var isQuiet: Bool { notifier.isQuiet }
    private var simulation: Simulation { chains.simulation }
    private var centre: ChainsCentre { chains.app.device.centre }

    init(_ chains: SimulatedChains) {
        self.chains = chains
        let process = chains.process
        random = chains.simulation.random("notifications of \(process.name) \(process.life)")
    }

    func changed(_ chain: LiveChain) {
        let slots = chain.machine.slots
        let progress = ChainProgress(
            state: chain.machine.state, done: slots.count { $0.state == .succeeded },
            total: slots.count)
        notifier.changed(
            ChainChange(
                id: ChainID(chain.row.id), definition: chain.row.definition, progress: progress))
        goOn()
    }

    func quarantined(_ id: String) {
        notifier.changed(
            ChainChange(
                id: ChainID(id), definition: ChainsScript.definition,
                progress: ChainProgress(state: .quarantined, done: 0, total: 0)))
        goOn()
    }

    func removed() {
        notifier.removed()
        goOn()
    }

    func goOn() {
        let now = chains.clock.uptime()
        switch notifier.next(at: now) {
        case .none: break
        case .wait(let until): wait(until, now)
        case .show(let change): show(change)
        case .showResults:
            let page = try? chains.journal.read { try ChainResults.page(shipping($0).db) }
            guard let page else { return ended(.failed) }
            show(page[...], count: page.count)
        case .removeUnknown:
            call(then: { [self] in removeUnknown() })
        }
    }

    private func wait(_ until: Duration, _ now: Duration) {
        guard armed != until else { return }
        armed = until
        simulation.after(max(until - now, .zero), on: chains.process) { [self] in
            guard armed == until, !chains.isOver else { return }
            armed = nil
            goOn()
        }
    }

    private func ended(_ outcome: ChainNotifier.Outcome) {
        guard !chains.isOver else { return }
        var now = chains.clock.uptime()
        if chains.mutation == .chainProgressUnbounded { now -= .seconds(1) }
        notifier.ended(outcome, at: now)
        goOn()
        chains.time?.ring()
    }

    /// A call of the system's, which takes its time and fails now and then.
    private func call(then: @escaping () -> Void) {
        simulation.after(random.spread(.milliseconds(1), .milliseconds(200)), on: chains.process) {
            [self] in
            guard !chains.isOver else { return }
            guard !random.chance(0.1) else { return ended(.failed) }
            guard chains.process.survives("a call of the notification centre") else { return }
            then()
        }
    }

    private func show(_ change: ChainChange) {
        let id = change.id.text
        let input = try? chains.journal.read { try ChainResults.input(of: id, shipping($0).db) }
        guard (input ?? nil) != nil else { return ended(.done) }
        call { [self] in
            let now = chains.clock.uptime()
            if let lastProgress, now - lastProgress < .milliseconds(900), !chains.app.isFormer {
                chains.checker.violated(
                    .bounded, "progress is shown \(now - lastProgress) after other progress")
            }
            lastProgress = now
            add(id, "\(change.progress.state) \(change.progress.done)", isEnd: false)
            guard chains.process.survives("hearing of a notification") else { return }
            ended(.done)
        }
    }

    private func show(_ results: ArraySlice<ChainResults>, count: Int) {
        guard let result = results.first else {
            return ended(count == ChainResults.page ? .more : .done)
        }
        let next = { [self] in show(results.dropFirst(), count: count) }
        let add = { [self] (then: @escaping () -> Void) in
            call { [self] in
                self.add(result.id, "\(result.progress.state)", isEnd: true)
                chains.checker.shown(result.id, result.progress.state)
                guard chains.process.survives("hearing of a result") else { return }
                then()
            }
        }
        guard chains.mutation != .chainResultNotShown else {
            return write(result) { add(next) }
        }
        add { [self] in write(result, then: next) }
    }

    private func write(_ result: ChainResults, then: @escaping () -> Void) {
        chains.journal.write(
            { try result.shown(shipping($0).db) },
            then: { [self] (done: Result<Void, any Error>) in
                switch done {
                case .success: then()
                case .failure: ended(.failed)
                }
            })
    }

    private func removeUnknown() {
        let gone = try? chains.journal.read { transaction in
            let db = try shipping(transaction).db
            return try centre.delivered.keys.filter { try ChainReading.seq(of: $0, db) == nil }
        }
        guard let gone else { return ended(.failed) }
        if !chains.app.isFormer { for id in gone { centre.delivered[id] = nil } }
        ended(.done)
    }

    /// The system knows one process of an app.
    private func add(_ id: String, _ text: String, isEnd: Bool) {
        guard !chains.app.isFormer else { return }
        simulation.trace("centre", "shows \(id): \(text)")
        centre.delivered[id] = .init(text: text, isEnd: isEnd)
    }
}
