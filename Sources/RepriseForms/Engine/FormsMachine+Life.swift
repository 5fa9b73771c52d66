import RepriseCore
package import RepriseWire

/// The life of a web view, from its making to its end.
extension FormsMachine {
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
        deaths = [:]
        careful = 0
        guard phase != .stopped else { return [] }
        return leave(reason) + open()
    }

    /// The app dismisses the form on the screen.
    ///
    /// The page drops its events in flight with it, so they are dispatched again.
    package mutating func dismiss() -> [Action] {
        guard onScreen != nil else { return [] }
        defer { slots = [] }
        return [.send(HostMessage.dismiss(reason: "host"))]
            + behindClosedGate(
                slots.map {
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

    mutating func open() -> [Action] {
        life += 1
        phase = .opening
        return [.open(life: life)]
    }

    /// Closes the gates and the web view, and opens another as soon as it may.
    mutating func replace(_ reason: String, at now: Duration) -> [Action] {
        tally.lastFault = reason
        suspect(reason)
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
        for slot in slots { actions.append(giveBackOrEnd(slot, reason)) }
        slots = []
        offered = nil
        inUse = nil
        if let screen = onScreen {
            actions.append(.dismissed(showing: screen.showing.id, how: "lost"))
        }
        onScreen = nil
        return actions + [.close]
    }

    private mutating func giveBackOrEnd(_ slot: Slot, _ reason: String) -> Action {
        let id = slot.arrival.id
        guard deaths[id, default: 0] >= FormsEngineLimits.deathsOfOneEvent else {
            return .giveBack(id, reason: reason, isInDoubt: slot.isGranted)
        }
        deaths[id] = nil
        tally.count(.error)
        return .end(
            id, as: .dead,
            reason:
                "The page ended \(FormsEngineLimits.deathsOfOneEvent) times while it had this event alone.",
            appeared: nil)
    }

    /// Suspects the form that was about to appear, or the only event being evaluated, of the page's
    /// end; else each is tried alone.
    private mutating func suspect(_ reason: String) {
        var sent: [EntryID] = []
        var showing: EntryID?
        for slot in slots {
            switch slot.stage {
            case .queued, .waiting: break
            case .sent, .asked: sent.append(slot.arrival.id)
            case .granted: showing = slot.arrival.id
            }
        }
        if let culprit = showing ?? (sent.count == 1 ? sent.first : nil) {
            deaths[culprit, default: 0] += 1
        }
        careful = max(careful, sent.count + (showing == nil ? 0 : 1))
    }

    /// The page fell silent, and a waiting event may be the cause.
    mutating func suspectWaiting(at now: Duration) {
        for index in slots.indices where slots[index].stage == .waiting {
            slots[index].stage = .sent(at: now)
        }
    }

    // MARK: Catalogues

    /// The source has a catalogue.
    package mutating func catalogueArrived(_ catalogue: FormsCatalogue, at now: Duration)
        -> [Action]
    {
        newest = catalogue
        return offer(at: now)
    }

    mutating func offer(at now: Duration) -> [Action] {
        // One at a time: the page takes over between events, and would pass over one that a newer
        // one follows.
        guard phase == .handshaken, offered == nil else { return [] }
        guard let newest, newest != inUse else { return [] }
        offered = (newest, now)
        return [.send(HostMessage.catalogue(newest))]
    }
}
