import Foundation
import RepriseCore
import ReprisePhone
import RepriseTestSupport
import Testing

@Suite("Rules of the notification centre")
struct NotificationRuleTests {
    @Test(
        "beyond 64 pending those go that the rule says",
        arguments: PhoneRules.BeyondPendingLimit.allCases)
    func limit(rule: PhoneRules.BeyondPendingLimit) throws {
        var rules = PhoneRules()
        rules.beyondPendingLimit = rule
        var bench = try PhoneBench(rules: rules)
        try bench.open()
        // n0 fires last.
        for number in 0..<70 {
            #expect(bench.call(.add(request("n\(number)", after: Double(1_000 - number)))) == .done)
        }
        #expect(bench.pending.count == 64)
        #expect(bench.pending == (6..<70).map { "n\($0)" })
        // A last one that fires after all others.
        bench.call(.add(request("late", after: 5_000)))
        switch rule {
        case .soonestKept: #expect(!bench.pending.contains("late") && bench.pending.contains("n6"))
        case .latestAddedKept:
            #expect(bench.pending.contains("late") && !bench.pending.contains("n6"))
        }
        #expect(bench.happened(.dropped).count == 7)
    }

    @Test(
        "a trigger that never fires or repeats too soon, and a request that is too large, are refused",
        .limit("phone.content"))
    func refused() throws {
        var bench = try PhoneBench()
        try bench.open()
        var large = request("x", after: 1)
        large.content.info = [UInt8](repeating: 32, count: PhoneLimits.contentBytes)
        let calendar = NotificationTrigger.calendar(DateComponents(year: 1_999), repeats: false)
        let cases: [(NotificationRequest, String)] = [
            (request("x", after: 0), "refused"), (request("x", after: -1), "refused"),
            (request("x", after: .nan), "refused"), (request("x", after: .infinity), "refused"),
            (request("x", after: 59, repeats: true), "refused"), (large, "tooLarge"),
            (NotificationRequest(id: "x", content: .init(), trigger: calendar), "refused"),
        ]
        for (request, code) in cases {
            #expect(bench.call(.add(request))?.code == code, "\(request.trigger as Any)")
        }
        #expect(bench.pending.isEmpty)
        try bench.command(.permission(app: nil, NotificationSettings(authorization: .denied)))
        #expect(bench.call(.add(request("x", after: 5)))?.code == "refused")
    }

