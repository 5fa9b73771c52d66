import RepriseCore
import ReprisePhone
import RepriseTestSupport
import Testing

@Suite("Rules of the background scheduler and of pushes")
struct TaskAndPushRuleTests {
    private static let processing = BackgroundRequest.Kind.processing(
        needsNetwork: false, needsPower: false)

    @Test("1 refresh and 10 processing requests wait, only declared ones, one of each id")
    func limits() throws {
        let ids = (0..<12).map { "p\($0)" }
        var bench = try PhoneBench(tasks: ids + ["r1", "r2"])
        try bench.open()
        #expect(bench.call(.submit(BackgroundRequest(id: "r1", kind: .refresh))) == .done)
        #expect(bench.call(.submit(BackgroundRequest(id: "r2", kind: .refresh)))?.code == "full")
        #expect(bench.call(.submit(BackgroundRequest(id: "no", kind: .refresh)))?.code == "refused")
        for (index, id) in ids.enumerated() {
            let answer = bench.call(.submit(BackgroundRequest(id: id, kind: Self.processing)))
            #expect(answer?.code == (index < 10 ? nil : "full"))
        }
        #expect(bench.call(.submit(BackgroundRequest(id: "p0", kind: Self.processing))) == .done)
        #expect(bench.record()?.tasks.waiting.count == 11)
    }

    @Test("a task runs once, not before its time, and not without the network that it needs")
    func conditions() throws {
        var bench = try PhoneBench(tasks: ["t"])
        try bench.open()
        let later = bench.now.wall.advanced(by: .seconds(10))
        let kind = BackgroundRequest.Kind.processing(needsNetwork: true, needsPower: false)
        bench.call(.submit(BackgroundRequest(id: "t", kind: kind, earliest: later)))
        try bench.command(.kill(app: nil))
        #expect(throws: PhoneFailure.self) {
            try bench.command(.runBackground(app: nil, task: "t"))
        }
        bench.pass(10)
        try bench.command(.offline)
        #expect(throws: PhoneFailure.self) {
            try bench.command(.runBackground(app: nil, task: "t"))
        }
        try bench.command(.online)
        try bench.command(.runBackground(app: nil, task: "t"))
        #expect(throws: PhoneFailure.self) {
            try bench.command(.runBackground(app: nil, task: "t"))
        }
        #expect(bench.connect()?.reason == .task("t"))
        #expect(bench.happened(.taskBegan) == ["t"])
    }

    @Test(
        "a force-quit app's processing task runs or not, as the rule says; a refresh never does",
        arguments: PhoneRules.ProcessingAfterForceQuit.allCases)
    func processingAfterForceQuit(rule: PhoneRules.ProcessingAfterForceQuit) throws {
        for kind in [BackgroundRequest.Kind.refresh, Self.processing] {
            var rules = PhoneRules()
            rules.processingAfterForceQuit = rule
            var bench = try PhoneBench(rules: rules, tasks: ["t"])
            try bench.open()
            bench.call(.submit(BackgroundRequest(id: "t", kind: kind)))
            try bench.command(.forceQuit(app: nil))
            let runs = rule == .runs && kind != .refresh
            if runs {
                try bench.command(.runBackground(app: nil, task: "t"))
                #expect(bench.connect()?.reason == .task("t"))
            } else {
                #expect(throws: PhoneFailure.self) {
                    try bench.command(.runBackground(app: nil, task: "t"))
                }
            }
        }
    }

    @Test(
        "a slot expires, notifies the app, and ends with its process if it is not completed; a second completion is ignored",
        .limit("phone.expiry", "phone.tasks")
    )
    func expiry() throws {
        var bench = try PhoneBench(tasks: ["t"])
        try bench.open()
        for completes in [true, false] {
            bench.call(.submit(BackgroundRequest(id: "t", kind: .refresh)))
            try bench.command(.kill(app: nil))
            try bench.command(.runBackground(app: nil, task: "t"))
            bench.connect()
            let slot = try #require(bench.record()?.process?.slots.first)
            bench.finish()
            // What has returned is not yet complete.
            #expect(bench.record()?.process?.slots == [slot])
            bench.pass(30)
            #expect(bench.orders.last == .slotExpired(slot.number))
            bench.finish()
            if completes {
                for _ in 0..<2 { bench.call(.complete(slot: slot.number, success: false)) }
                #expect(bench.happened(.taskCompleted) == ["t failure"])
                #expect(bench.phase == .suspended(wasForeground: false))
                try bench.command(.launch(app: nil))
            } else {
                bench.pass(4.9)
                #expect(bench.phase != nil)
                bench.pass(0.2)
                #expect(bench.phase == nil)
            }
        }
    }

    @Test(
        "the service extension may change a push; without an answer, or too late, it is shown as it came",
        arguments: ["answers", "dies", "hangs", "restart"])
    func serviceExtension(fate: String) throws {
        var bench = try PhoneBench(extension: "/bin/e")
        bench.push(push("x", mutable: true))
        guard case .runExtension(let run, "a", _)? = bench.actions.last else {
            Issue.record("no extension was started")
            return
        }
        #expect(bench.delivered.isEmpty)
        switch fate {
        case "answers":
            bench.machine.extensionFinished(
                run: run, content: NotificationContent(title: "changed"), at: bench.now)
        case "dies": bench.machine.extensionFinished(run: run, content: nil, at: bench.now)
        case "hangs":
            bench.pass(30)
            #expect(bench.actions.last == .endExtension(run))
            // Too late.
            bench.machine.extensionFinished(
                run: run, content: NotificationContent(title: "changed"), at: bench.now)
        default: bench.restart()
        }
        bench.drain()
        let shown = try #require(bench.record()?.notifications.delivered.first).request.content
            .title
        #expect(shown == (fate == "answers" ? "changed" : "x"))
        #expect(bench.delivered.count == 1 && bench.machine.state.extensions.runs.isEmpty)
    }

    @Test(
        "background pushes beyond the budget wait for the hour to pass; then the newest wakes the app"
    )
    func throttle() throws {
        var bench = try PhoneBench()
        for _ in 0..<5 { bench.push(push(nil, wakes: true)) }
        bench.connect()
        bench.finish()
        #expect(bench.happened(.pushCompleted).count == 3)
        #expect(bench.phase == .suspended(wasForeground: false))
        bench.pass(3_600)
        #expect(bench.happened(.resumed).count == 1)
        bench.finish()
        #expect(bench.happened(.pushCompleted).count == 4)
    }

    @Test("a push that comes while the app is offline waits for the network")
    func offline() throws {
        var bench = try PhoneBench()
        try bench.command(.offline)
        bench.push(push("x"))
        bench.push(push("y"))
        #expect(bench.delivered.isEmpty)
        try bench.command(.online)
        #expect(bench.delivered == ["y"])
    }
}
