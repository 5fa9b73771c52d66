import GRDB
import RepriseCore
import RepriseJournal
import RepriseWire
import Synchronization

/// Performs what `FormsMachine` decides: one input after the other, each with all that follows from it.
actor FormsDriver {
    enum Input: Sendable {
        case lent([Lent])
        case opened(life: Int, session: String, Result<any WebView, any Error>)
        case said(life: Int, [UInt8])
        case lost(life: Int, reason: String)
        case catalogue(company: String, FormsCatalogue)
        case alarm
        case changed(FormsChange, CheckedContinuation<Void, any Error>)
        case slept
        case woke
        case dismiss
    }

    /// A web view with those who read it and write to it.
    struct View {
        let view: any WebView
        let outgoing: AsyncStream<[UInt8]>.Continuation
        let tasks: [Task<Void, Never>]
    }

    nonisolated let store: FormsStore
    nonisolated let configuration: Forms.Configuration
    nonisolated let states = Announcer(FormsState.idle)
    nonisolated let inbox = FormsInbox()
    /// Raised when there is a reason to ask for the catalogue.
    nonisolated let reason = Signal()
    nonisolated let answers: Forms.Answers?

    var machine: FormsMachine
    private var host: (any WebViewHost)?
    private var lents: [EntryID: (lent: Lent, arrival: FormsArrival)] = [:]
    private var view: View?
    private var closing: Task<Void, Never>?
    private var alarm: (due: Duration, task: Task<Void, Never>)?
    private var isRunning = false
    private var failure: RepriseError?
    private var catalogueFault: RepriseError?
    private var source: CatalogueSource?
    private var keeper: Task<Void, Never>?
    private var company = ""

    private var clock: any Timekeeper { configuration.timekeeper }

    init(journal: Journal, configuration: Forms.Configuration, answers: Forms.Answers?) {
        store = FormsStore(journal: journal, timekeeper: configuration.timekeeper)
        self.configuration = configuration
        self.answers = answers
        machine = FormsMachine(
            events: configuration.events,
            settings: .init(
                helloPatience: configuration.helloPatience,
                eventsPatience: configuration.eventsPatience,
                appearPatience: configuration.appearPatience),
            locale: configuration.locale)
    }

    // MARK: Running

    func run(_ host: any WebViewHost, _ source: CatalogueSource) async throws {
        guard !isRunning else {
            throw RepriseError(.badConfiguration, "The forms are running already.")
        }
        isRunning = true
        failure = nil
        (self.host, self.source) = (host, source)
        inbox.open()
        store.journal.handleBatches(of: FormsEvent.family) { [inbox] batch in
            guard !inbox.put(.lent(batch)) else { return }
            for lent in batch { lent.end(as: .back(reason: "The forms do not run.")) }
        }
        do {
            company = try await store.identity().company ?? configuration.company
            keepCatalogue()
            await perform(machine.started())
            while let input = await inbox.next() {
                await take(input)
                if failure != nil { break }
            }
        } catch {
            failure = error as? RepriseError ?? RepriseError(.internal, "\(error)")
        }
        // Not cancelled with the task: what is in hand goes back, and the web view is closed.
        await Task { await self.finish() }.value
        if let failure { throw failure }
    }

    private func finish() async {
        keeper?.cancel()
        for input in inbox.close() { leave(input) }
        await perform(machine.stopped())
        await closing?.value
        alarm?.task.cancel()
        alarm = nil
        (host, source) = (nil, nil)
        isRunning = false
        states.announce(machine.state)
    }

    /// What came too late.
    private func leave(_ input: Input) {
        switch input {
        case .lent(let batch):
            for lent in batch { lent.end(as: .back(reason: "The forms do not run.")) }
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
        case .opened, .said, .lost, .catalogue, .alarm, .slept, .woke, .dismiss: break
        }
    }

    private func take(_ input: Input) async {
        let (now, wall) = (clock.uptime(), clock.wall())
        switch input {
        case .lent(let batch): await handedOver(batch)
        case .opened(let life, let session, let result):
            await opened(life, session, result, at: now)
        case .said(let life, let text):
            inbox.messageRead()
            guard life == machine.life else { break }
            await perform(machine.said(text, at: now, wall: wall))
        case .lost(let life, let reason):
            guard life == machine.life else { break }
            await perform(machine.viewLost(reason: reason, at: now))
        case .catalogue(let company, let catalogue):
            guard company == self.company else { break }
            await perform(machine.catalogueArrived(catalogue, at: now))
        case .alarm:
            alarm = nil
            await perform(machine.timerFired(at: now))
        case .changed(let change, let continuation): await changed(change, continuation)
        case .slept: machine.slept()
        case .woke:
            machine.woke(at: now)
            reason.raise()
        case .dismiss: await perform(machine.dismiss())
        }
        arm()
        states.announce(machine.state)
    }

    private func arm() {
        guard machine.due != alarm?.due else { return }
        alarm?.task.cancel()
        alarm = machine.due.map { due in
            let task = Task { [inbox, clock] in
                do { try await clock.sleep(until: due) } catch { return }
                _ = inbox.put(.alarm)
            }
            return (due, task)
        }
    }

    // MARK: Events

    private func handedOver(_ batch: [Lent]) async {
        var arrivals: [FormsArrival] = []
        for lent in batch {
            do {
                let arrival = FormsArrival(
                    id: lent.entry.id, content: try EventContent(payload: lent.entry.payload),
                    recordedAt: lent.entry.recordedAt, attempt: lent.entry.attempt)
                lents[arrival.id] = (lent, arrival)
                arrivals.append(arrival)
            } catch {
                lent.end(HandOverFailure.permanent("The event cannot be read: \(error)"))
            }
        }
        do {
            let tried = arrivals.filter { $0.attempt > 1 }.map(\.id)
            let doubtful = tried.isEmpty ? [] : try await store.doubtful(tried)
            await perform(
                machine.lent(
                    arrivals, doubtful: doubtful, at: clock.uptime(), wall: clock.wall()))
        } catch {
            let failure = HandOverFailure.notReady("The journal cannot be read: \(error)")
            for arrival in arrivals { lents.removeValue(forKey: arrival.id)?.lent.end(failure) }
        }
    }

    private func deliverLate(_ id: EntryID) {
        guard let (lent, arrival) = lents.removeValue(forKey: id) else { return }
        Task { [late = configuration.late] in
            do {
                try await late?(FormsOccurrence(arrival))
                lent.end(as: .ended(.applied, reason: "delivered late"))
            } catch {
                lent.end(error)
            }
        }
    }

    // MARK: Performing

    func perform(_ actions: [FormsMachine.Action]) async {
        for action in actions {
            switch action {
            case .open(let life): open(life)
            case .close: close()
            case .setReadiness(let readiness, let isOpen):
                if isOpen {
                    await store.journal.open(readiness)
                } else {
                    await store.journal.close(readiness)
                }
            case .send(let message): send(message)
            case .setVisible(let isVisible): await view?.view.setVisible(isVisible)
            case .askLeave(let event, let form, let catalogue):
                await askLeave(event, form, catalogue)
            case .end(let id, let outcome, let reason, let showing):
                lents.removeValue(forKey: id)?.lent.end(
                    as: .ended(outcome, reason: reason), alongside: showing.map(store.appeared))
            case .giveBack(let id, let reason, let isInDoubt):
                lents.removeValue(forKey: id)?.lent.end(
                    as: .back(reason: reason, isInDoubt: isInDoubt))
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
        _ event: EntryID, _ form: String, _ catalogue: FormsCatalogue
    ) async {
        do {
            let leave = try await store.leave(for: event, form: form, in: catalogue)
            await perform(
                machine.leaveDecided(leave, for: event, form: form, at: clock.uptime()))
        } catch {
            note(error)
            await perform(
                machine.viewLost(
                    reason: "The journal cannot be written: \(error)", at: clock.uptime()))
        }
    }

    private func submit(_ id: String, _ answers: [UInt8], _ screen: FormsMachine.FormOnScreen) async
    {
        await record(id) { [store, record = self.answers] in
            guard let record else {
                throw RepriseError(.refused, "Nobody takes answers.")
            }
            try await store.submit(id, answers, screen, record: record)
        }
    }

    /// Answers the page once it is durable, or says why it will not be.
    private func record(_ id: String, _ body: () async throws -> Void) async {
        do {
            try await body()
            send(HostMessage.recorded(id))
        } catch {
            note(error)
            send(
                HostMessage.refused(id, reason: (error as? RepriseError)?.code.name ?? "internal"))
        }
    }

    /// Whether the journal is ours no more: then there is no use in going on.
    private func note(_ error: any Error) {
        guard let error = error as? RepriseError else { return }
        if error.code == .ownershipLost || error.code == .closed { failure = error }
    }

    // MARK: Web views

    private func open(_ life: Int) {
        guard let host else { return }
        let session = EntryID.random().text
        Task { [inbox] in
            let result: Result<any WebView, any Error>
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
        _ life: Int, _ session: String, _ result: Result<any WebView, any Error>, at now: Duration
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

    private func attach(_ view: any WebView, _ life: Int) -> View {
        let (outgoing, continuation) = AsyncStream.makeStream(
            of: [UInt8].self, bufferingPolicy: .bufferingOldest(FormsDoorLimits.pageMessages))
        let reader = Task { [inbox] in
            for await event in view.events {
                switch event {
                case .message(let text):
                    guard inbox.said(text, in: life) else {
                        _ = inbox.put(.lost(life: life, reason: "The page says too much."))
                        return
                    }
                case .terminated(let reason): _ = inbox.put(.lost(life: life, reason: reason))
                }
            }
            _ = inbox.put(.lost(life: life, reason: "The web view has ended."))
        }
        let writer = Task { [inbox] in
            for await message in outgoing {
                do {
                    try await view.send(message)
                } catch {
                    guard !Task.isCancelled else { return }
                    _ = inbox.put(.lost(life: life, reason: "The page takes nothing: \(error)"))
                    return
                }
            }
        }
        return View(view: view, outgoing: continuation, tasks: [reader, writer])
    }

    private func send(_ message: [UInt8]) {
        guard let view else { return }
        if case .dropped = view.outgoing.yield(message) {
            _ = inbox.put(.lost(life: machine.life, reason: "The page takes nothing."))
        }
    }

    /// Does not wait: a web view that hangs must not keep the next one waiting.
    private func close() {
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

    // MARK: Whose they are

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
            note(error)
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
                _ = inbox.put(.catalogue(company: company, $0))
            }, failed: { [weak self] in await self?.catalogueFailed($0) })
        self.keeper = Task { try? await keeper.run() }
    }

    private func catalogueFailed(_ error: RepriseError?) { catalogueFault = error }

    var insight: FormsInsight {
        var insight = FormsInsight(state: machine.state)
        insight.catalogue = machine.catalogueVersion
        insight.inHand = machine.inHand
        insight.tally = machine.tally
        insight.catalogueFault = catalogueFault?.description
        return insight
    }
}
