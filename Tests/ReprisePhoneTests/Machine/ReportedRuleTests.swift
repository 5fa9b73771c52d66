import RepriseCore
import ReprisePhone
import RepriseTestSupport
import Testing

/// What WebKit's source, forums and reports say beside Apple's pages.
@Suite("Rules that reports and forums tell of")
struct ReportedRuleTests {
    // MARK: Removals

    @Test(
        "a removal comes later, and at once for a question that follows it",
        .limit("phone.removal"))
    func removal() throws {
        var bench = try PhoneBench()
        try bench.open()
        for id in ["x", "y"] { bench.call(.add(request(id, after: 100))) }
        bench.push(push("z"))
        bench.finish(options: [.list])
        #expect(bench.call(.removePending(["x"])) == .done)
        #expect(bench.call(.removeDelivered(["z"])) == .done)
        #expect(bench.pending == ["x", "y"] && bench.delivered == ["z"])
        bench.pass(0.1)
        #expect(bench.pending == ["y"] && bench.delivered.isEmpty)
        bench.call(.removePending(["y"]))
        #expect(bench.call(.pending) == .pending([]))
        bench.pass(1)
        #expect(bench.happened(.removed) == ["z"])
        bench.call(.add(request("x", after: 100)))
        for _ in 1..<PhoneLimits.removals { bench.call(.removePending(["x"])) }
        #expect(bench.pending == ["x"])
        bench.call(.removePending(["y"]))
        #expect(bench.pending.isEmpty, "no more wait")
    }

    @Test(
        "a removal of an app that is suspended before is lost", arguments: ["suspended", "killed"])
    func lostRemoval(end: String) throws {
        var bench = try PhoneBench()
        try bench.open()
        bench.call(.add(request("x", after: 100)))
        bench.call(.removePending(["x"]))
        if end == "killed" {
            try bench.command(.kill(app: nil))
        } else {
            try bench.command(.suspend(app: nil))
            try bench.command(.resume(app: nil))
        }
        bench.pass(1)
        #expect(bench.pending == ["x"])
    }

    // MARK: Background

    @Test(
        "an app is told its time or no number; what it has is the same, and its expiration handler comes before the end",
        .limit("phone.backgroundWarning"), arguments: PhoneRules.BackgroundTimeOnEntry.allCases)
    func backgroundTime(rule: PhoneRules.BackgroundTimeOnEntry) throws {
        var rules = PhoneRules()
        rules.backgroundTimeOnEntry = rule
        rules.backgroundSeconds = 15
        var bench = try PhoneBench(rules: rules)
        try bench.open()
        try bench.command(.home)
        let remaining = rule == .named ? 15 : Double.greatestFiniteMagnitude
        #expect(bench.orders.last == .background(remaining: remaining))
        bench.pass(11.9)
        #expect(bench.happened(.backgroundExpires).isEmpty)
        bench.pass(0.1)
        #expect(bench.orders.last == .backgroundExpires)
        // The handler ends the task, though the app's work has not returned; that comes too late.
        let orders = try #require(bench.record()?.process?.orders)
        let handler = try #require(orders.first { $0.value == .backgroundExpires })
        let work = try #require(orders.first { $0.value == .background(remaining: remaining) })
        for order in [handler.key, work.key] {
            bench.machine.returned(life: bench.life, order: order, options: nil, at: bench.now)
            bench.drain()
            #expect(bench.phase == .suspended(wasForeground: false))
        }
        bench.pass(100)
        #expect(bench.happened(.terminated).isEmpty && bench.happened(.nonsense).isEmpty)
    }

    @Test("an app without a background task has no expiration handler")
    func noBackgroundTask() throws {
        var bench = try PhoneBench()
        bench.push(push(nil, wakes: true))
        bench.connect()
        bench.pass(29.9)
        #expect(bench.happened(.backgroundExpires).isEmpty)
        bench.pass(0.1)
        #expect(bench.happened(.terminated).count == 1)
    }

