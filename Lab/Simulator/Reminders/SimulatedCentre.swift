import RepriseCore
import RepriseReminders

/// The system's notification centre: it outlives the app, keeps 64 requests, and rings by the
/// device's calendar.
final class SimulatedCentre {
    /// A reference, because they are sorted and looked through all the time.
    private final class Pending {
        let request: NotificationRequest
        let order: Int
        var due: WallTime

        init(_ request: NotificationRequest, order: Int, due: WallTime) {
            (self.request, self.order, self.due) = (request, order, due)
        }
    }

    static let limit = 64

    private(set) var delivered: [DeliveredNotification] = []
    var authorization = NotificationSettings.Authorization.authorized
    private(set) var place: SimulatedPlace
    /// Hears of each that rings, and of each that had to go because there were too many.
    var rang: (NotificationRequest) -> Void = { _ in }
    var dropped: (NotificationRequest) -> Void = { _ in }

    private let simulation: Simulation
    private let clock: SimulatedClock
    /// Which of too many are kept.
    ///
    /// Those that ring soonest, or those added last. Nobody has written it down.
    private let keepsSoonest: Bool
    private var kept: [String: Pending] = [:]
    private var order = 0
    private var alarm: Duration?

    init(
        _ simulation: Simulation, clock: SimulatedClock, place: SimulatedPlace,
        keepsSoonest: Bool
    ) {
        self.simulation = simulation
        self.clock = clock
        self.place = place
        self.keepsSoonest = keepsSoonest
    }

    var pending: [NotificationRequest] {
        ring()
        return sorted.map(\.request)
    }

    /// When each of ours rings.
    var due: [String: WallTime] {
        ring()
        return kept.filter { $0.value.request.isOurs }.mapValues(\.due)
    }

    private var sorted: [Pending] {
        kept.values.sorted { ($0.due.milliseconds, $0.order) < ($1.due.milliseconds, $1.order) }
    }

    var isAllowed: Bool { authorization == .authorized || authorization == .provisional }

    /// - Returns: why it is refused for good; nil: it is pending.
    func add(_ request: NotificationRequest) -> String? {
        ring()
        guard isAllowed else { return "Notifications are not allowed." }
        guard let due = SimulatedCalendar.moment(request, in: place),
            due > clock.wall()
        else { return "The trigger never fires." }
        order += 1
        kept[request.id] = Pending(request, order: order, due: due)
        while kept.count > Self.limit {
            let gone =
                keepsSoonest
                ? sorted.last : kept.values.min { $0.order < $1.order }
            guard let gone else { break }
            kept[gone.request.id] = nil
            dropped(gone.request)
        }
        arm()
        return nil
    }

    func removePending(_ ids: [String]) {
        ring()
        for id in ids { kept[id] = nil }
    }

    /// What it had is gone, as when it has died.
    func forget() {
        ring()
        for id in kept.keys where kept[id]?.request.isOurs == true { kept[id] = nil }
    }

    func removeDelivered(_ ids: [String]) {
        delivered.removeAll { ids.contains($0.request.id) }
    }

    func travel(to place: SimulatedPlace) {
        ring()
        self.place = place
        for pending in kept.values {
            pending.due =
                SimulatedCalendar.moment(pending.request, in: place) ?? pending.due
        }
        arm()
    }

    /// Rings what is due.
    func ring() {
        let now = clock.wall()
        // Sorting takes a third of a run; mostly nothing is due.
        guard kept.values.contains(where: { $0.due <= now }) else { return }
        for pending in sorted where pending.due <= now {
            kept[pending.request.id] = nil
            guard isAllowed else { continue }
            simulation.trace("centre", "rings \(pending.request.content.title)")
            delivered.removeAll { $0.request.id == pending.request.id }
            delivered.append(
                DeliveredNotification(request: pending.request, date: pending.due, isRemote: false))
            rang(pending.request)
        }
    }

    /// The calendar may be set meanwhile: it is looked at now and then.
    private func arm() {
        guard let first = kept.values.lazy.map(\.due).min() else { return }
        let wait = min(max(clock.wall().duration(to: first), .milliseconds(1)), .seconds(300))
        let moment = simulation.now + wait
        if let alarm, alarm <= moment, alarm > simulation.now { return }
        alarm = moment
        simulation.after(wait) { [weak self] in
            guard let self, alarm == moment else { return }
            alarm = nil
            ring()
            arm()
        }
    }
}
