package import RepriseCore
import RepriseWire

/// Handles the page's messages.
extension FormsMachine {
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
            .send(HostMessage.welcome(speaking: version, now: wall, locale: locale)),
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
                guard let index = index(of: event), case .sent = slots[index].stage else {
                    continue
                }
                slots[index].stage = .waiting
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
        guard let index = index(of: event), let inUse else {
            return [.send(HostMessage.denied(event: event, form: form, reason: "settled"))]
        }
        switch slots[index].stage {
        case .queued, .asked, .granted:
            tally.malformed += 1
            return []
        case .sent, .waiting:
            slots[index].stage = .asked(form: form)
            return [.askLeave(event: event, form: form, catalogue: inUse)]
        }
    }

    /// The store has decided about ``Action/askLeave(event:form:catalogue:)``.
    package mutating func leaveDecided(
        _ leave: FormsStore.Permission, for event: EntryID, form: String, at now: Duration
    ) -> [Action] {
        guard let index = index(of: event), slots[index].stage == .asked(form: form) else {
            return []
        }
        heardAt = now  // it has waited for this answer
        switch leave {
        case .granted(let id):
            let showing = PageMessage.Showing(event: event, form: form, id: id)
            slots[index].stage = .granted(showing, at: now)
            return [.setVisible(true), .send(HostMessage.granted(showing))]
        case .denied(let reason):
            slots[index].stage = .sent(at: now)
            return [.send(HostMessage.denied(event: event, form: form, reason: reason))]
        }
    }

    private mutating func appeared(_ showing: PageMessage.Showing) -> [Action] {
        guard let index = index(of: showing.event), let inUse,
            case .granted(showing, _) = slots[index].stage
        else {
            tally.late += 1
            return []
        }
        onScreen = FormOnScreen(showing: showing, catalogue: inUse.version)
        return end(index, .shown, as: .applied, "shown \(showing.form)", appeared: showing.id)
    }

    private mutating func dismissed(_ showing: String, _ how: String, at now: Duration) -> [Action]
    {
        guard screen(showing) != nil else {
            tally.late += 1
            return []
        }
        onScreen = nil
        // The page had no reason to answer about those that wait for the screen.
        for index in slots.indices {
            if case .sent = slots[index].stage { slots[index].stage = .sent(at: now) }
        }
        return [.setVisible(false), .dismissed(showing: showing, how: how)]
    }

    private func screen(_ showing: String) -> FormOnScreen? {
        onScreen?.showing.id == showing ? onScreen : nil
    }

    private func refuse(_ id: String) -> [Action] {
        [.send(HostMessage.refused(id, reason: "notShowing"))]
    }
}
