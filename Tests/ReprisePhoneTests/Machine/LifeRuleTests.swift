import RepriseCore
import ReprisePhone
import RepriseTestSupport
import Testing

@Suite("Rules of an app's life")
struct LifeRuleTests {
    @Test("a launch starts a process once; it is in the foreground when it has connected")
    func launch() throws {
        var bench = try PhoneBench()
        try bench.command(.launch(app: nil))
        try bench.command(.launch(app: nil))
        #expect(bench.actions == [.spawn(app: "a", life: 1)])
        #expect(bench.connect()?.reason == .user)
        #expect(bench.phase == .foreground && bench.orders == [.foreground])
        #expect(bench.connect() == nil)  // A token is good once.
    }

    @Test("one app is in the foreground: another that is opened sends it to the background")
    func oneForeground() throws {
        var bench = try PhoneBench()
        try bench.install("b")
        try bench.open()
        try bench.open("b")
        #expect(bench.record("b")?.process?.phase == .foreground)
        #expect(bench.phase == .background(until: bench.now.microseconds + 30_000_000))
        bench.finish()
        #expect(bench.phase == .suspended(wasForeground: false))
        #expect(bench.actions.last == .stop(life: 1))
    }

    @Test(
        "background time, and the app's treatment at its end, follow the rule",
        arguments: PhoneRules.BackgroundOverrun.allCases)
    func overrun(rule: PhoneRules.BackgroundOverrun) throws {
        var rules = PhoneRules()
        rules.backgroundOverrun = rule
        rules.backgroundSeconds = 5
        var bench = try PhoneBench(rules: rules)
        try bench.open()
        try bench.command(.home)
        #expect(bench.orders.last == .background(remaining: 5))
        #expect(bench.machine.nextDue(from: bench.now) == bench.now.microseconds + 2_500_000)
        bench.pass(4.999)
        #expect(bench.orders.last == .backgroundExpires)
        #expect(bench.phase == .background(until: bench.now.microseconds + 1_000))
        bench.pass(0.001)
        switch rule {
        case .suspended: #expect(bench.phase == .suspended(wasForeground: false))
        case .terminated:
            #expect(bench.phase == nil)
            #expect(bench.machine.state.condemned.count == 1)
        }
        #expect(bench.machine.nextDue(from: bench.now) == nil)
    }

    @Test(
        "an app that is launched in the background is told so, or not: by the rule; one that a person has left always",
        arguments: PhoneRules.BackgroundLaunch.allCases)
    func backgroundLaunch(rule: PhoneRules.BackgroundLaunch) throws {
        var rules = PhoneRules()
        rules.backgroundLaunch = rule
        var bench = try PhoneBench(rules: rules)
        bench.push(push(nil, wakes: true))
        #expect(bench.connect()?.reason == .push)
        #expect(bench.phase == .background(until: bench.now.microseconds + 30_000_000))
        let told = bench.orders.contains(.background(remaining: 30))
        #expect(told == (rule == .told))
        bench.finish()
        #expect(bench.phase == .suspended(wasForeground: false))
        try bench.command(.kill(app: nil))
        try bench.command(.launch(app: nil))
        try bench.command(.home)
        bench.connect()
        #expect(bench.orders.contains(.background(remaining: 30)))
    }

    @Test("a process that was to be killed is remembered until it is dead", .limit("phone.killed"))
    func condemned() throws {
        var bench = try PhoneBench()
        try bench.open()
        try bench.command(.kill(app: nil))
        let identity = ProcessIdentity(id: 1_001, started: "1")
        #expect(bench.actions.last == .kill(life: 1, identity))
        bench.restart()
        #expect(bench.actions.last == .killLeftover(identity))
        bench.machine.killed(identity)
        #expect(bench.machine.state.condemned.isEmpty)
        // What the dead one says still, or is said of it, concerns nobody.
        bench.machine.ended(life: 1, "signal 9", at: bench.now)
        #expect(bench.machine.called(life: 1, .settings, at: bench.now) == nil)
        bench.drain()
        #expect(bench.happened(.exited).isEmpty)
    }

