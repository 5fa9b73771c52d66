import RepriseCore

/// The phone at one moment, for the decisions about one app; collects what follows from them.
struct PhoneContext {
    let now: PhoneMoment
    /// The app itself is not read from here.
    private(set) var state: PhoneState
    private(set) var actions: [PhoneMachine.Action] = []
    private(set) var events: [PhoneEvent] = []

    init(_ state: PhoneState, at now: PhoneMoment) { (self.state, self.now) = (state, now) }

    var rules: PhoneRules { state.rules }
    var isLocked: Bool { state.isLocked }
    var isOnline: Bool { state.network != .off }
    var conditions: RunConditions { state.conditions }
    /// How long an app may run in the background.
    var grantedMilliseconds: Int64 { Int64(max(0, rules.backgroundSeconds)) * 1_000 }

    var notifications: AppNotifications.Context {
        .init(now: now, zone: state.clock.zone, rules: rules, isFocused: state.isFocused)
    }

    mutating func act(_ action: PhoneMachine.Action) { actions.append(action) }

    mutating func log(_ what: PhoneEvent.What, _ app: String, _ detail: String = "") {
        events.append(PhoneEvent(what, app: app, detail, at: now))
    }

    /// The number of a new process.
    mutating func nextLife() -> Int {
        state.lastLife += 1
        return state.lastLife
    }

    /// The number of a new order.
    mutating func nextOrder() -> Int {
        state.lastOrder += 1
        return state.lastOrder
    }

    /// Remembers a process that is killed until its end is confirmed.
    mutating func condemn(_ process: ProcessIdentity) { state.condemned.append(process) }

    /// The ended transfers that the app does not know; from now on it does.
    mutating func untoldTransfers(of app: String) -> [Transfer] { state.transfers.untold(app) }

    /// Whether all transfers of an app are done, and it does not know it.
    func areTransfersDoneUntold(of app: String) -> Bool { state.transfers.isDoneUntold(app) }

    /// - Returns: the number of the service extension's run; nil if too many are at work.
    mutating func startExtension(of app: String, _ push: PhonePush) -> Int? {
        state.extensions.start(app, push, at: now)
    }
}
