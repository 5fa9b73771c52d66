import GRDB
import Logging
import RepriseCore
import RepriseJournal
import RepriseWire
import Synchronization

/// Performs the actions of `FormsMachine`: one input after the other, each with all that follows.
actor FormsDriver {
    enum Input: Sendable {
        case delivery([EntryDelivery])
        case opened(life: Int, session: String, Result<any HostedWebView, any Error>)
        case said(life: Int, [UInt8])
        case lost(life: Int, reason: String)
        case catalogue(company: String, FormsCatalogue)
        case alarm
        case changed(FormsChange, CheckedContinuation<Void, any Error>)
        case slept
        case woke
        case dismiss
        case decided(question: Int, FormsDecision)
    }

    /// A web view with its reader and writer.
    struct View {
        let view: any HostedWebView
        let outgoing: AsyncStream<[UInt8]>.Continuation
        let tasks: [Task<Void, Never>]
    }

    nonisolated let store: FormsStore
    nonisolated let configuration: Forms.Configuration
    nonisolated let states = StateBroadcaster(FormsState.idle)
    nonisolated let loop: FeatureLoop<Input>
    nonisolated var inbox: Mailbox<Input> { loop.mailbox }
    /// Messages of the page that wait in the inbox.
    nonisolated let unread = Mutex(0)
    /// Raised to fetch the catalogue.
    nonisolated let reason = Signal()
    private nonisolated let answers: Forms.Answers?

    var machine: FormsMachine
    var host: (any WebViewHost)?
    private var deliveries: [EntryID: (delivery: EntryDelivery, arrival: FormsArrival)] = [:]
    var view: View?
    var closing: Task<Void, Never>?
    private let alarm: Alarm
    var catalogueFault: RepriseError?
    var source: CatalogueSource?
    var keeper: Task<Void, Never>?
    var company = ""
    /// Waits until the app has answered the one before.
    var question: (number: Int, about: FormsAppearance)?
    var asking: Task<Void, Never>?

    private var clock: any Timekeeper { configuration.timekeeper }

    init(journal: Journal, configuration: Forms.Configuration, answers: Forms.Answers?) {
        store = FormsStore(journal: journal)
        loop = FeatureLoop("The forms", journal)
        self.configuration = configuration
        self.answers = answers
        alarm = Alarm(configuration.timekeeper)
        machine = FormsMachine(
            events: configuration.events,
            settings: .init(
                helloTimeout: configuration.helloTimeout,
                eventsTimeout: configuration.eventsTimeout,
                appearTimeout: configuration.appearTimeout,
                decisionTimeout: configuration.willAppearTimeout),
            locale: configuration.locale, theme: configuration.theme)
    }

    // MARK: Running

    func run(_ host: any WebViewHost, _ source: CatalogueSource) async throws {
        try await loop.run(on: self) {
            try await self.start(host, source)
        } take: {
            await self.take($0)
        } finish: {
            await self.finish()
        }
    }

    private func start(_ host: any WebViewHost, _ source: CatalogueSource) async throws {
        (self.host, self.source) = (host, source)
        unread.withLock { $0 = 0 }
        store.journal.handleBatches(of: FormsEvent.family) { [inbox] batch in
            guard !inbox.put(.delivery(batch)) else { return }
            for delivery in batch { delivery.end(as: .back(reason: "The forms do not run.")) }
        }
        company = try await store.identity().company ?? configuration.company
        keepCatalogue()
        await perform(machine.started())
    }

    private func finish() async {
        keeper?.cancel()
        asking?.cancel()
        question = nil
        for input in inbox.close() { leave(input) }
        await perform(machine.stopped())
        await closing?.value
        alarm.cancel()
        (host, source) = (nil, nil)
        announce()
    }

    private func announce() {
        if states.announce(machine.state) {
            configuration.logger.tell(
                .info, "Forms are in another state.", ["state": "\(machine.state)"])
        }
    }

    /// Returns input that arrived too late.
    private func leave(_ input: Input) {
        switch input {
        case .delivery(let batch):
            for delivery in batch { delivery.end(as: .back(reason: "The forms do not run.")) }
        case .opened(_, _, .success(let view)): Task { await view.close() }
        case .changed(let change, let continuation):
            Task { [store] in
                do {
                    _ = try await store.change(change.apply)
                    continuation.resume()
                } catch {
                    continuation.resume(throwing: error)
                }
            }
        case .opened, .said, .lost, .catalogue, .alarm, .slept, .woke, .dismiss, .decided: break
        }
    }

    private func take(_ input: Input) async {
        let (now, wall) = (clock.uptime(), clock.wall())
        switch input {
        case .delivery(let batch): await dispatched(batch)
        case .opened(let life, let session, let result):
            await opened(life, session, result, at: now)
        case .said(let life, let text):
            unread.withLock { $0 -= 1 }
            guard life == machine.life else { break }
            await perform(machine.said(text, at: now, wall: wall))
        case .lost(let life, let reason):
            guard life == machine.life else { break }
            await perform(machine.viewLost(reason: reason, at: now))
        case .catalogue(let company, let catalogue):
            guard company == self.company else { break }
            await perform(machine.catalogueArrived(catalogue, at: now))
        case .alarm:
            alarm.cancel()
            await perform(machine.timerFired(at: now, wall: wall))
        case .changed(let change, let continuation): await changed(change, continuation)
        case .slept: machine.slept()
        case .woke:
            machine.woke(at: now)
            reason.raise()
        case .dismiss: await perform(machine.dismiss())
        case .decided(let question, let decision):
            await perform(machine.appDecided(question, decision, at: now, wall: wall))
        }
        alarm.set(machine.due) { [inbox] in inbox.put(.alarm) }
        announce()
    }

    // MARK: Events

    func dispatched(_ batch: [EntryDelivery]) async {
        var arrivals: [FormsArrival] = []
        for delivery in batch {
            do {
                let arrival = FormsArrival(
                    id: delivery.entry.id,
                    content: try EventContent(payload: delivery.entry.payload),
                    recordedAt: delivery.entry.recordedAt, attempt: delivery.entry.attempt,
                    mayOvertake: delivery.mayOvertake)
                deliveries[arrival.id] = (delivery, arrival)
                arrivals.append(arrival)
            } catch {
                delivery.end(DispatchFailure.permanent("The event cannot be read: \(error)"))
            }
        }
        do {
            let tried = arrivals.filter { $0.attempt > 1 }.map(\.id)
            let doubtful = tried.isEmpty ? [] : try await store.doubtful(tried)
            await perform(
                machine.delivery(
                    arrivals, doubtful: doubtful, at: clock.uptime(), wall: clock.wall()))
        } catch {
            let failure = DispatchFailure.notReady("The journal cannot be read: \(error)")
            for arrival in arrivals {
                deliveries.removeValue(forKey: arrival.id)?.delivery.end(failure)
            }
        }
    }

    private func deliverLate(_ id: EntryID) {
        guard let (delivery, arrival) = deliveries.removeValue(forKey: id) else { return }
        Task { [late = configuration.late] in
            do {
                try await late?(FormsOccurrence(arrival))
                delivery.end(as: .ended(.applied, reason: "delivered late"))
            } catch {
                delivery.end(error)
            }
        }
    }

    var diagnostics: FormsDiagnostics {
        var diagnostics = FormsDiagnostics(state: machine.state)
        diagnostics.catalogue = machine.catalogueVersion
        diagnostics.inFlight = machine.inFlight
        diagnostics.tally = machine.tally
        diagnostics.catalogueFault = catalogueFault?.description
        return diagnostics
    }
}

