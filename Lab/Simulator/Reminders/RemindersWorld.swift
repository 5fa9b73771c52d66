import RepriseCore
import RepriseReminders

/// What the devices of the workload `reminders` declare, and what people do on them.
enum RemindersWorld {
    static let configuration: Reminders.Configuration = {
        var configuration = Reminders.Configuration()
        configuration.actions = [
            ReminderActionRule(
                "log", category: "goal", title: "Log", does: .log, asksForText: true),
            ReminderActionRule(
                "later", category: "goal", title: "Later", does: .snooze(.seconds(900))),
            ReminderActionRule("skip", category: "goal", title: "Not today", does: .skipToday),
            ReminderActionRule("pause", category: "goal", title: "Pause", does: .pause),
        ]
        return configuration
    }()

    static let kinds = Reminders.kinds(configuration)

    /// A button of which nobody knows what it does is a tap.
    static func kind(of arrival: RouteArrival) -> String {
        guard let action = arrival.action else { return ReminderKinds.route }
        let isAction =
            configuration.rule(action, in: arrival.category) != nil
            || action == ReminderActionRule.dismissal
        return isAction ? ReminderKinds.action : ReminderKinds.route
    }
}

/// Something that happens on a device: to the app's store, or a tap, an action, a link.
struct RemindersMessage {
    enum What { case store, tap, action, link, app, old, seeds, broken }

    let device: Int
    let what: What
    let at: Duration
    /// When the same comes again through another entrance of the app.
    let again: Duration?
    let seed: UInt64

    /// `random` gives each message the same number of draws, so that a shorter schedule has the
    /// same first ones.
    init(_ index: Int, devices: Int, length: Duration, _ random: inout SeededRandom) {
        var draw = SeededRandom(seed: random.next())
        device = index % devices
        at = length * draw.fraction()
        again = draw.chance(0.2) ? draw.spread(.milliseconds(1), .seconds(60)) : nil
        switch draw.index(20) {
        case 0...7: what = .store
        case 8...11: what = .tap
        case 12...15: what = .action
        case 16: what = .link
        case 17: what = .app
        case 18: what = draw.chance(0.5) ? .old : .seeds
        default: what = .broken
        }
        seed = draw.next()
    }

    private init(_ what: What, beside fault: Fault, devices: Int, _ draw: inout SeededRandom) {
        device = fault.target % devices
        self.what = what
        at = fault.at + draw.spread(.milliseconds(1), .seconds(3))
        again = nil
        seed = draw.next()
    }

    /// People do something just then when a process dies or a store fails: by chance alone they
    /// hardly ever would.
    static func beside(_ faults: [Fault], devices: Int) -> [RemindersMessage] {
        faults.flatMap { fault -> [RemindersMessage] in
            switch fault.kind {
            case .killDevice, .powerLossDevice, .storeFails, .storeSlow:
                var draw = SeededRandom(seed: fault.bits, purpose: "beside a fault")
                return [What.tap, .tap, .action, .action, .action, .store, .store].map {
                    RemindersMessage($0, beside: fault, devices: devices, &draw)
                }
            default: return []
            }
        }
    }
}

/// What a person did, as it comes to the app.
struct SimulatedTap {
    /// Where it leads; nil: nowhere.
    struct Meaning {
        var id: String
        var part: String?
    }

    let id: EntryID
    let arrival: RouteArrival
    let meaning: Meaning?

    /// A tap on what stands in the notification centre, or on what stood there once.
    init(_ message: RemindersMessage, on device: RemindersDevice, _ random: inout SeededRandom) {
        let ids = device.goals.ids
        let unknown = random.chance(0.1)
        let id = unknown || ids.isEmpty ? "nobody" : ids[random.index(ids.count)]
        let part = random.chance(0.4) ? "q\(random.index(3))" : nil
        let isShown = random.chance(0.8)
        switch message.what {
        case .link:
            self.init(
                EntryID(unchecked: "link-\(message.seed)"),
                RouteArrival(link: "app://goal/\(id)" + (part.map { "/\($0)" } ?? "")),
                Meaning(id: id, part: part))
        case .app:
            self.init(
                EntryID(unchecked: "app-\(message.seed)"),
                RouteArrival(Route(sort: "goal", id: id, part: part)), Meaning(id: id, part: part))
        case .tap, .action, .store, .old, .seeds, .broken:
            let shown = device.centre.delivered.filter(\.request.isOurs)
            if [.tap, .action].contains(message.what), isShown, !shown.isEmpty {
                self.init(shown[random.index(shown.count)], message, &random, known: nil)
            } else {
                let meaning = message.what == .broken ? nil : Meaning(id: id, part: part)
                self.init(
                    Self.former(message, id, part, at: device.process.clock.wall(), &random),
                    message, &random, known: .some(meaning))
            }
        }
    }

    private init(_ id: EntryID, _ arrival: RouteArrival, _ meaning: Meaning?) {
        self.id = id
        self.arrival = arrival
        self.meaning = meaning
    }

    private init(
        _ shown: DeliveredNotification, _ message: RemindersMessage, _ random: inout SeededRandom,
        known: Meaning??
    ) {
        let buttons: [NotificationResponse.Action] = [
            .text("log", answer: "7"), .text("log", answer: "8"), .button("later"),
            .button("later"), .button("skip"), .button("pause"), .dismiss,
        ]
        let response = NotificationResponse(
            notification: shown,
            action: message.what == .action ? buttons[random.index(buttons.count)] : .open)
        let info = ReminderRequest.info(shown.request, sort: "goal")
        let read = info.map { Meaning(id: $0.route.id, part: $0.route.part) }
        self.init(response.tapID, RouteArrival(response), known ?? read)
    }

    /// What was shown before, by this version of the app or by former ones.
    private static func former(
        _ message: RemindersMessage, _ id: String, _ part: String?, at now: WallTime,
        _ random: inout SeededRandom
    ) -> DeliveredNotification {
        let more = part.map { #","question":"\#($0)""# } ?? ""
        let text =
            switch message.what {
            case .old: #"{"reprise":{"v":1,"goal":"\#(id)"\#(more)}}"#
            case .seeds:
                #"{"goalId":"\#(id)""# + (part.map { #","questionId":"\#($0)""# } ?? "") + "}"
            case .broken:
                [
                    "{}", "[1]", "{", #"{"reprise":{"v":9}}"#, #"{"reprise":{"v":2,"id":7}}"#,
                    #"{"reprise":{"v":2,"sort":"other","id":"x"}}"#, #"{"goalId":""}"#,
                ][random.index(7)]
            case .store, .tap, .action, .link, .app:
                String(
                    decoding: ReminderInfo(route: Route(sort: "goal", id: id, part: part)).payload,
                    as: UTF8.self)
            }
        var content = NotificationContent(title: "former", info: Array(text.utf8))
        content.category = "goal"
        return DeliveredNotification(
            request: NotificationRequest(id: "former-\(message.seed)", content: content), date: now,
            isRemote: false)
    }
}
