import RepriseCore
import RepriseWire

/// At most one form on the screen, and the person before it.
extension SimulatedPage {
    func advance() {
        guard isOpen, !isHung, screen == nil else { return }
        if coming != nil { takeOver() }
        while screen == nil, !waiting.isEmpty {
            guard let index = index(of: waiting.removeFirst()), let form = inFlight[index].form
            else { continue }
            screen = Screen(item: inFlight[index], form: form)
            say("showing", #""event":"\#(inFlight[index].id)","form":"\#(form.id)""#)
        }
    }

    func takeOver() {
        guard let coming else { return }
        catalogue = coming
        self.coming = nil
        waiting = []
        hasCatalogue = true
        say("formsData", #""version":"\#(coming.text.version)""#)
        for index in inFlight.indices {
            inFlight[index].next = 0
            inFlight[index].outcome = nil
            inFlight[index].form = nil
            inFlight[index].timer += 1
        }
        for id in inFlight.map(\.id) { evaluate(id) }
    }

    func granted(_ message: JSONMembers) {
        guard let screen, screen.phase == .asking, let showing = try? message.string("showing"),
            (try? message.string("event")) == screen.item.id.text,
            (try? message.string("form")) == screen.form.id
        else { return }
        self.screen?.phase = .appearing
        self.screen?.showing = showing
        say("formWillAppear", members(of: screen, showing))
        later(.milliseconds(5), .milliseconds(60)) { [self] in appears(showing) }
    }

    func appears(_ showing: String) {
        guard let screen, screen.showing == showing, screen.phase == .appearing else { return }
        self.screen?.phase = .shown
        inFlight.removeAll { $0.id == screen.item.id }
        device.checker.appeared(screen.item.id, screen.form.id, showing, on: self)
        say("formDidAppear", members(of: screen, showing))
        guard random.chance(0.4) else {
            return later(.milliseconds(100), .seconds(8)) { [self] in leave("button") }
        }
        later(.milliseconds(100), .seconds(4)) { [self] in act(screen, showing) }
    }

    func members(of screen: Screen, _ showing: String) -> String {
        #""event":"\#(screen.item.id)","form":"\#(screen.form.id)","showing":"\#(showing)""#
    }

    func act(_ screen: Screen, _ showing: String) {
        let id = random.hexadecimal()
        unanswered = id
        let names = #""form":"\#(screen.form.id)","showing":"\#(showing)","id":"\#(id)""#
        device.checker.actionAsked(id)
        switch random.index(3) {
        case 0: say("submit", names + #","answers":{"email":"a@b.example"}"#)
        case 1: say("action", names + #","action":{"type":"deepLink","url":"app://goal/1"}"#)
        default: say("action", names + #","action":{"type":"emit","name":"checkout"}"#)
        }
        // A person does not wait for ever.
        later(.seconds(20), .seconds(21)) { [self] in
            if unanswered == id { leave("close") }
        }
    }

    func denied(_ message: JSONMembers) {
        guard let screen, screen.phase == .asking,
            (try? message.string("event")) == screen.item.id.text,
            (try? message.string("form")) == screen.form.id,
            let reason = try? message.string("reason")
        else { return }
        self.screen = nil
        let id = screen.item.id
        let outcome = #""result":"suppressed","form":"\#(screen.form.id)","reason":"\#(reason)""#
        if reason == "settled" {
            inFlight.removeAll { $0.id == id }
        } else if reason == "overallFrequency" {
            end(id, outcome)
        } else if let index = index(of: id) {
            inFlight[index].outcome = outcome
            inFlight[index].form = nil
            evaluate(id)
            sayWhatWaits([id.text])
        }
        advance()
    }

    func leave(_ how: String) {
        guard isOpen, !isHung, let screen, screen.phase == .shown else { return }
        self.screen = nil
        unanswered = nil
        say(
            "formDidDismiss",
            #""form":"\#(screen.form.id)","showing":"\#(screen.showing)","how":"\#(how)""#)
        advance()
        flush()
    }
}
