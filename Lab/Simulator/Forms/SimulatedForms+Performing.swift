import RepriseCore
import RepriseForms
import RepriseJournal
import RepriseWire

/// What the machine orders, one by one.
extension SimulatedForms {
    func set(_ readiness: Readiness, _ isOpen: Bool) {
        guard isOpen else { return journal.setNotReady(readiness) }
        journal.setReady(readiness)
        if simulation.mutation == .openGateAtHandshake, readiness == .handshake {
            journal.setReady(.formsData)
        }
    }

    func send(_ message: [UInt8]) {
        guard let page, process.survives("a message to the page") else { return }
        page.send(message)
        guard simulation.mutation == .acknowledgeOnSend else { return }
        for (id, delivery) in deliveries.sorted(by: { $0.key.text < $1.key.text })
        where message.contains(id.text) {
            delivery.end(.ended(.applied, reason: "noMatch"), nil)
        }
    }

    func deliverLate(_ id: EntryID) {
        guard let delivery = deliveries.removeValue(forKey: id) else { return }
        simulation.after(random.spread(.milliseconds(1), .seconds(1)), on: process) { [self] in
            guard process.survives("the late delivery of \(id)") else { return }
            device.checker.deliveredLate(id)
            delivery.end(.ended(.applied, reason: "delivered late"), nil)
        }
    }

    func askLeave(
        _ event: EntryID, _ form: String, _ catalogue: FormsCatalogue, isDecided: Bool,
        _ then: @escaping () -> Void
    ) {
        let asksApp = device.asksApp && !isDecided && simulation.mutation != .appNotAsked
        let id = random.hexadecimal()
        if simulation.mutation == .grantAfterRender {
            journal.write(
                { try $0.leave(for: event, form: form, in: catalogue, as: id, asksApp: false) },
                then: { _ in })
            device.checker.isGranting(event)
            return perform(
                machine.leaveDecided(
                    .granted(showing: id), for: event, form: form, at: now, wall: wall)[...], then)
        }
        journal.write(
            { [device] transaction in
                let leave = try transaction.leave(
                    for: event, form: form, in: catalogue, as: id, asksApp: asksApp)
                if case .granted = leave {
                    device.checker.isGranting(event)
                    device.checker.checkConditions(
                        event, form, catalogue.version, at: device.process.clock.wall())
                }
                return (leave, device.checker.truth)
            },
            then: { [self] result in
                switch result {
                case .success(let (leave, moment)):
                    if case .granted(let showing) = leave {
                        device.checker.granted(showing, event, form, catalogue, at: moment)
                        if device.asksApp { device.checker.checkWord(event, form) }
                    }
                    perform(
                        machine.leaveDecided(leave, for: event, form: form, at: now, wall: wall)[
                            ...], then)
                case .failure:
                    perform(
                        machine.viewLost(reason: "The journal cannot be written.", at: now)[...],
                        then)
                }
            })
    }

    /// Answers the page once it is durable, or says that it will not be.
    func record(
        _ id: String, _ then: @escaping () -> Void,
        _ body: @escaping (any DeviceTransaction) throws -> Recorded
    ) {
        journal.write(
            body,
            then: { [self] result in
                switch result {
                case .success: send(HostMessage.recorded(id))
                case .failure: send(HostMessage.refused(id, reason: "internal"))
                }
                then()
            })
    }

    static func entryID(_ id: String) -> EntryID { EntryID(unchecked: "forms-" + id) }

    static func entry(_ action: PageMessage.Action, _ id: String) throws -> NewEntry {
        switch action {
        case .deepLink(let url):
            NewEntry(id: entryID(id), kind: FormsEvent.link, payload: Array(url.utf8))
        case .emit(let name, let properties):
            try EventContent(name: name, properties: properties)
                .entry(id: entryID(id), source: "form")
        }
    }
}

extension [UInt8] {
    fileprivate func contains(_ text: String) -> Bool {
        String(decoding: self, as: UTF8.self).contains("\"\(text)\"")
    }
}