    @Test("an id that is added again replaces the pending one, and when it fires the delivered one")
    func replaces() throws {
        var bench = try PhoneBench()
        try bench.open()
        bench.call(.add(request("x", after: 10)))
        bench.call(.add(request("x", after: 20)))
        try bench.command(.home)
        bench.finish()
        bench.pass(15)
        #expect(bench.delivered.isEmpty && bench.pending == ["x"])
        bench.pass(5)
        #expect(bench.delivered == ["x"] && bench.pending.isEmpty)
        bench.push(push("x"))
        #expect(
            bench.delivered == ["x"]
                && bench.record()?.notifications.delivered.first?.isRemote == true)
    }

    @Test(
        "an interval that repeats fires each time, each at its own moment, also in a leap of time")
    func repeats() throws {
        var bench = try PhoneBench()
        try bench.open()
        bench.call(.add(request("x", after: 60, repeats: true)))
        try bench.command(.kill(app: nil))
        let begin = bench.now
        try bench.command(.advance(milliseconds: 3_600_000))
        let times = bench.events.filter { $0.what == "delivered" }.map {
            begin.wall.duration(to: $0.at).milliseconds
        }
        #expect(times == (1...60).map { $0 * 60_000 })
        #expect(bench.delivered == ["x"] && bench.pending == ["x"])
        bench.pass(60)
        #expect(bench.happened(.delivered).count == 61)
    }

    @Test("a calendar trigger follows the calendar and the time zone; a skipped time fires once")
    func calendar() throws {
        var bench = try PhoneBench()
        try bench.open()
        // It is 2001-09-09 01:46:40 UTC.
        let nine = NotificationTrigger.calendar(DateComponents(hour: 9, minute: 0), repeats: true)
        bench.call(.add(NotificationRequest(id: "x", content: .init(), trigger: nine)))
        try bench.command(.kill(app: nil))
        func due() -> Double? {
            bench.machine.nextDue(from: bench.now).map {
                Double($0 - bench.now.microseconds) / 3_600e6
            }
        }
        let hours = try #require(due())
        #expect(abs(hours - (9 - 1.7777)) < 0.01)
        try bench.command(.zone("Europe/Berlin"))  // Summer time: two hours ahead.
        #expect(abs(try #require(due()) - (hours - 2)) < 0.01)
        try bench.command(.setCalendar(byMilliseconds: 3 * 86_400_000))
        #expect(bench.happened(.delivered) == ["x"])
        #expect(abs(try #require(due()) - (hours - 2)) < 0.01)
        // Back across a firing: it comes again.
        try bench.command(.advance(milliseconds: 6 * 3_600_000))
        #expect(bench.happened(.delivered).count == 2)
        try bench.command(.setCalendar(byMilliseconds: -12 * 3_600_000))
        #expect(try #require(due()) < 24)
        #expect(throws: PhoneFailure.self) { try bench.command(.zone("Nowhere/None")) }
    }

    @Test(
        "a date is read in the calendar that it names, or else in the one that the user has set",
        arguments: PhoneRules.DeviceCalendar.allCases)
    func deviceCalendar(rule: PhoneRules.DeviceCalendar) throws {
        var rules = PhoneRules()
        rules.deviceCalendar = rule
        var bench = try PhoneBench(rules: rules)
        try bench.open()
        // It is 2001-09-09 01:46:40 UTC.
        func request(_ id: String, _ calendar: Calendar?, era: Int?, year: Int)
            -> NotificationRequest
        {
            let nine = DateComponents(
                calendar: calendar, era: era, year: year, month: 9, day: 9, hour: 9)
            return NotificationRequest(
                id: id, content: .init(), trigger: .calendar(nine, repeats: false))
        }
        let gregorian = Calendar(identifier: .gregorian)
        #expect(bench.call(.add(request("named", gregorian, era: nil, year: 2_001))) == .done)
        let today: (era: Int?, year: Int) =
            switch rule {
            case .gregorian: (nil, 2_001)
            case .buddhist: (nil, 2_544)
            // The thirteenth of Heisei.
            case .japanese: (235, 13)
            }
        let unnamed = request("unnamed", nil, era: today.era, year: today.year)
        #expect(bench.call(.add(unnamed)) == .done)
        if rule == .buddhist {
            let past = request("past", nil, era: nil, year: 2_001)
            #expect(bench.call(.add(past))?.code == "refused")
        }
        try bench.command(.kill(app: nil))
        bench.pass(8 * 3_600)
        #expect(bench.delivered.sorted() == ["named", "unnamed"] && bench.pending.isEmpty)
    }

    @Test(
        "a calendar trigger whose time is passed over fires at once, or not at all, by the rule",
        arguments: PhoneRules.PassedOverTriggers.allCases)
    func passedOver(rule: PhoneRules.PassedOverTriggers) throws {
        var rules = PhoneRules()
        rules.passedOverTriggers = rule
        var bench = try PhoneBench(rules: rules)
        try bench.open()
        for (id, repeats) in [("daily", true), ("once", false)] {
            let trigger = NotificationTrigger.calendar(
                DateComponents(hour: 9, minute: 0), repeats: repeats)
            bench.call(.add(NotificationRequest(id: id, content: .init(), trigger: trigger)))
        }
        try bench.command(.kill(app: nil))
        try bench.command(.setCalendar(byMilliseconds: 86_400_000))
        #expect(bench.delivered.sorted() == (rule == .fire ? ["daily", "once"] : []))
        #expect(bench.pending == ["daily"])
        try bench.command(.advance(milliseconds: 86_400_000))
        #expect(bench.delivered.contains("daily"))
    }

    @Test(
        "an interval trigger after the calendar is set follows the rule",
        arguments: PhoneRules.IntervalTriggers.allCases)
    func interval(rule: PhoneRules.IntervalTriggers) throws {
        var rules = PhoneRules()
        rules.intervalTriggers = rule
        var bench = try PhoneBench(rules: rules)
        try bench.open()
        bench.call(.add(request("x", after: 100)))
        try bench.command(.kill(app: nil))
        try bench.command(.setCalendar(byMilliseconds: 200_000))
        #expect(bench.delivered.isEmpty == (rule == .countElapsedTime))
        bench.pass(100)
        #expect(bench.delivered == ["x"])
    }

    @Test(
        "a notification due while the phone is off is shown at its start, or skipped",
        arguments: PhoneRules.DueWhileOff.allCases)
    func off(rule: PhoneRules.DueWhileOff) throws {
        var rules = PhoneRules()
        rules.dueWhileOff = rule
        var bench = try PhoneBench(rules: rules)
        try bench.open()
        bench.call(.add(request("once", after: 100)))
        bench.call(.add(request("always", after: 100, repeats: true)))
        bench.restart(after: 150)
        #expect(bench.happened(.delivered) == (rule == .skipped ? [] : ["once", "always"]))
        #expect(bench.pending == ["always"])
        bench.pass(100)
        #expect(bench.happened(.delivered).last == "always")
    }

    @Test(
        "pending, delivered and tasks outlive a restart, or not, each by its rule",
        arguments: PhoneRules.AcrossRestart.allCases)
    func restart(rule: PhoneRules.AcrossRestart) throws {
        var rules = PhoneRules()
        (rules.pendingAcrossRestart, rules.deliveredAcrossRestart) = (rule, rule)
        rules.tasksAcrossRestart = rule
        var bench = try PhoneBench(rules: rules, tasks: ["t"])
        try bench.open()
        bench.call(.add(request("p", after: 100)))
        bench.call(.submit(BackgroundRequest(id: "t", kind: .refresh)))
        bench.call(.add(request("d")))
        bench.finish(options: [.list])
        bench.restart()
        let record = try #require(bench.record())
        let isKept = rule == .kept
        #expect(record.notifications.pending.isEmpty != isKept)
        #expect(record.notifications.delivered.isEmpty != isKept)
        #expect(record.tasks.waiting.isEmpty != isKept)
    }

    @Test(
        "a notification shows what the person allows",
        arguments: [
            (NotificationSettings(authorization: .notDetermined), [Int](), 0),
            (NotificationSettings(authorization: .denied), [], 0),
            (NotificationSettings(authorization: .provisional), [1], 7),
            (NotificationSettings(authorization: .authorized), [1, 2], 7),
            (
                NotificationSettings(authorization: .authorized, alerts: false, badges: false), [1],
                0
            ),
        ])
    func permission(settings: NotificationSettings, shown: [Int], badge: Int) throws {
        var bench = try PhoneBench()
        try bench.command(.permission(app: nil, settings))
        bench.push(push("x", badge: 7))
        #expect(bench.happened(.delivered).isEmpty != shown.contains(1))
        #expect(bench.happened(.banner).isEmpty != shown.contains(2))
        #expect(bench.record()?.notifications.badge == badge)
    }

    @Test("the question for permission is asked once", arguments: [true, false])
    func question(allowed: Bool) throws {
        var bench = try PhoneBench()
        try bench.command(
            .permission(app: nil, NotificationSettings(authorization: .notDetermined)))
        try bench.command(.answerPermission(app: nil, allowed: allowed))
        try bench.open()
        #expect(bench.call(.requestAuthorization(provisional: false)) == .allowed(allowed))
        try bench.command(.answerPermission(app: nil, allowed: !allowed))
        #expect(bench.call(.requestAuthorization(provisional: true)) == .allowed(allowed))
    }

    @Test(
        "a badge of zero takes the notifications away, or leaves them",
        arguments: PhoneRules.ZeroBadge.allCases)
    func zero(rule: PhoneRules.ZeroBadge) throws {
        var rules = PhoneRules()
        rules.zeroBadge = rule
        var bench = try PhoneBench(rules: rules)
        bench.push(push("x", badge: 3))
        try bench.open()
        bench.call(.setBadge(0))
        #expect(bench.record()?.notifications.badge == 0)
        #expect(bench.delivered.isEmpty == (rule == .removesDelivered))
    }

    @Test(
        "a notification that was tapped leaves or stays, by the rule, and a second tap is the same; one that was dismissed has left",
        arguments: PhoneRules.TappedNotification.allCases)
    func tapped(rule: PhoneRules.TappedNotification) throws {
        var rules = PhoneRules()
        rules.tappedNotification = rule
        var bench = try PhoneBench(rules: rules)
        for id in ["x", "y"] { bench.push(push(id)) }
        try bench.command(.tap(app: nil, notification: "y", action: .dismiss))
        #expect(bench.delivered == ["x"])
        try bench.command(.tap(app: nil, notification: "x", action: .open))
        switch rule {
        case .leaves:
            #expect(bench.delivered.isEmpty)
            #expect(throws: PhoneFailure.self) {
                try bench.command(.tap(app: nil, notification: "x", action: .open))
            }
        case .stays:
            #expect(bench.delivered == ["x"])
            try bench.command(.tap(app: nil, notification: "x", action: .open))
            #expect(Set(bench.happened(.tapped).suffix(2)).count == 1)
        }
    }

    @Test("categories are replaced whole, and stay while the app is dead")
    func categories() throws {
        var bench = try PhoneBench()
        try bench.open()
        for ids in [["a", "b"], ["c"]] {
            bench.call(.setCategories(ids.map { NotificationCategory(id: $0) }))
        }
        try bench.command(.kill(app: nil))
        #expect(bench.record()?.notifications.categories.map(\.id) == ["c"])
    }

    @Test("actions and dismissals reach the app as its category says")
    func actions() throws {
        var bench = try PhoneBench()
        try bench.open()
        bench.call(
            .setCategories([
                NotificationCategory(
                    id: "c",
                    actions: [
                        .init(id: "quiet", title: "Q"),
                        .init(id: "open", title: "O", opensApp: true),
                        .init(id: "say", title: "S", asksForText: true),
                    ], reportsDismissal: true)
            ]))
        try bench.command(.kill(app: nil))
        func deliver(_ category: String) {
            var sent = push("x")
            sent.alert?.content.category = category
            bench.push(sent)
        }
        deliver("")
        #expect(throws: PhoneFailure.self) {
            try bench.command(.tap(app: nil, notification: nil, action: .button("quiet")))
        }
        try bench.command(.tap(app: nil, notification: "x", action: .dismiss))
        #expect(bench.phase == nil && bench.delivered.isEmpty)
        let cases: [(NotificationResponse.Action, Bool)] = [
            (.dismiss, false), (.button("quiet"), false), (.text("say", answer: "hi"), false),
            (.button("open"), true), (.open, true),
        ]
        for (action, opens) in cases {
            deliver("c")
            try bench.command(.tap(app: nil, notification: "x", action: action))
            #expect(bench.connect()?.isForeground == opens)
            #expect(
                bench.orders.contains {
                    if case .received(let r) = $0 { r.action == action } else { false }
                })
            try bench.command(.kill(app: nil))
        }
        #expect(bench.happened(.completed).isEmpty)
    }
}