/// Performs the machine's actions.
extension FormsDriver {
    func perform(_ actions: [FormsMachine.Action]) async {
        for action in actions {
            switch action {
            case .open(let life): open(life)
            case .close: close()
            case .setReadiness(let readiness, let isOpen):
                if isOpen {
                    await store.journal.setReady(readiness)
                } else {
                    await store.journal.setNotReady(readiness)
                }
            case .send(let message): send(message)
            case .setVisible(let isVisible): await view?.view.setVisible(isVisible)
            case .askLeave(let event, let form, let catalogue, let isDecided):
                await askLeave(event, form, catalogue, isDecided: isDecided)
            case .askApp(let number, let arrival, let form, let catalogue):
                question = (number, FormsAppearance(form: form, in: catalogue, for: arrival))
                ask()
            case .putOff(let id, let wait, let row):
                deliveries.removeValue(forKey: id)?.delivery.end(
                    as: .postponed(by: wait, reason: "put off \(row.form): \(row.reason)"),
                    alongside: store.put(off: id, row))
            case .end(let id, let outcome, let reason, let showing):
                deliveries.removeValue(forKey: id)?.delivery.end(
                    as: .ended(outcome, reason: reason), alongside: showing.map(store.appeared))
            case .giveBack(let id, let reason, let isInDoubt):
                deliveries.removeValue(forKey: id)?.delivery.end(
                    as: .back(reason: reason, isInDoubt: isInDoubt))
            case .postpone(let id, let wait):
                deliveries.removeValue(forKey: id)?.delivery.end(
                    as: .postponed(by: wait, reason: "The time of its form has not come."))
            case .deliverLate(let id): deliverLate(id)
            case .dismissed(let showing, let how):
                // Not worth failing for: the showing was counted when it was granted.
                try? await store.dismissed(showing, how: how)
            case .perform(let action, let id, _, let form):
                await record(id) { [store] in try await store.record(action, id: id, of: form) }
            case .submit(let id, let answers, let screen):
                await submit(id, answers, screen)
            case .fetchCatalogue: reason.raise()
            }
        }
    }

    func askLeave(
        _ event: EntryID, _ form: String, _ catalogue: FormsCatalogue, isDecided: Bool
    ) async {
        do {
            let leave = try await store.leave(
                for: event, form: form, in: catalogue, zone: configuration.zone(),
                asksApp: configuration.willAppear != nil && !isDecided)
            await perform(
                machine.leaveDecided(
                    leave, for: event, form: form, at: clock.uptime(), wall: clock.wall()))
        } catch {
            loop.note(error)
            await perform(
                machine.viewLost(
                    reason: "The journal cannot be written: \(error)", at: clock.uptime()))
        }
    }

    /// Asks the app, once it has answered the question before: a handler that never returns is
    /// called no second time.
    func ask() {
        guard asking == nil, let (number, form) = question, let decide = configuration.willAppear
        else { return }
        question = nil
        guard machine.isOpen(question: number) else { return }
        asking = Task { [weak self] in
            let decision = await decide(form)
            await self?.answered(number, decision)
        }
    }

    private func answered(_ question: Int, _ decision: FormsDecision) {
        asking = nil
        inbox.put(.decided(question: question, decision))
        ask()
    }

    func submit(_ id: String, _ answers: [UInt8], _ screen: FormsMachine.FormOnScreen) async {
        await record(id) { [store, record = self.answers] in
            guard let record else {
                throw RepriseError(.refused, "Nobody takes answers.")
            }
            try await store.submit(id, answers, screen, record: record)
        }
    }

    /// Replies to the page once the record is durable, or with the reason of the failure.
    func record(_ id: String, _ body: () async throws -> Void) async {
        do {
            try await body()
            send(HostMessage.recorded(id))
        } catch {
            loop.note(error)
            send(
                HostMessage.refused(id, reason: (error as? RepriseError)?.code.name ?? "internal"))
        }
    }
}
