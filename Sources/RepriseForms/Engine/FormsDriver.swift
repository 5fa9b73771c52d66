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
    private nonisolated let unread = Mutex(0)
    /// Raised to fetch the catalogue.
    nonisolated let reason = Signal()
    private nonisolated let answers: Forms.Answers?

    var machine: FormsMachine
    private var host: (any WebViewHost)?
    private var deliveries: [EntryID: (delivery: EntryDelivery, arrival: FormsArrival)] = [:]
    private var view: View?
    private var closing: Task<Void, Never>?
    private let alarm: Alarm
    private var catalogueFault: RepriseError?
    private var source: CatalogueSource?
    private var keeper: Task<Void, Never>?
    private var company = ""
    /// Waits until the app has answered the one before.
    private var question: (number: Int, about: FormsAppearance)?
    private var asking: Task<Void, Never>?

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
        if let closing {
            let timeout = CallTimeout(clock: clock, most: 1)
            try? await timeout.wait(FormsEngineLimits.closing, for: "Closing the page") {
                await closing.value
            }
        }
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

    private func dispatched(_ batch: [EntryDelivery]) async {
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
    private func perform(_ actions: [FormsMachine.Action]) async {
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
            case .postpone(let id, let wait, let reason):
                deliveries.removeValue(forKey: id)?.delivery.end(
                    as: .postponed(by: wait, reason: reason))
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

    private func askLeave(
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
                machine.leaveFailed(
                    for: event, form: form, reason: "The journal cannot be written: \(error)",
                    at: clock.uptime(), wall: clock.wall()))
        }
    }

    /// Asks the app, once it has answered the question before: a handler that never returns is
    /// called no second time.
    private func ask() {
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

    private func submit(
        _ id: String, _ answers: [UInt8], _ screen: FormsMachine.FormOnScreen
    ) async {
        await record(id) { [store, record = self.answers] in
            guard let record else {
                throw RepriseError(.refused, "Nobody takes answers.")
            }
            try await store.submit(id, answers, screen, record: record)
        }
    }

    /// Replies to the page once the record is durable, or with the reason of the failure.
    private func record(_ id: String, _ body: () async throws -> Void) async {
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

/// Changes of the user and the company.
extension FormsDriver {
    private func changed(
        _ change: FormsChange, _ continuation: CheckedContinuation<Void, any Error>
    )
        async
    {
        do {
            let (identity, isCleared) = try await store.change(change.apply)
            let company = identity.company ?? configuration.company
            let keepsCatalogue = company == self.company
            self.company = company
            if isCleared {
                await perform(
                    machine.cleared(reason: change.reason, keepsCatalogue: keepsCatalogue))
            }
            if !keepsCatalogue { keepCatalogue() }
            continuation.resume()
        } catch {
            loop.note(error)
            continuation.resume(throwing: error)
        }
    }

    private func keepCatalogue() {
        keeper?.cancel()
        guard let source else { return }
        let keeper = CatalogueKeeper(
            source: source, store: store, company: company, configuration: configuration,
            reason: reason,
            arrived: { [inbox, company] in
                inbox.put(.catalogue(company: company, $0))
            }, failed: { [weak self] in await self?.catalogueFailed($0) })
        self.keeper = Task { try? await keeper.run() }
    }

    private func catalogueFailed(_ error: RepriseError?) { catalogueFault = error }
}

/// The web view: opened, listened to, talked to and closed.
extension FormsDriver {
    private func open(_ life: Int) {
        guard let host else { return }
        let session = EntryID.random().text
        Task { [inbox] in
            let result: Result<any HostedWebView, any Error>
            do {
                result = .success(try await host.open(FormsPage.page(session: session)))
            } catch {
                result = .failure(error)
            }
            guard !inbox.put(.opened(life: life, session: session, result)) else { return }
            if case .success(let view) = result { await view.close() }
        }
    }

    private func opened(
        _ life: Int, _ session: String, _ result: Result<any HostedWebView, any Error>,
        at now: Duration
    ) async {
        switch result {
        case .failure(let error):
            guard life == machine.life else { return }
            await perform(
                machine.viewLost(reason: "There is no web view: \(error)", at: now))
        case .success(let view):
            guard life == machine.life else { return await view.close() }
            self.view = attach(view, life)
            await perform(machine.viewOpened(session: session, at: now))
        }
    }

    private func attach(_ view: any HostedWebView, _ life: Int) -> View {
        let (outgoing, continuation) = AsyncStream.makeStream(
            of: [UInt8].self, bufferingPolicy: .bufferingOldest(FormsEngineLimits.pageMessages))
        let reader = Task { [weak self, inbox] in
            for await event in view.events {
                switch event {
                case .message(let text):
                    guard self?.said(text, in: life) == true else {
                        inbox.put(.lost(life: life, reason: "The page says too much."))
                        return
                    }
                case .terminated(let reason): inbox.put(.lost(life: life, reason: reason))
                }
            }
            inbox.put(.lost(life: life, reason: "The web view has ended."))
        }
        let writer = Task { [inbox] in
            for await message in outgoing {
                do {
                    try await view.send(message)
                } catch {
                    guard !Task.isCancelled else { return }
                    inbox.put(.lost(life: life, reason: "The page takes nothing: \(error)"))
                    return
                }
            }
        }
        return View(view: view, outgoing: continuation, tasks: [reader, writer])
    }

    /// - Returns: false if too many messages wait.
    private nonisolated func said(_ text: [UInt8], in life: Int) -> Bool {
        let hasRoom = unread.withLock { unread in
            guard unread < FormsEngineLimits.pageMessages else { return false }
            unread += 1
            return true
        }
        return hasRoom && inbox.put(.said(life: life, text))
    }

    private func send(_ message: [UInt8]) {
        guard let view else { return }
        if case .dropped = view.outgoing.yield(message) {
            inbox.put(.lost(life: machine.life, reason: "The page takes nothing."))
        }
    }

    /// Does not wait: a web view that hangs must not keep the next one waiting.
    func close() {
        guard let former = view else { return }
        view = nil
        former.outgoing.finish()
        for task in former.tasks { task.cancel() }
        closing = Task { [closing] in
            await former.view.setVisible(false)
            await former.view.close()
            await closing?.value
        }
    }
}
