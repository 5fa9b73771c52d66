import Foundation
import RepriseCore
import RepriseReminders
import RepriseTestSupport
import Testing

@Suite("The reconciliation machine")
struct ReconciliationMachineTests {
    private typealias Machine = ReconciliationMachine

    private func moment(_ seconds: Int64, jump: Int64 = 0, zone: TimeZone = .gmt) -> Machine.Moment
    {
        .init(
            uptime: .seconds(seconds),
            wall: WallTime(milliseconds: 1_800_000_000_000 + (seconds + jump) * 1_000), zone: zone)
    }

    private let walk = RemindedEntity(
        id: "a", reminders: [.once("x", LocalDate(2027, 1, 16), 9, 0)])

    /// Answers what was asked as a system with these requests does; returns what was asked.
    private func play(
        _ machine: inout Machine, _ first: [Machine.Action], at now: Machine.Moment,
        entities: [RemindedEntity], pending: [NotificationRequest] = [],
        authorization: NotificationSettings.Authorization = .authorized,
        adding: Machine.Answer = .done, marks: [ReminderOverride] = [],
        changing later: Machine.Moment? = nil
    ) -> [Machine.Question] {
        var actions = first
        var asked: [Machine.Question] = []
        while !actions.isEmpty {
            guard case .ask(let number, let question) = actions.removeFirst() else { continue }
            asked.append(question)
            let answer: Machine.Answer =
                switch question {
                case .entities: .entities(entities)
                case .settings: .settings(NotificationSettings(authorization: authorization))
                case .pending: .pending(pending)
                case .delivered: .delivered([])
                case .marks: .marks(marks)
                case .look: .looked(inUse: [])
                case .add: adding
                case .removeDelivered, .removePending, .write: .done
                }
            let isRead =
                switch question {
                case .entities, .settings, .pending, .delivered, .marks, .look: true
                case .add, .removeDelivered, .removePending, .write: false
                }
            actions += machine.take(
                .answered(number, answer), at: isRead ? now : later ?? now)
        }
        return asked
    }

    private func started() -> (Machine, [Machine.Action]) {
        var machine = Machine()
        let load = machine.take(.started, at: moment(0))
        #expect(load == [.load])
        let actions = machine.take(.storeLoaded, at: moment(0))
        return (machine, actions)
    }

