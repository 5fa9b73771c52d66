import Foundation
import RepriseCore
import ReprisePhone

/// A machine whose time a test moves, with a driver that does nothing but remember.
struct PhoneBench {
    var machine = PhoneMachine()
    var now = PhoneMoment(wall: WallTime(milliseconds: 1_000_000_000_000), microseconds: 1_000)
    var actions: [PhoneMachine.Action] = []
    var events: [PhoneEvent] = []

    init(rules: PhoneRules = PhoneRules(), tasks: [String] = [], extension program: String? = nil)
        throws
    {
        try command(.rules(rules))
        try install("a", tasks: tasks, extension: program)
        try command(.permission(app: "a", NotificationSettings(authorization: .authorized)))
    }

    mutating func install(_ app: String, tasks: [String] = [], extension program: String? = nil)
        throws
    {
        try command(
            .install(
                PhoneAppSpec(
                    id: app, executable: "/bin/a", serviceExtension: program,
                    backgroundTasks: tasks)))
    }

    mutating func drain() {
        let (new, happened) = machine.drain()
        actions += new
        events += happened
    }

    mutating func command(_ command: PhoneCommand) throws {
        defer { drain() }
        try machine.command(command, at: now)
        // The driver's clock shows what the machine has set.
        if case .advance(let milliseconds) = command {
            now = now.advanced(byMilliseconds: milliseconds)
        }
        if case .setCalendar(let by) = command {
            now.wall = now.wall.advanced(by: .milliseconds(by))
        }
    }

    /// Time passes by itself.
    mutating func pass(_ seconds: Double) {
        now = now.advanced(byMilliseconds: Int64(seconds * 1_000))
        machine.timePassed(to: now)
        drain()
    }

    func record(_ app: String = "a") -> AppMachine? { machine.state.apps[app] }
    var phase: AppProcess.Phase? { record()?.process?.phase }
    var life: Int { record()?.process?.life ?? 0 }

    /// The process is there and has connected.
    @discardableResult
    mutating func connect(_ app: String = "a") -> PhoneLaunch? {
        let life = record(app)?.process?.life ?? 0
        machine.spawned(life: life, ProcessIdentity(id: Int32(1_000 + life), started: "\(life)"))
        defer { drain() }
        return machine.connected(life: life, at: now)
    }

    /// In the foreground, with nothing to do.
    mutating func open(_ app: String = "a") throws {
        try command(.launch(app: app))
        connect(app)
        finish(app)
    }

    /// The app does all that it was told.
    mutating func finish(_ app: String = "a", options: PresentationOptions? = nil) {
        while let process = record(app)?.process, let order = process.orders.keys.min() {
            machine.returned(life: process.life, order: order, options: options, at: now)
            drain()
        }
    }

    @discardableResult
    mutating func call(_ call: AppCall) -> AppAnswer? {
        defer { drain() }
        return machine.called(life: life, call, at: now)
    }

    mutating func push(_ push: PhonePush) {
        machine.pushArrived("a", push, at: now)
        drain()
    }

    mutating func restart(after seconds: Double = 0) {
        now = now.advanced(byMilliseconds: Int64(seconds * 1_000))
        machine = PhoneMachine(machine.state)
        machine.started(after: "test", at: now)
        drain()
    }

    func happened(_ what: PhoneEvent.What) -> [String] {
        events.filter { $0.what == what.rawValue }.map(\.detail)
    }

    var pending: [String] { record()?.notifications.pending.map(\.request.id) ?? [] }
    var delivered: [String] { record()?.notifications.delivered.map(\.request.id) ?? [] }

    /// What the process was told, by its newest life.
    var orders: [AppOrder] {
        actions.compactMap { if case .order(_, _, let order) = $0 { order } else { nil } }
    }
}

extension AppAnswer {
    var code: String? { if case .failed(let failure) = self { failure.code } else { nil } }
}

/// A push that shows something, or wakes the app, or both.
func push(_ id: String?, wakes: Bool = false, badge: Int? = nil, mutable: Bool = false) -> PhonePush
{
    PhonePush(
        alert: id.map { request($0, badge: badge) }, badge: badge, wakesApp: wakes,
        isMutable: mutable, payload: Array("{}".utf8))
}
