package import RepriseCore
package import RepriseWire

/// Decides the messages to the page, the state of its gates, and the outcome of its events in
/// flight.
///
/// `stopped → opening → loaded → handshaken`, and back to `opening` whenever the web view dies or
/// must be replaced: at most three times a minute, then `resting`. An event is in flight from
/// `delivery` until the page reports its outcome; when the page is gone, all events in flight
/// return to the journal for the next one.
package struct FormsMachine: Sendable {
    package struct Settings: Hashable, Sendable {
        /// How long a page may take for its `hello`, and for taking over a catalogue.
        package var helloTimeout: Duration = .seconds(10)
        /// Timeout for the page to report the outcome of an event.
        package var eventsTimeout: Duration = .seconds(30)
        /// How long a form that was granted may take to appear.
        package var appearTimeout: Duration = .seconds(10)
        /// How long the app may take to decide about a form.
        package var decisionTimeout: Duration = .seconds(5)
    }

    package enum Action: Hashable, Sendable {
        /// Make a web view; its life has this number.
        case open(life: Int)
        case close
        case setReadiness(Readiness, isOpen: Bool)
        case send([UInt8])
        case setVisible(Bool)
        /// Ask the store; answered with ``leaveDecided(_:for:form:at:wall:)`` or
        /// ``leaveFailed(for:form:reason:at:wall:)``. The app has decided already, or is asked
        /// first.
        case askLeave(event: EntryID, form: String, catalogue: FormsCatalogue, isDecided: Bool)
        /// Ask the app; answered with ``appDecided(_:_:at:wall:)``.
        case askApp(question: Int, FormsArrival, form: String, catalogue: FormsCatalogue)
        /// The journal keeps it for this long, and why, then dispatches it again.
        case putOff(EntryID, by: Duration, FormsDecisionRow)
        /// Acknowledges an event with its outcome; `appeared` is the showing that is marked with
        /// it.
        case end(EntryID, as: Outcome, reason: String, appeared: String?)
        /// In doubt: its form was granted, may have appeared, and was not reported.
        case giveBack(EntryID, reason: String, isInDoubt: Bool)
        /// The journal keeps it for this long, then dispatches it again.
        case postpone(EntryID, by: Duration, reason: String)
        /// Its time is up, and the app gets it instead of the page.
        case deliverLate(EntryID)
        case dismissed(showing: String, how: String)
        case perform(PageMessage.Action, id: String, event: EntryID, form: String)
        case submit(id: String, answers: [UInt8], FormOnScreen)
        /// The catalogue that is cached is of no use.
        case fetchCatalogue
    }

    package struct FormOnScreen: Hashable, Sendable {
        package var showing: PageMessage.Showing
        package var catalogue: String
    }

    private enum Phase: Hashable {
        case stopped
        case opening
        /// Its page has to say hello.
        case loaded
        case handshaken
        /// Its page is from another time.
        case incompatible
        /// Too many were lost; the next is made at this moment.
        case resting(until: Duration)
    }

    /// An alarm later than this means that the process was suspended: the elapsed time does not
    /// count.
    private static let suspension: Duration = .seconds(5)
    /// How long an event waits whose form the store could not decide, by its deliveries.
    static let undecidable = Backoff()

    private let settings: Settings
    private let events: [String: FormsEvent]
    private let locale: String
    private let theme: FormsTheme?
    private var phase: Phase = .stopped
    /// The number of the web view that is there or being made.
    package private(set) var life = 0
    private var session = ""
    private var lastNumber: Int64 = 0
    /// Whether its page returns events with a long wait: then it may not be silent for long.
    private var givesBack = false
    /// When the page last spoke, or could not before.
    private var heardAt: Duration = .zero
    /// The source's newest; the page may not have it yet.
    private var newest: FormsCatalogue?
    /// Sent to the page and not yet answered, and when.
    private var offered: (catalogue: FormsCatalogue, at: Duration)?
    private var inUse: FormsCatalogue?
    private var slots = FormsSlots()
    /// Counts the questions to the app.
    private var questions = 0
    package private(set) var onScreen: FormOnScreen?
    /// When web views were replaced, in the last minute.
    private var replacements: [Duration] = []
    private(set) var isAsleep = false
    private var loadedAt: Duration = .zero
    package private(set) var tally = FormsTally()

    package init(
        events: [FormsEvent], settings: Settings = Settings(), locale: String = "en",
        theme: FormsTheme? = nil
    ) {
        self.events = Dictionary(events.map { ($0.name, $0) }) { first, _ in first }
        self.settings = settings
        self.locale = locale
        self.theme = theme
    }

    /// The current state.
    package var state: FormsState {
        switch phase {
        case .stopped: .idle
        case .opening: .opening
        case .loaded: .handshaking
        case .handshaken:
            if let onScreen {
                .showing(onScreen.showing.form)
            } else if inUse == nil {
                .waitingForCatalogue
            } else {
                .ready
            }
        case .incompatible: .incompatible
        case .resting: .stalled
        }
    }

    package var catalogueVersion: String? { inUse?.version }
    package var inFlight: Int { slots.count }

    // MARK: Time

    /// The next deadline; nil: none.
    package var due: Duration? {
        guard !isAsleep else { return nil }
        switch phase {
        case .stopped, .opening, .incompatible: return nil
        case .loaded: return helloDue
        case .resting(let until): return until
        case .handshaken:
            return [slots.due(settings), catalogueDue, silenceDue].compactMap { $0 }.min()
        }
    }

    private var helloDue: Duration { loadedAt + settings.helloTimeout }

    /// Only the first one: a later one takes over when the screen is free; until then one is in
    /// use.
    private var catalogueDue: Duration? {
        inUse == nil ? offered.map { $0.at + settings.helloTimeout } : nil
    }

    /// The page reported waiting events, and the screen is free: it must request one soon, or it
    /// hangs.
    ///
    /// A page that keeps events with a long wait may be silent until their time.
    private var silenceDue: Duration? {
        guard onScreen == nil, slots.areSilent else { return nil }
        let kept = givesBack ? 0 : inUse?.longestDelay ?? 0
        return heardAt + .seconds(kept) + settings.eventsTimeout
    }

    package mutating func timerFired(at now: Duration, wall: WallTime) -> [Action] {
        guard let due, due <= now else { return [] }
        // Only a page can miss a deadline.
        if case .resting = phase { return open() }
        if now - due > Self.suspension {
            resumed(at: now)
            return []
        }
        switch phase {
        case .stopped, .opening, .incompatible, .resting: return []
        case .loaded: return replace("The page did not say hello.", at: now)
        case .handshaken:
            if let catalogueDue, catalogueDue <= now {
                return replace("The page did not take the catalogue over.", at: now)
            }
            if let question = slots.overdue(at: now - settings.decisionTimeout) {
                return undecided(question, at: now, wall: wall)
            }
            if let silenceDue, silenceDue <= now { slots.resendWaiting(at: now) }
            return replace("The page did not say what became of an event.", at: now)
        }
    }

    /// The app is in the background, where a page may not run: no timeout applies there.
    package mutating func slept() { isAsleep = true }

    package mutating func woke(at now: Duration) {
        guard isAsleep else { return }
        isAsleep = false
        resumed(at: now)
    }

    /// The page has not run either: before its first deadline it gets time to answer.
    private mutating func resumed(at now: Duration) {
        if let due, due < now + settings.helloTimeout {
            moveDeadlines(by: now + settings.helloTimeout - due)
        }
    }

    private mutating func moveDeadlines(by step: Duration) {
        loadedAt += step
        heardAt += step
        if let at = offered?.at { offered?.at = at + step }
        slots.moveDeadlines(by: step)
    }

    // MARK: The web view

    /// The app runs the feature.
    package mutating func started() -> [Action] {
        guard phase == .stopped else { return [] }
        return [.setReadiness(.sdk, isOpen: true)] + open()
    }

    /// The app no longer runs the feature.
    package mutating func stopped() -> [Action] {
        guard phase != .stopped else { return [] }
        let actions = leave("The app runs the forms no more.")
        phase = .stopped
        return actions + [.setReadiness(.sdk, isOpen: false)]
    }

    /// The user or the company has changed: the former page is closed.
    package mutating func cleared(reason: String, keepsCatalogue: Bool) -> [Action] {
        if !keepsCatalogue { newest = nil }
        slots.acquit()
        guard phase != .stopped else { return [] }
        return leave(reason) + open()
    }

    /// The app dismisses the form on the screen.
    ///
    /// The page drops its events in flight with it, so they are dispatched again.
    package mutating func dismiss() -> [Action] {
        guard onScreen != nil else { return [] }
        return [.send(HostMessage.dismiss(reason: "host"))]
            + behindClosedGate(
                slots.removeAll().map {
                    .giveBack(
                        $0.arrival.id, reason: "The app has taken the form away.",
                        isInDoubt: $0.isGranted)
                })
    }

    /// The web view is open; each of its page's messages must name the session.
    package mutating func viewOpened(session: String, at now: Duration) -> [Action] {
        guard phase == .opening else { return [] }
        phase = .loaded
        loadedAt = now
        self.session = session
        lastNumber = 0
        return [.setReadiness(.webView, isOpen: true)]
    }

    /// The web view failed to open, or has gone.
    package mutating func viewLost(reason: String, at now: Duration) -> [Action] {
        switch phase {
        case .stopped, .resting: []
        case .opening, .loaded, .handshaken, .incompatible: replace(reason, at: now)
        }
    }

    private mutating func open() -> [Action] {
        life += 1
        phase = .opening
        return [.open(life: life)]
    }

    /// Closes the gates and the web view, and opens another as soon as it may.
    private mutating func replace(_ reason: String, at now: Duration) -> [Action] {
        tally.lastFault = reason
        slots.pageEnded()
        let actions = leave(reason)
        replacements.removeAll { $0 + .seconds(60) <= now }
        guard replacements.count < FormsEngineLimits.replacements else {
            phase = .resting(until: (replacements.first ?? now) + .seconds(60))
            return actions
        }
        replacements.append(now)
        tally.replacements += 1
        return actions + open()
    }

    /// Gates close first: returned events must not come back at once.
    private mutating func leave(_ reason: String) -> [Action] {
        var actions: [Action] = [.formsData, .handshake, .webView].map {
            .setReadiness($0, isOpen: false)
        }
        for slot in slots.removeAll() { actions.append(giveBackOrEnd(slot, reason)) }
        offered = nil
        inUse = nil
        if let screen = onScreen {
            actions.append(.dismissed(showing: screen.showing.id, how: "lost"))
        }
        onScreen = nil
        return actions + [.close]
    }

    private mutating func giveBackOrEnd(_ slot: FormsSlots.Slot, _ reason: String) -> Action {
        let id = slot.arrival.id
        guard slots.isDeadly(id) else {
            return .giveBack(id, reason: reason, isInDoubt: slot.isGranted)
        }
        tally.count(.error)
        return .end(
            id, as: .dead,
            reason:
                "The page ended \(FormsEngineLimits.deathsOfOneEvent) times while it had this event alone.",
            appeared: nil)
    }

    // MARK: Catalogues

    /// The source has a catalogue.
    package mutating func catalogueArrived(_ catalogue: FormsCatalogue, at now: Duration)
        -> [Action]
    {
        newest = catalogue
        return offer(at: now)
    }

    private mutating func offer(at now: Duration) -> [Action] {
        // One at a time: the page takes over between events, and would pass over one that a newer
        // one follows.
        guard phase == .handshaken, offered == nil else { return [] }
        guard let newest, newest != inUse else { return [] }
        offered = (newest, now)
        return [.send(HostMessage.catalogue(newest))]
    }

    // MARK: Events on their way to the page

    /// The journal delivers events, in the order recorded; a form of the doubtful ones was granted
    /// to an earlier page and never reported as shown.
    package mutating func delivery(
        _ arrivals: [FormsArrival], doubtful: Set<EntryID>, at now: Duration, wall: WallTime
    ) -> [Action] {
        var (actions, early): ([Action], [Action]) = ([], [])
        for arrival in arrivals {
            let rules = events[arrival.content.name]
            if rules?.onInterruption == .never, doubtful.contains(arrival.id) {
                tally.count(.unconfirmed)
                actions.append(
                    .end(
                        arrival.id, as: .unconfirmed,
                        reason: "A form was granted, and nobody knows whether it appeared.",
                        appeared: nil))
            } else if phase == .handshaken, inUse != nil {
                guard arrival.mayOvertake else {
                    slots.add(arrival)
                    continue
                }
                early.append(
                    .giveBack(
                        arrival.id, reason: "Events recorded before it come first.",
                        isInDoubt: false))
            } else if let rules, rules.then == .deliver, let life = rules.timeToLive,
                arrival.recordedAt.advanced(by: life) <= wall
            {
                tally.count(.late)
                actions.append(.deliverLate(arrival.id))
            } else {
                actions.append(
                    .giveBack(
                        arrival.id, reason: "There is no page for it any more.", isInDoubt: false))
            }
        }
        return actions + behindClosedGate(early) + send(at: now, wall: wall)
    }

    /// Gives events back in a way that nothing newer goes before them.
    ///
    /// What the journal dispatches meanwhile, or has dispatched and is not looked at yet, may
    /// overtake them: each closing of the gate marks it so.
    private func behindClosedGate(_ back: [Action]) -> [Action] {
        guard !back.isEmpty else { return [] }
        return [.setReadiness(.formsData, isOpen: false)] + back
            + [.setReadiness(.formsData, isOpen: true)]
    }

    /// Sends queued events.
    private mutating func send(at now: Duration, wall: WallTime) -> [Action] {
        var actions: [Action] = []
        while let batch = slots.nextBatch(at: now) {
            actions.append(.send(HostMessage.events(batch, now: wall)))
        }
        return actions
    }

    /// The page reports the outcome of an event; later reports are ignored.
    private mutating func settle(_ handled: PageMessage.Handled) -> [Action] {
        let id = handled.id
        guard slots.stage(of: id) != nil else {
            tally.late += 1
            return []
        }
        switch handled.result {
        case .noMatch: return end(id, .noMatch, as: .applied, "noMatch")
        case .suppressed(let form, let reason):
            let words = ["suppressed", form, reason].compactMap { $0 }
            return end(id, .suppressed, as: .applied, words.joined(separator: " "))
        case .expired(let reason):
            let words = ["expired", reason].compactMap { $0 }
            return end(id, .expired, as: .expired, words.joined(separator: " "))
        case .error(let reason):
            return end(id, .error, as: .dead, "error: \(reason ?? "no reason given")")
        case .shown:
            // It counts when its form has appeared, and that ends it.
            tally.late += 1
            return []
        }
    }

    /// The page gives an event back whose form's time is far off, so that it holds no place until
    /// then.
    private mutating func postpone(_ event: PageMessage.Postponed, wall: WallTime) -> [Action] {
        switch slots.stage(of: event.id) {
        case nil:
            tally.late += 1
            return []
        case .queued, .asked, .deciding, .granted:
            tally.malformed += 1
            return []
        case .sent, .waiting: break
        }
        slots.remove(event.id)
        tally.postponed += 1
        return [
            .postpone(
                event.id, by: Self.bounded(wall.duration(to: event.until)),
                reason: "The time of its form has not come.")
        ]
    }

    /// At least a second, so that a page whose clock is wrong, or an app, is not asked again and
    /// again.
    private static func bounded(_ wait: Duration) -> Duration {
        min(
            max(wait, FormsEngineLimits.shortestPostponement),
            .seconds(FormsEngineLimits.postponement))
    }

    private mutating func end(
        _ event: EntryID, _ count: FormsTally.Ending, as outcome: Outcome, _ reason: String,
        appeared: String? = nil
    ) -> [Action] {
        var actions: [Action] = []
        // Its form was granted and could not be drawn: the app's own screen is free again.
        if case .granted = slots.stage(of: event), appeared == nil {
            actions.append(.setVisible(false))
        }
        slots.end(event)
        tally.count(count)
        return actions + [.end(event, as: outcome, reason: reason, appeared: appeared)]
    }

    // MARK: The page

    /// A message of the page, as it came.
    package mutating func said(_ text: [UInt8], at now: Duration, wall: WallTime) -> [Action] {
        switch phase {
        case .stopped, .opening, .resting: return []
        case .loaded, .handshaken, .incompatible: break
        }
        guard let message = try? PageMessage(text) else {
            tally.malformed += 1
            return []
        }
        guard message.session == session else {
            tally.forged += 1
            return []
        }
        guard message.number == lastNumber + 1 else {
            tally.outOfOrder += 1
            return replace("A message of the page is missing or came twice.", at: now)
        }
        lastNumber = message.number
        heardAt = now
        if case .hello(let runtime, let protocols) = message.body {
            return hello(runtime, protocols, at: now, wall: wall)
        }
        guard phase == .handshaken else {
            tally.malformed += 1
            return []
        }
        return heard(message.body, at: now, wall: wall) + send(at: now, wall: wall)
    }

    private mutating func hello(
        _ runtime: String, _ protocols: [Int64], at now: Duration, wall: WallTime
    ) -> [Action] {
        guard phase == .loaded else {
            tally.malformed += 1
            return []
        }
        guard let version = HostMessage.protocols.last(where: protocols.contains) else {
            phase = .incompatible
            tally.lastFault = "The page's runtime \(runtime.prefix(64)) speaks \(protocols)."
            return [.send(HostMessage.incompatible())]
        }
        phase = .handshaken
        givesBack = version >= 2
        let welcome: [Action] = [
            .send(
                HostMessage.welcome(speaking: version, now: wall, locale: locale, theme: theme)),
            .setReadiness(.handshake, isOpen: true),
        ]
        return welcome + (newest == nil ? [.send(HostMessage.catalogue(nil))] : offer(at: now))
    }

    private mutating func heard(_ body: PageMessage.Body, at now: Duration, wall: WallTime)
        -> [Action]
    {
        switch body {
        case .hello: return []  // answered before
        case .formsData(let version): return tookOver(version, at: now)
        case .catalogueRefused(let version, let reason, let path):
            return refused(version, "\(reason) \(path)", at: now)
        case .showing(let event, let form): return wants(event, form)
        case .willAppear: return []
        case .didAppear(let showing): return appeared(showing)
        case .didDismiss(_, let showing, let how): return dismissed(showing, how, at: now)
        case .action(_, let showing, let id, let action):
            guard let screen = screen(showing) else { return refuse(id) }
            return [
                .perform(action, id: id, event: screen.showing.event, form: screen.showing.form)
            ]
        case .submit(_, let showing, let id, let answers):
            guard let screen = screen(showing) else { return refuse(id) }
            return [.submit(id: id, answers: answers, screen)]
        case .waiting(let events):
            for event in events {
                if case .sent = slots.stage(of: event) { slots.set(.waiting, of: event) }
            }
            return []
        case .later(let events): return events.flatMap { postpone($0, wall: wall) }
        case .handled(let events): return events.flatMap { settle($0) }
        case .log(let level, let text):
            tally.lastLog = "\(level): \(text)"
            return []
        case .fault(let reason, let about):
            tally.lastFault = "The page says: \(reason) \(about)"
            return []
        case .unknown:
            tally.unknown += 1
            return []
        case .malformed(let type, let why):
            tally.malformed += 1
            tally.lastFault = "A message \(type) of the page: \(why)"
            return []
        }
    }

    // MARK: Catalogues

    private mutating func tookOver(_ version: String, at now: Duration) -> [Action] {
        guard let offer = offered, offer.catalogue.version == version else {
            tally.malformed += 1
            return []
        }
        offered = nil
        let isFirst = inUse == nil
        inUse = offer.catalogue
        return (isFirst ? [.setReadiness(.formsData, isOpen: true)] : []) + self.offer(at: now)
    }

    private mutating func refused(_ version: String, _ why: String, at now: Duration) -> [Action] {
        guard let offer = offered, offer.catalogue.version == version else {
            tally.malformed += 1
            return []
        }
        tally.lastFault = "The page refuses the catalogue \(version): \(why)"
        tally.cataloguesRefused += 1
        offered = nil
        if newest == offer.catalogue {
            newest = inUse
            return [.fetchCatalogue]
        }
        return self.offer(at: now)
    }

    // MARK: Forms

    private mutating func wants(_ event: EntryID, _ form: String) -> [Action] {
        guard let stage = slots.stage(of: event), let inUse else {
            return [.send(HostMessage.denied(event: event, form: form, reason: "settled"))]
        }
        switch stage {
        case .queued, .asked, .deciding, .granted:
            tally.malformed += 1
            return []
        case .sent, .waiting:
            slots.set(.asked(form: form), of: event)
            return [.askLeave(event: event, form: form, catalogue: inUse, isDecided: false)]
        }
    }

    /// The store has decided about ``Action/askLeave(event:form:catalogue:isDecided:)``.
    package mutating func leaveDecided(
        _ leave: FormsStore.Permission, for event: EntryID, form: String, at now: Duration,
        wall: WallTime
    ) -> [Action] {
        guard slots.stage(of: event) == .asked(form: form) else { return [] }
        heardAt = now  // it has waited for this answer
        switch leave {
        case .granted(let id):
            let showing = PageMessage.Showing(event: event, form: form, id: id)
            slots.set(.granted(showing, at: now), of: event)
            return [.setVisible(true), .send(HostMessage.granted(showing))]
        case .denied(let reason):
            slots.set(.sent(at: now), of: event)
            return [.send(HostMessage.denied(event: event, form: form, reason: reason))]
        case .undecided:
            guard let arrival = slots.arrival(of: event), let inUse else { return [] }
            questions += 1
            slots.set(.deciding(form: form, question: questions, at: now), of: event)
            return [.askApp(question: questions, arrival, form: form, catalogue: inUse)]
        case .postponed(let until, let wait):
            let row = FormsDecisionRow(form: form, reason: "quiet", until: until)
            return putOff(event, by: wait, row, at: now, wall: wall)
        }
    }

    /// The store could not decide, as on a full disk: the page is not at fault, and goes on without
    /// this event.
    package mutating func leaveFailed(
        for event: EntryID, form: String, reason: String, at now: Duration, wall: WallTime
    ) -> [Action] {
        guard slots.stage(of: event) == .asked(form: form), let arrival = slots.arrival(of: event)
        else { return [] }
        tally.lastFault = reason
        let gone = forget(event, form, at: now)
        slots.remove(event)
        let wait = Self.undecidable.ceiling(failures: arrival.attempt)
        return gone + [.postpone(event, by: wait, reason: reason)] + send(at: now, wall: wall)
    }

    /// Whether the answer to a question to the app still counts.
    package func isOpen(question: Int) -> Bool { slots.deciding(question) != nil }

    /// The app has decided about ``Action/askApp(question:_:form:catalogue:)``.
    package mutating func appDecided(
        _ question: Int, _ decision: FormsDecision, at now: Duration, wall: WallTime
    ) -> [Action] {
        guard let (arrival, form) = slots.deciding(question), let inUse else {
            tally.late += 1
            return []
        }
        let event = arrival.id
        switch decision {
        case .show:
            slots.set(.asked(form: form), of: event)
            return [.askLeave(event: event, form: form, catalogue: inUse, isDecided: true)]
        case .later(let wait):
            return putOff(event, by: wait, form, "the app: later", at: now, wall: wall)
        case .no(let reason):
            let reason = String(reason.prefix(FormsEngineLimits.vetoCharacters))
            let gone = forget(event, form, at: now)
            return gone
                + end(event, .vetoed, as: .applied, "vetoed \(form) \(reason)")
                + send(at: now, wall: wall)
        }
    }

    /// The app did not decide in time; a late answer is ignored.
    private mutating func undecided(_ question: Int, at now: Duration, wall: WallTime) -> [Action] {
        guard let (arrival, form) = slots.deciding(question) else { return [] }
        tally.undecided += 1
        tally.lastFault = "The app did not say whether the form \(form) may be shown."
        return putOff(
            arrival.id, by: FormsEngineLimits.undecided, form, "the app: no answer", at: now,
            wall: wall)
    }

    private mutating func putOff(
        _ event: EntryID, by wait: Duration, _ form: String, _ reason: String, at now: Duration,
        wall: WallTime
    ) -> [Action] {
        let until = wall.advanced(by: Self.bounded(wait))
        let row = FormsDecisionRow(form: form, reason: reason, until: until)
        return putOff(event, by: wait, row, at: now, wall: wall)
    }

    private mutating func putOff(
        _ event: EntryID, by wait: Duration, _ row: FormsDecisionRow, at now: Duration,
        wall: WallTime
    ) -> [Action] {
        tally.putOff += 1
        let gone = forget(event, row.form, at: now)
        slots.remove(event)
        return gone + [.putOff(event, by: Self.bounded(wait), row)] + send(at: now, wall: wall)
    }

    /// The page forgets an event, as one that is over.
    private mutating func forget(_ event: EntryID, _ form: String, at now: Duration) -> [Action] {
        heardAt = now  // it has waited for this answer
        return [.send(HostMessage.denied(event: event, form: form, reason: "settled"))]
    }

    private mutating func appeared(_ showing: PageMessage.Showing) -> [Action] {
        guard case .granted(showing, _) = slots.stage(of: showing.event), let inUse else {
            tally.late += 1
            return []
        }
        onScreen = FormOnScreen(showing: showing, catalogue: inUse.version)
        return end(
            showing.event, .shown, as: .applied, "shown \(showing.form)", appeared: showing.id)
    }

    private mutating func dismissed(_ showing: String, _ how: String, at now: Duration) -> [Action]
    {
        guard screen(showing) != nil else {
            tally.late += 1
            return []
        }
        onScreen = nil
        slots.screenBecameFree(at: now)
        return [.setVisible(false), .dismissed(showing: showing, how: how)]
    }

    private func screen(_ showing: String) -> FormOnScreen? {
        onScreen?.showing.id == showing ? onScreen : nil
    }

    private func refuse(_ id: String) -> [Action] {
        [.send(HostMessage.refused(id, reason: "notShowing"))]
    }
}