    @Test(
        "suspended in the foreground an app goes on in the foreground; a second call of each changes nothing"
    )
    func suspendResume() throws {
        var bench = try PhoneBench()
        try bench.open()
        for _ in 0..<2 { try bench.command(.suspend(app: nil)) }
        #expect(bench.phase == .suspended(wasForeground: true))
        for _ in 0..<2 { try bench.command(.resume(app: nil)) }
        #expect(bench.phase == .foreground)
        #expect(bench.actions.suffix(2) == [.stop(life: 1), .go(life: 1)])
        try bench.command(.kill(app: nil))
        #expect(throws: PhoneFailure.self) { try bench.command(.suspend(app: nil)) }
        #expect(throws: PhoneFailure.self) { try bench.command(.resume(app: nil)) }
        #expect(throws: PhoneFailure.self) { try bench.command(.kill(app: nil)) }
    }

    @Test(
        "an app that ignores its phone's requests is terminated at the limit",
        .limit("phone.orders"))
    func hung() throws {
        var bench = try PhoneBench()
        try bench.command(.launch(app: nil))
        bench.connect()
        for _ in 0..<PhoneLimits.orders - 1 { try bench.command(.memoryPressure) }
        #expect(bench.phase == .foreground)
        try bench.command(.memoryPressure)
        #expect(bench.phase == nil && bench.happened(.terminated).count == 1)
    }

    @Test(
        "a force-quit app's state after a restart follows the rule",
        arguments: PhoneRules.ForceQuitAcrossRestart.allCases)
    func forceQuit(rule: PhoneRules.ForceQuitAcrossRestart) throws {
        var rules = PhoneRules()
        rules.forceQuitAcrossRestart = rule
        var bench = try PhoneBench(rules: rules)
        try bench.open()
        try bench.command(.forceQuit(app: nil))
        bench.push(push(nil, wakes: true))
        #expect(bench.phase == nil)
        bench.restart()
        bench.push(push(nil, wakes: true))
        #expect((bench.phase == nil) == (rule == .stays))
        try bench.command(.launch(app: nil))
        #expect(bench.record()?.isForceQuit == false)
    }

    @Test("an update ends the process and keeps the system's data; uninstalling keeps nothing")
    func update() throws {
        var bench = try PhoneBench()
        try bench.open()
        bench.call(.add(request("x", after: 100)))
        try bench.install("a")
        #expect(bench.phase == nil && bench.pending == ["x"])
        try bench.command(.uninstall(app: nil))
        #expect(bench.machine.state.apps.isEmpty && bench.actions.last == .removeData(app: "a"))
        #expect(throws: PhoneFailure.self) { try bench.command(.launch(app: nil)) }
    }

    @Test(
        "an app that was taken away and is installed again has nothing, or its badge, by the rule",
        arguments: PhoneRules.RemovedApp.allCases)
    func removed(rule: PhoneRules.RemovedApp) throws {
        var rules = PhoneRules()
        rules.removedApp = rule
        var bench = try PhoneBench(rules: rules)
        try bench.open()
        bench.call(.setBadge(7))
        bench.push(push("x"))
        for badge in [rule == .badgeKept ? 7 : 0, 0] {
            try bench.command(.uninstall(app: nil))
            try bench.install("a")
            #expect(bench.record()?.notifications.badge == badge)
            #expect(bench.delivered.isEmpty)
            #expect(bench.record()?.notifications.settings.authorization == .notDetermined)
            // The app says what it is now, as it does at each start; that is kept, or not, just so.
            try bench.open()
            bench.call(.setBadge(0))
        }
    }

    @Test(
        "an invalid app is refused",
        arguments: [
            PhoneAppSpec(id: "", executable: "/a"), PhoneAppSpec(id: "../a", executable: "/a"),
            PhoneAppSpec(id: ".a", executable: "/a"), PhoneAppSpec(id: "a", executable: "a"),
            PhoneAppSpec(id: "a", executable: "/a", arguments: ["\0"]),
            PhoneAppSpec(id: "a", executable: "/a", environment: ["A=B": "c"]),
            PhoneAppSpec(id: "a", executable: "/a", serviceExtension: "b"),
        ])
    func badApp(spec: PhoneAppSpec) throws {
        var bench = try PhoneBench()
        let before = bench.machine.state
        #expect(throws: PhoneFailure.self) { try bench.command(.install(spec)) }
        #expect(bench.machine.state == before)
    }
}
