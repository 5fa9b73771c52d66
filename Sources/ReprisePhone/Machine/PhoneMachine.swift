package import RepriseCore

/// Decides the phone's behaviour: processes, notifications, tasks and pushes.
///
/// Its inputs are commands, ends of processes, calls of apps and the passing of time; ``drain()``
/// returns the actions, to be performed once the state is on disk. It reads no clock and draws no
/// random number.
package struct PhoneMachine: Sendable {
    /// The driver's actions, in order.
    package enum Action: Hashable, Sendable {
        /// Starts a process of the app; ``PhoneMachine/spawned(life:_:)`` or
        /// ``PhoneMachine/spawnFailed(life:_:at:)`` follows.
        case spawn(app: String, life: Int)
        /// SIGSTOP.
        case stop(life: Int)
        /// SIGCONT.
        case go(life: Int)
        /// SIGKILL, and waits for the end.
        case kill(life: Int, ProcessIdentity?)
        /// Kills a process of a former run, if its identity matches.
        case killLeftover(ProcessIdentity)
        case order(life: Int, id: Int, AppOrder)
        /// Notifies all processes.
        case tellClock, tellNetwork, tellDevice
        /// Starts the service extension; ``PhoneMachine/extensionFinished(run:content:at:)``
        /// follows.
        case runExtension(Int, app: String, PhonePush)
        /// Warns the service extension that its time is nearly over.
        case warnExtension(Int)
        /// Kills the service extension.
        case endExtension(Int)
        /// Begins an attempt, when the one before has ended;
        /// ``PhoneMachine/transferEnded(_:run:_:bytes:total:at:)`` follows.
        case startTransfer(Int, run: Int)
        /// Ends an attempt; its later reports are ignored.
        case stopTransfer(Int, run: Int)
        /// Takes the file of a transfer away.
        case removeTransfer(Int)
        /// Takes the files of all other transfers away.
        case keepTransfers(Set<Int>)
        case tellTransfer(life: Int, Transfer)
        /// Takes the app's folder away.
        case removeData(app: String)
    }

    package internal(set) var state: PhoneState
    var isShutDown = false
    private var actions: [Action] = []
    private var events: [PhoneEvent] = []

    package init(_ state: PhoneState = PhoneState()) { self.state = state }

    /// The actions and log events since the last call.
    package mutating func drain() -> (actions: [Action], events: [PhoneEvent]) {
        defer { (actions, events) = ([], []) }
        return (actions, events)
    }

    mutating func act(_ action: Action) { actions.append(action) }

    mutating func log(
        _ what: PhoneEvent.What, _ app: String?, _ detail: String = "", at now: PhoneMoment
    ) {
        events.append(PhoneEvent(what, app: app, detail, at: now))
    }

    /// The app that a command means.
    func named(_ app: String?) throws(PhoneFailure) -> String {
        if let app {
            guard state.apps[app] != nil else {
                throw PhoneFailure(.noSuchEntry, "No app of the name \(app) is installed.")
            }
            return app
        }
        guard state.apps.count == 1, let only = state.apps.keys.first else {
            throw PhoneFailure(
                .badConfiguration,
                state.apps.isEmpty ? "No app is installed." : "Several apps are installed.",
                remedy: state.apps.isEmpty ? "Install one first." : "Name the app.")
        }
        return only
    }

    /// The app whose process this is; nil if that process is no more.
    package func app(of life: Int) -> String? {
        state.apps.first { $0.value.process?.life == life }?.key
    }

    /// In an order that is always the same.
    var appNames: [String] { state.apps.keys.sorted() }

    /// Changes an app that is there.
    mutating func change<T>(_ app: String, _ body: (inout AppRecord) -> T) -> T? {
        guard var record = state.apps[app] else { return nil }
        defer { state.apps[app] = record }
        return body(&record)
    }

    mutating func changeProcess(_ app: String, _ body: (inout ProcessRecord) -> Void) {
        _ = change(app) { record in
            guard var process = record.process else { return }
            body(&process)
            record.process = process
        }
    }

    func process(_ app: String) -> ProcessRecord? { state.apps[app]?.process }

    var grantedMilliseconds: Int64 { Int64(max(0, state.rules.backgroundSeconds)) * 1_000 }

    mutating func nextNumber() -> Int {
        state.lastOrder += 1
        return state.lastOrder
    }
}

extension PhoneMoment {
    func after(milliseconds: Int64) -> Int64 { microseconds + milliseconds * 1_000 }
}
