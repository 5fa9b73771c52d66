import RepriseCore

/// Events in the hand of a page: evaluated, delayed, given back, ended.
extension SimulatedPage {
    /// In milliseconds: as in forms.js.
    static let heldDelay: Int64 = 5_000

    func evaluate(_ id: EntryID) {
        guard let index = index(of: id), let catalogue else { return }
        while inFlight[index].next < catalogue.forms.count {
            let form = catalogue.forms[inFlight[index].next]
            inFlight[index].next += 1
            let trigger = form.triggers.first { $0.event == inFlight[index].name }
            guard let trigger else { continue }
            inFlight[index].form = form
            let due = inFlight[index].at + trigger.delay * 1_000
            if mayPostpone, due - now > Self.heldDelay { return postpone(id, until: due) }
            return due > now ? delay(index, until: due) : enqueue(id)
        }
        end(id, inFlight[index].outcome ?? #""result":"noMatch""#)
    }

    /// Who has long to wait takes no place here: the host keeps it, and hands it over again.
    func postpone(_ id: EntryID, until due: Int64) {
        inFlight.removeAll { $0.id == id }
        postponed.append(#"{"id":"\#(id)","at":\#(due)}"#)
        device.checker.postponed(id, by: .milliseconds(due - now), on: self)
    }

    func delay(_ index: Int, until due: Int64) {
        inFlight[index].timer += 1
        let (id, timer) = (inFlight[index].id, inFlight[index].timer)
        let wait = Duration.milliseconds(due - now)
        later(wait, wait) { [self] in
            guard let index = self.index(of: id), inFlight[index].timer == timer else { return }
            if due > now { return delay(index, until: due) }
            enqueue(id)
            advance()
            flush()
        }
    }

    func enqueue(_ id: EntryID) {
        func priority(_ id: EntryID) -> Int {
            index(of: id).flatMap { inFlight[$0].form?.priority } ?? 0
        }
        let place = waiting.firstIndex { priority($0) < priority(id) } ?? waiting.count
        waiting.insert(id, at: place)
        guard waiting.count > 16, let last = waiting.popLast() else { return }
        end(last, #""result":"suppressed","reason":"queueFull""#)
    }

    func end(_ id: EntryID, _ outcome: String) {
        inFlight.removeAll { $0.id == id }
        handled.append(#"{"id":"\#(id)",\#(outcome)}"#)
    }

    func flush() {
        if !handled.isEmpty {
            let events = handled.joined(separator: ",")
            handled = []
            say("handled", #""events":[\#(events)]"#)
        }
        guard !postponed.isEmpty else { return }
        let events = postponed.joined(separator: ",")
        postponed = []
        say("later", #""events":[\#(events)]"#)
    }
}