    @Test(
        "A first reconciliation loads, sets the store ready, reads everything at once, makes its changes, and records them"
    )
    func first() {
        var (machine, actions) = started()
        #expect(
            actions == [
                .setReady(true), .ask(1, .entities(nil)), .ask(1, .settings), .ask(1, .pending),
                .ask(1, .delivered), .ask(1, .marks),
            ])
        let asked = play(&machine, actions, at: moment(0), entities: [walk])
        #expect(asked.count == 7)
        guard case .add(let request) = asked[5], case .write(let record) = asked[6] else {
            Issue.record("\(asked)")
            return
        }
        #expect(request.content.thread == "a")
        #expect(record.rows.map(\.status) == [.pending])
        #expect(machine.isSettled)
    }

    @Test("An entity without room is planned as soon as another one leaves, though it is the same")
    func room() {
        var (machine, actions) = started()
        let others = (1...10_000).map { number in
            RemindedEntity(
                id: "e\(number)", reminders: [.once("x", LocalDate(2028, 1, 16), 9, 0)])
        }
        _ = play(&machine, actions, at: moment(0), entities: others + [walk])
        #expect(machine.diagnostics.invalid.keys.sorted() == ["a"])
        actions = machine.take(.changed(.entities(["e1"])), at: moment(1))
        let asked = play(&machine, actions, at: moment(1), entities: [])
        #expect(machine.diagnostics.invalid.isEmpty)
        let isAdded = asked.contains { question in
            guard case .add(let request) = question else { return false }
            return request.content.thread == "a"
        }
        #expect(isAdded)
    }

    @Test("Removals come before additions, and additions soonest first")
    func order() {
        var (machine, actions) = started()
        let entity = RemindedEntity(
            id: "a",
            reminders: [
                .once("late", LocalDate(2027, 1, 18), 9, 0),
                .once("soon", LocalDate(2027, 1, 16), 9, 0),
            ])
        let orphan = NotificationRequest(
            id: "reprise.reminder.orphan", content: NotificationContent(title: "Gone"),
            trigger: .after(seconds: 60, repeats: false))
        let asked = play(&machine, actions, at: moment(0), entities: [entity], pending: [orphan])
        #expect(asked[5] == .removePending([orphan.id]))
        let added = asked.compactMap { question -> Data? in
            guard case .add(let request) = question else { return nil }
            return Data(request.content.info)
        }.map { String(decoding: $0, as: UTF8.self) }
        #expect(added.count == 2)
        #expect(added.first?.contains(#""reminder":"soon""#) == true)
    }

    @Test(
        "A request that rings while it is being removed is looked for once more, a second later",
        arguments: [(9, true), (10, true), (11, false)])
    func rangMeanwhile(second: Int, isLookedFor: Bool) throws {
        var machine = Machine()
        _ = machine.take(.started, at: moment(0))
        let actions = machine.take(.storeLoaded, at: moment(0))
        let due = moment(0).wall.advanced(by: .seconds(second))
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let components = calendar.dateComponents(
            [.year, .month, .day, .hour, .minute, .second],
            from: Date(timeIntervalSince1970: Double(due.milliseconds) / 1_000))
        let orphan = NotificationRequest(
            id: "reprise.reminder.orphan", content: NotificationContent(title: "Gone"),
            trigger: .calendar(components, repeats: false))
        // It is pending at second 8, and its removal is done at second 10.
        let asked = play(
            &machine, actions, at: moment(8), entities: [walk], pending: [orphan],
            changing: moment(10))
        #expect(asked.contains(.removePending([orphan.id])))
        #expect(machine.isSettled == !isLookedFor)
        guard isLookedFor else { return }
        #expect(machine.due == .seconds(11))
        let again = machine.take(.timerFired, at: moment(11))
        #expect(again.contains(.ask(2, .delivered)))
        _ = play(&machine, again, at: moment(11), entities: [walk])
        #expect(machine.isSettled && machine.number == 2)
    }

    @Test(
        "Changes during a reconciliation lead to one more, which reads the changed entities alone")
    func coalesces() {
        var (machine, actions) = started()
        for id in ["b", "c", "b"] {
            #expect(machine.take(.changed(.entities([id])), at: moment(0)).isEmpty)
        }
        let asked = play(&machine, actions, at: moment(0), entities: [walk])
        let reads = asked.compactMap { question -> Set<String>?? in
            guard case .entities(let ids) = question else { return nil }
            return ids
        }
        #expect(reads == [nil, ["b", "c"]])
        #expect(machine.number == 2)
    }

    @Test("A change that names too many entities is one of everything", .limit("reminders.changed"))
    func tooMany() {
        var (machine, actions) = started()
        _ = play(&machine, actions, at: moment(0), entities: [walk])
        actions = machine.take(
            .changed(.entities(Set((0...ReminderEngineLimits.changed).map { "\($0)" }))),
            at: moment(1))
        #expect(actions.first == .ask(2, .entities(nil)))
    }

    @Test("Answers to a reconciliation that is over are passed over")
    func stale() {
        var (machine, actions) = started()
        actions = machine.take(.answered(1, .failed("No.")), at: moment(0))
        #expect(actions.contains(.reconciled(1, isComplete: false)))
        #expect(machine.take(.answered(1, .entities([walk])), at: moment(0)).isEmpty)
        #expect(machine.due == .milliseconds(500))
    }

    @Test("After a failure the store is read again, a change does not hurry it, and a person does")
    func again() {
        var (machine, _) = started()
        _ = machine.take(.answered(1, .failed("No.")), at: moment(0))
        #expect(machine.take(.changed(.entities(["a"])), at: moment(0)).isEmpty)
        let actions = machine.take(.asked(.tap, entity: "a"), at: moment(0))
        // Nothing is known yet: everything is read.
        #expect(actions.first == .ask(2, .entities(nil)))
    }

    @Test(
        "A call during a reconciliation that fails does not wait for the next try; a change does")
    func askedMeanwhile() {
        var (machine, _) = started()
        #expect(machine.take(.changed(.entities(["a"])), at: moment(0)).isEmpty)
        var actions = machine.take(.answered(1, .failed("No.")), at: moment(0))
        #expect(actions.last == .reconciled(1, isComplete: false))
        actions = machine.take(.asked(.again), at: moment(1))
        #expect(machine.take(.asked(.mark), at: moment(1)).isEmpty)
        actions = machine.take(.answered(2, .failed("No.")), at: moment(1))
        #expect(actions.contains(.reconciled(2, isComplete: false)))
        #expect(actions.contains(.ask(3, .entities(nil))))
        // Nobody has asked for another one: the third waits.
        actions = machine.take(.answered(3, .failed("No.")), at: moment(1))
        #expect(actions == [.reconciled(3, isComplete: false)])
    }

    @Test(
        "A system that fails in the midst leaves the rest to the next reconciliation, and says what is missing"
    )
    func failing() {
        var (machine, actions) = started()
        let asked = play(
            &machine, actions, at: moment(0), entities: [walk], adding: .failed("No answer."))
        guard case .write(let record) = asked.last else {
            Issue.record("\(asked)")
            return
        }
        #expect(record.rows.map(\.status) == [.missing])
        #expect(record.summary.fault == "No answer.")
        #expect(machine.due == .milliseconds(500))
        actions = machine.take(.timerFired, at: moment(1))
        let next = play(&machine, actions, at: moment(1), entities: [walk])
        #expect(next.contains { if case .add = $0 { true } else { false } })
        #expect(machine.diagnostics.fault == nil)
    }

    @Test(
        "Loading is tried again with a growing wait", .limit("reminders.loading"),
        arguments: [(1, 50), (2, 100), (3, 200), (9, 12_800), (12, 15_000)])
    func loading(failures: Int, milliseconds: Int) {
        var machine = Machine()
        _ = machine.take(.started, at: moment(0))
        var now = Duration.zero
        for _ in 1..<failures {
            _ = machine.take(.loadFailed("No."), at: moment(0, jump: 0).moved(to: now))
            now = machine.due ?? now
            #expect(machine.take(.timerFired, at: moment(0).moved(to: now)) == [.load])
        }
        _ = machine.take(.loadFailed("No."), at: moment(0).moved(to: now))
        #expect(machine.due == now + .milliseconds(milliseconds))
    }

    @Test("Without permission what is pending is taken back, and nothing is added")
    func permission() {
        var (machine, actions) = started()
        _ = play(&machine, actions, at: moment(0), entities: [walk])
        let request = NotificationRequest(
            id: "reprise.reminder.x", content: NotificationContent(title: "T"),
            trigger: .after(seconds: 60, repeats: false))
        actions = machine.take(.asked(.asked), at: moment(1))
        let asked = play(
            &machine, actions, at: moment(1), entities: [walk], pending: [request],
            authorization: .denied)
        #expect(asked.contains(.removePending([request.id])))
        #expect(!asked.contains { if case .add = $0 { true } else { false } })
        #expect(machine.diagnostics.state == .notPermitted)
    }

    @Test("A calendar that is set and another zone are seen at the next tick; asleep nothing ticks")
    func clocks() {
        var (machine, actions) = started()
        _ = play(&machine, actions, at: moment(0), entities: [walk])
        #expect(machine.due == .seconds(60))
        actions = machine.take(.timerFired, at: moment(60, jump: 10))
        #expect(actions.first == .ask(2, .settings))
        _ = play(&machine, actions, at: moment(60, jump: 10), entities: [walk])
        let tokyo = TimeZone(identifier: "Asia/Tokyo") ?? .gmt
        actions = machine.take(.timerFired, at: moment(120, jump: 10, zone: tokyo))
        #expect(actions.first == .ask(3, .settings))
        _ = play(&machine, actions, at: moment(120, jump: 10, zone: tokyo), entities: [walk])
        _ = machine.take(.slept, at: moment(121, jump: 10, zone: tokyo))
        #expect(machine.due == nil)
    }

    @Test(
        "A reminder that rings during a reconciliation leaves a place, which the next reconciliation fills"
    )
    func ringsMeanwhile() {
        var (machine, actions) = started()
        let daily = RemindedEntity(id: "a", reminders: [.daily("x", 8, 1)])
        _ = play(
            &machine, actions, at: moment(55), entities: [daily], changing: moment(62))
        #expect(machine.due == .seconds(63))
        actions = machine.take(.timerFired, at: moment(63))
        #expect(actions.first == .ask(2, .settings))
        let asked = play(&machine, actions, at: moment(63), entities: [daily])
        #expect(asked.contains { if case .add = $0 { true } else { false } })
    }

    @Test("A snooze to a part of a second is not taken back before the second in which it rings")
    func snoozeToAPart() throws {
        var (machine, actions) = started()
        let mark = ReminderOverride(
            entity: "a", reminder: "x", occurrence: "2027-01-15T07:00", what: .snooze,
            until: moment(10).wall.advanced(by: .milliseconds(300)))
        var asked = play(&machine, actions, at: moment(1), entities: [walk], marks: [mark])
        let pending = asked.compactMap { question -> NotificationRequest? in
            if case .add(let request) = question { request } else { nil }
        }
        #expect(pending.count == 2)
        var between = moment(10)
        between.wall = between.wall.advanced(by: .milliseconds(600))
        actions = machine.take(.asked(.asked), at: between)
        asked = play(
            &machine, actions, at: between, entities: [walk], pending: pending, marks: [mark])
        #expect(!asked.contains { if case .removePending = $0 { true } else { false } })
        #expect(machine.diagnostics.planned == 2)
    }

    @Test(
        "A phone that travels, or whose calendar is set, while a reconciliation makes its changes")
    func clocksMeanwhile() {
        let tokyo = TimeZone(identifier: "Asia/Tokyo") ?? .gmt
        for (meanwhile, after) in [
            (moment(2, zone: tokyo), moment(61, zone: tokyo)),
            (moment(2, jump: 600), moment(61, jump: 600)),
        ] {
            var (machine, actions) = started()
            _ = play(
                &machine, actions, at: moment(1), entities: [walk], changing: meanwhile)
            #expect(machine.due == .seconds(61))
            actions = machine.take(.timerFired, at: after)
            #expect(actions.first == .ask(2, .settings))
        }
    }
}

extension ReconciliationMachine.Moment {
    fileprivate func moved(to uptime: Duration) -> Self {
        var moment = self
        moment.uptime = uptime
        return moment
    }
}
