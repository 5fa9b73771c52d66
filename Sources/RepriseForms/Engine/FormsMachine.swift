package import RepriseCore
package import RepriseWire

/// Decides the messages to the page, the state of its gates, and the outcome of its events in
/// flight.
///
/// `stopped → opening → loaded → handshaken`, and back to `opening` whenever the web view dies or
/// must be replaced: at most three times a minute, then `resting`. An event is in flight from
/// `lent` until the page reports its outcome; when the page is gone, all events in flight return to
/// the journal for the next one.
package struct FormsMachine: Sendable {
    package struct Settings: Hashable, Sendable {
        /// How long a page may take for its `hello`, and for taking over a catalogue.
        package var helloTimeout: Duration = .seconds(10)
        /// Timeout for the page to report the outcome of an event.
        package var eventsTimeout: Duration = .seconds(30)
        /// How long a form that was granted may take to appear.
        package var appearTimeout: Duration = .seconds(10)
    }

    package enum Action: Hashable, Sendable {
        /// Make a web view; its life has this number.
        case open(life: Int)
        case close
        case setReadiness(Readiness, isOpen: Bool)
        case send([UInt8])
        case setVisible(Bool)
        /// Ask the store; answered with ``leaveDecided(_:for:form:now:)``.
        case askLeave(event: EntryID, form: String, catalogue: FormsCatalogue)
        /// Acknowledges an event with its outcome; `appeared` is the showing that is marked with
        /// it.
        case end(EntryID, as: Outcome, reason: String, appeared: String?)
        /// In doubt: its form was granted, may have appeared, and was not reported.
        case giveBack(EntryID, reason: String, isInDoubt: Bool)
        /// The journal keeps it for this long, then dispatches it again.
        case postpone(EntryID, by: Duration)
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

    enum Phase: Hashable {
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

    struct Slot {
        enum Stage: Hashable {
            /// The page has it soon.
            case queued
            case sent(at: Duration)
            /// The page has evaluated it; its form waits for its time or for the screen.
            case waiting
            /// It requested permission to show this form.
            case asked(form: String)
            case granted(PageMessage.Showing, at: Duration)
        }

        let arrival: FormsArrival
        var stage: Stage

        /// Whether a form was granted for it and not yet reported as shown.
        var isGranted: Bool { if case .granted = stage { true } else { false } }

        /// Whether the page waits for an answer, or for its form.
        var isAboutToAppear: Bool {
            switch stage {
            case .asked, .granted: true
            case .queued, .sent, .waiting: false
            }
        }
    }

    /// An alarm later than this means that the process was suspended: the elapsed time does not
    /// count.
    static let suspension: Duration = .seconds(5)

    let settings: Settings
    let events: [String: FormsEvent]
    let locale: String
    var phase: Phase = .stopped
    /// The number of the web view that is there or being made.
    package internal(set) var life = 0
    var session = ""
    var lastNumber: Int64 = 0
    /// Whether its page returns events with a long wait: then it may not be silent for long.
    var givesBack = false
    /// When the page last spoke, or could not before.
    var heardAt: Duration = .zero
    /// The source's newest; the page may not have it yet.
    var newest: FormsCatalogue?
    /// Sent to the page and not yet answered, and when.
    var offered: (catalogue: FormsCatalogue, at: Duration)?
    var inUse: FormsCatalogue?
    /// In order of dispatch.
    var slots: [Slot] = []
    package internal(set) var onScreen: FormOnScreen?
    /// How many events go one by one, because one of them may have killed a page.
    var careful = 0
    var deaths: [EntryID: Int] = [:]
    /// When web views were replaced, in the last minute.
    var replacements: [Duration] = []
    var isAsleep = false
    package internal(set) var tally = FormsTally()

    package init(
        events: [FormsEvent], settings: Settings = Settings(), locale: String = "en"
    ) {
        self.events = Dictionary(events.map { ($0.name, $0) }) { first, _ in first }
        self.settings = settings
        self.locale = locale
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

    // MARK: Events

    /// The next deadline; nil: none.
    package var due: Duration? {
        guard !isAsleep else { return nil }
        switch phase {
        case .stopped, .opening, .incompatible: return nil
        case .loaded: return helloDue
        case .resting(let until): return until
        case .handshaken:
            let others = [catalogueDue, silenceDue].compactMap { $0 }
            return (slots.compactMap { due(of: $0) } + others).min()
        }
    }

    var loadedAt: Duration = .zero
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
        guard onScreen == nil, slots.contains(where: { $0.stage == .waiting }),
            !slots.contains(where: \.isAboutToAppear)
        else { return nil }
        let kept = givesBack ? 0 : inUse?.longestDelay ?? 0
        return heardAt + .seconds(kept) + settings.eventsTimeout
    }

    /// Of those that wait for the screen the page has said so.
    private func due(of slot: Slot) -> Duration? {
        switch slot.stage {
        case .queued, .waiting, .asked: nil
        case .sent(let at): at + settings.eventsTimeout
        case .granted(_, let at): at + settings.appearTimeout
        }
    }

    package mutating func timerFired(at now: Duration) -> [Action] {
        guard let due, due <= now else { return [] }
        if now - due > Self.suspension {
            moveDeadlines(by: now - due)
            return []
        }
        switch phase {
        case .stopped, .opening, .incompatible: return []
        case .loaded: return replace("The page did not say hello.", at: now)
        case .resting: return open()
        case .handshaken:
            if let catalogueDue, catalogueDue <= now {
                return replace("The page did not take the catalogue over.", at: now)
            }
            if let silenceDue, silenceDue <= now { suspectWaiting(at: now) }
            return replace("The page did not say what became of an event.", at: now)
        }
    }

    /// The app is in the background, where a page may not run: no timeout applies there.
    package mutating func slept() { isAsleep = true }

    package mutating func woke(at now: Duration) {
        guard isAsleep else { return }
        isAsleep = false
        if let due, due < now + settings.helloTimeout {
            moveDeadlines(by: now + settings.helloTimeout - due)
        }
    }

    private mutating func moveDeadlines(by step: Duration) {
        loadedAt += step
        heardAt += step
        if let at = offered?.at { offered?.at = at + step }
        for index in slots.indices {
            switch slots[index].stage {
            case .queued, .waiting, .asked: break
            case .sent(let at): slots[index].stage = .sent(at: at + step)
            case .granted(let showing, let at):
                slots[index].stage = .granted(showing, at: at + step)
            }
        }
        if case .resting(let until) = phase { phase = .resting(until: until + step) }
    }
}