    @Test("a background task is registered once in a process; the second ends the app")
    func registration() throws {
        var bench = try PhoneBench(tasks: ["t", "u"])
        for _ in 0..<2 {
            try bench.open()
            #expect(bench.call(.register("t")) == .done && bench.call(.register("u")) == .done)
            #expect(bench.call(.register("no"))?.code == "refused")
            #expect(bench.phase == .foreground)
            bench.call(.register("t"))
            #expect(bench.phase == nil)
        }
        #expect(
            bench.happened(.terminated)
                == Array(repeating: "the background task t was registered twice", count: 2))
    }

    // MARK: Scenes

    @Test("a scene of an earlier process is restored, unless the person has thrown the app out")
    func scene() throws {
        var rules = PhoneRules()
        rules.launchingTap = .sceneAlone
        var bench = try PhoneBench(rules: rules)
        for isRestored in [false, true, false] {
            if bench.phase != nil {
                try bench.command(isRestored ? .kill(app: nil) : .forceQuit(app: nil))
            }
            bench.push(push("x"))
            try bench.command(.tap(app: nil, notification: nil, action: .open))
            let connected = bench.connect()
            let launch = try #require(connected)
            #expect(launch.isSceneRestored == isRestored)
            #expect(launch.response?.notification.request.id == "x")
            #expect((launch.configurationResponse == nil) == isRestored)
        }
        // One that was only launched in the background had none.
        try bench.command(.forceQuit(app: nil))
        try bench.command(.launch(app: nil))
        #expect(bench.connect()?.isSceneRestored == false)
    }

    // MARK: Transfers

    @Test(
        "the end of the events comes after the handler, before it, or never",
        arguments: PhoneRules.TransferEventsEnd.allCases)
    func transferEvents(rule: PhoneRules.TransferEventsEnd) throws {
        var rules = PhoneRules()
        rules.transferEventsEnd = rule
        var bench = try PhoneBench(rules: rules)
        try bench.open()
        bench.download("a")
        try bench.command(.kill(app: nil))
        bench.end("a", .failed("no such host"))
        bench.connect()
        let orders = bench.orders.filter { [.transfersDone, .transferEventsEnded].contains($0) }
        let expected: [AppOrder] =
            switch rule {
            case .afterHandler: [.transfersDone, .transferEventsEnded]
            case .beforeHandler: [.transferEventsEnded, .transfersDone]
            case .never: [.transfersDone]
            }
        #expect(orders == expected)
    }

    @Test(
        "a download's file is kept, cannot be moved, or is not there; an upload has none",
        arguments: PhoneRules.FinishedDownload.allCases)
    func finishedDownload(rule: PhoneRules.FinishedDownload) throws {
        var rules = PhoneRules()
        rules.finishedDownload = rule
        var bench = try PhoneBench(rules: rules)
        try bench.open()
        bench.download("a")
        bench.download("b")
        let head = HTTPHead(status: 200, headers: [:])
        let file = TransferRuleTests.ok
        bench.end("a", file)
        bench.end("b", .finished(head, file: nil))
        let expected: Transfer.State =
            switch rule {
            case .kept: file
            case .unmovable: .failed("The file could not be kept.")
            case .missing: .finished(head, file: nil)
            }
        #expect(bench.transfer("a")?.state == expected)
        #expect(bench.transfer("b")?.state == .finished(head, file: nil))
        let isRemoved = bench.actions.contains {
            if case .removeTransfer(1) = $0 { true } else { false }
        }
        #expect(isRemoved == (rule != .kept))
    }

    // MARK: Focus, Low Power Mode, the first unlock

    @Test("in a Focus only time-sensitive and critical notifications make a banner")
    func focus() throws {
        var bench = try PhoneBench()
        try bench.command(.focus(true))
        for level in NotificationContent.Interruption.allCases {
            var urgent = request(level.rawValue)
            urgent.content.interruption = level
            bench.push(
                PhonePush(
                    alert: urgent, badge: nil, wakesApp: false, isMutable: false,
                    payload: Array("{}".utf8)))
        }
        #expect(bench.delivered == ["passive", "active", "time-sensitive", "critical"])
        #expect(bench.happened(.banner) == ["time-sensitive", "critical"])
        try bench.command(.focus(false))
        bench.push(push("x"))
        #expect(bench.happened(.banner).last == "x")
    }

    @Test(
        "in a Focus a communication notification breaks through, or does not",
        arguments: PhoneRules.CommunicationInFocus.allCases)
    func communication(rule: PhoneRules.CommunicationInFocus) throws {
        var rules = PhoneRules()
        rules.communicationInFocus = rule
        var bench = try PhoneBench(rules: rules)
        try bench.command(.focus(true))
        var note = request("note")
        note.content.conversation = NotificationConversation(
            id: "room", sender: "bob", name: "Bob")
        note.content.relevance = 0.5
        for shown in [note, request("other")] {
            bench.push(
                PhonePush(
                    alert: shown, badge: nil, wakesApp: false, isMutable: false,
                    payload: Array("{}".utf8)))
        }
        #expect(bench.delivered == ["note", "other"])
        #expect(bench.happened(.banner) == (rule == .breaksThrough ? ["note"] : []))
        let shown = bench.record()?.notifications.delivered.first?.request.content
        #expect(shown?.conversation == note.content.conversation && shown?.relevance == 0.5)
    }

    @Test("in Low Power Mode no refresh and no discretionary transfer runs; other work does")
    func lowPower() throws {
        var bench = try PhoneBench(tasks: ["r", "p"])
        try bench.open()
        bench.call(.submit(BackgroundRequest(id: "r", kind: .refresh)))
        let kind = BackgroundRequest.Kind.processing(needsNetwork: true, needsPower: false)
        bench.call(.submit(BackgroundRequest(id: "p", kind: kind)))
        bench.download("seen")
        try bench.command(.lowPower(true))
        try bench.command(.home)
        bench.download("unseen")
        #expect(bench.happened(.transferRuns) == ["seen"])
        let refusal = #expect(throws: PhoneFailure.self) {
            try bench.command(.runBackground(app: nil, task: "r"))
        }
        #expect(refusal?.code == "unavailable")
        try bench.command(.runBackground(app: nil, task: "p"))
        try bench.command(.lowPower(false))
        try bench.command(.runBackground(app: nil, task: "r"))
        #expect(bench.happened(.transferRuns) == ["seen", "unseen"])
    }

    @Test(
        "before the first unlock a user cannot open an app; the system launches it in the background, or does not",
        arguments: PhoneRules.LaunchBeforeUnlock.allCases)
    func locked(rule: PhoneRules.LaunchBeforeUnlock) throws {
        var rules = PhoneRules()
        rules.launchBeforeUnlock = rule
        var bench = try PhoneBench(rules: rules)
        try bench.open()
        try bench.command(.restart)
        #expect(bench.phase == nil && bench.actions.contains(.protectFiles))
        bench.push(push("x"))
        #expect(bench.delivered == ["x"])
        #expect(throws: PhoneFailure.self) { try bench.command(.launch(app: nil)) }
        #expect(throws: PhoneFailure.self) {
            try bench.command(.tap(app: nil, notification: "x", action: .open))
        }
        #expect(bench.delivered == ["x"], "a refused tap leaves it")
        bench.push(push(nil, wakes: true))
        #expect((bench.phase == nil) == (rule == .notLaunched))
        try bench.command(.unlock)
        #expect(bench.actions.last == .releaseFiles)
        try bench.command(.tap(app: nil, notification: "x", action: .open))
        bench.connect()
        #expect(bench.phase == .foreground)
    }

    @Test(
        "before the first unlock the service extension runs, or the push is shown as it came",
        arguments: PhoneRules.ExtensionBeforeUnlock.allCases)
    func lockedExtension(rule: PhoneRules.ExtensionBeforeUnlock) throws {
        var rules = PhoneRules()
        rules.extensionBeforeUnlock = rule
        var bench = try PhoneBench(rules: rules, extension: "/bin/e")
        try bench.command(.restart)
        bench.push(push("x", mutable: true))
        #expect(bench.delivered == (rule == .runs ? [] : ["x"]))
        try bench.command(.unlock)
        bench.push(push("y", mutable: true))
        #expect(!bench.delivered.contains("y"))
    }
}
