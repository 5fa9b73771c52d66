import RepriseCore

/// A launched process: whether it is seen, runs or is suspended, and what it was told and has not
/// done.
package struct AppProcess: Hashable, Sendable, Codable {
    package enum Phase: Hashable, Sendable, Codable {
        case launching(until: Int64)
        case foreground
        case background(until: Int64)
        case suspended(wasForeground: Bool)
    }

    /// Time that was given for a task.
    package struct Slot: Hashable, Sendable, Codable {
        package var number: Int
        package var task: String
        package var until: Int64
        package var isExpired = false
    }

    /// What comes due.
    enum Due {
        case launch
        case backgroundWarning
        case background
        case removals
        case slot(Slot)
        case presentation(order: Int)
    }

    /// Which launch of the phone this is: no two have the same.
    package let life: Int
    private(set) var launch: PhoneLaunch
    package private(set) var phase: Phase
    /// Nil until it was spawned.
    package private(set) var identity: ProcessIdentity?
    /// Orders that wait until it has connected.
    private var held: [AppOrder]
    /// Unacknowledged orders, by number.
    package private(set) var orders: [Int: AppOrder] = [:]
    /// Until when an answer about a notification is awaited, by the order's number.
    private var presentations: [Int: Int64] = [:]
    package private(set) var slots: [Slot] = []
    /// When it is told that its time in the background is nearly over.
    private var warning: Int64?
    /// Entries into the background whose task has ended before their handler returned.
    private var endedTasks: Set<Int> = []
    /// Handlers for background tasks that it has registered.
    private var registered: Set<String> = []
    private var removals = PendingRemovals()

    /// `held` are responses that a former process has not completed.
    init(life: Int, launch: PhoneLaunch, until: Int64, held: [NotificationResponse]) {
        self.life = life
        self.launch = launch
        phase = .launching(until: until)
        self.held = held.map(AppOrder.received)
    }

    mutating func spawned(_ identity: ProcessIdentity) { self.identity = identity }

    // MARK: Phases

    /// Whether it has connected and runs code.
    package var isRunning: Bool {
        switch phase {
        case .launching, .suspended: false
        case .foreground, .background: true
        }
    }

    var isLaunching: Bool { if case .launching = phase { true } else { false } }
    var isSuspended: Bool { if case .suspended = phase { true } else { false } }

    /// Whether nothing is left to do in the background.
    var isIdle: Bool {
        guard case .background = phase else { return false }
        return orders.isEmpty && slots.isEmpty
    }

    /// It has connected, and if nobody sees it may run until then.
    ///
    /// - Returns: the orders that were held.
    mutating func connected(at now: PhoneMoment, granted milliseconds: Int64) -> [AppOrder] {
        if launch.isForeground {
            phase = .foreground
        } else {
            enterBackground(at: now, granted: milliseconds)
        }
        defer { held = [] }
        return held
    }

    mutating func enterForeground() {
        if isLaunching { launch.isForeground = true } else { phase = .foreground }
    }

    mutating func enterBackground(at now: PhoneMoment, granted milliseconds: Int64) {
        phase = .background(until: now.after(milliseconds: milliseconds))
        // Of little time half: a fifth of a second is too short for an app on a busy machine.
        let warned = min(PhoneLimits.backgroundWarningMilliseconds, milliseconds / 2)
        warning = now.after(milliseconds: milliseconds - warned)
    }

    /// Another app is opened, or the user goes home.
    ///
    /// - Returns: whether it was in the foreground, and goes to the background.
    mutating func leaveForeground() -> Bool {
        switch phase {
        case .foreground: return true
        case .launching: launch.isForeground = false
        case .suspended: phase = .suspended(wasForeground: false)
        case .background: break
        }
        return false
    }

    mutating func suspend() {
        phase = .suspended(wasForeground: phase == .foreground)
        removals.lose()
    }

    // MARK: The time in the background

    /// Its time is nearly over.
    ///
    /// - Returns: whether it has a background task, whose expiration handler is called.
    mutating func warned() -> Bool {
        warning = nil
        return orders.values.contains(where: \.isBackground)
    }

    /// Its expiration handler has ended its background tasks, whatever still uses them.
    private mutating func endBackgroundTasks() {
        for (number, order) in orders where order.isBackground {
            orders[number] = nil
            endedTasks.insert(number)
        }
    }

    /// - Returns: false for a second registration of the identifier, for which the system ends the
    ///   app.
    mutating func register(_ task: String) -> Bool { registered.insert(task).inserted }

    // MARK: Removals

    /// - Returns: whether no more can wait.
    mutating func remove(_ removal: PendingRemovals.Removal, at now: PhoneMoment) -> Bool {
        removals.asked(removal, at: now)
        return removals.isFull
    }

    /// - Returns: what is removed now.
    mutating func takeRemovals() -> [PendingRemovals.Removal] { removals.take() }

    // MARK: Orders

    var hasRoom: Bool { held.count + orders.count < PhoneLimits.orders }

    /// - Returns: what it is told now; nil: it is held.
    mutating func tell(_ order: AppOrder, number: Int, at now: PhoneMoment) -> AppOrder? {
        guard !isLaunching else {
            held.append(order)
            return nil
        }
        var told = order
        if case .slot(_, let task, let limit) = order {
            // The slot begins when the app can be notified.
            told = .slot(number: number, task: task, milliseconds: limit)
            slots.append(
                Slot(number: number, task: task, until: now.after(milliseconds: limit)))
        }
        if case .willPresent = order {
            presentations[number] = now.after(
                milliseconds: PhoneLimits.presentationMilliseconds)
        }
        orders[number] = told
        return told
    }

    /// Its handler has returned.
    ///
    /// - Returns: the order; nil if it was not told.
    mutating func returned(_ number: Int) -> AppOrder? {
        presentations[number] = nil
        if endedTasks.remove(number) != nil { return .late }
        let order = orders.removeValue(forKey: number)
        if order == .backgroundExpires { endBackgroundTasks() }
        return order
    }

    /// It has not answered in time about a notification.
    mutating func presentationDue(_ number: Int) -> DeliveredNotification? {
        guard case .willPresent(let notification) = orders[number] else { return nil }
        // The order stays known, so that a late answer is recognised and ignored.
        presentations[number] = nil
        orders[number] = .late
        return notification
    }

    /// The responses that it has not completed.
    var uncompleted: [NotificationResponse] {
        (orders.sorted { $0.key < $1.key }.map(\.value) + held).compactMap { order in
            if case .received(let response) = order { response } else { nil }
        }
    }

    // MARK: Slots

    /// Its time is over: it has a moment to complete it.
    mutating func expire(_ slot: Slot, at now: PhoneMoment) {
        for index in slots.indices where slots[index].number == slot.number {
            slots[index].isExpired = true
            slots[index].until = now.after(milliseconds: PhoneLimits.expiryMilliseconds)
        }
    }

    /// - Returns: the slot; nil for a second completion, which does nothing.
    mutating func complete(_ number: Int) -> Slot? {
        guard let index = slots.firstIndex(where: { $0.number == number }) else { return nil }
        return slots.remove(at: index)
    }

    // MARK: Time

    /// Everything that comes due, in an order that is always the same.
    var due: [(at: Int64, due: Due)] {
        var all: [(at: Int64, due: Due)] =
            switch phase {
            case .launching(let until): [(until, .launch)]
            case .background(let until) where slots.isEmpty:
                (warning.map { [($0, .backgroundWarning)] } ?? []) + [(until, .background)]
            case .background, .foreground, .suspended: []
            }
        all += slots.map { ($0.until, .slot($0)) }
        if let at = removals.due { all.append((at, .removals)) }
        return all
            + presentations.sorted { $0.key < $1.key }.map {
                ($0.value, .presentation(order: $0.key))
            }
    }
}

extension AppOrder {
    fileprivate var isBackground: Bool { if case .background = self { true } else { false } }
}
