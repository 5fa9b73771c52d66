import RepriseCore
import RepriseServer
import RepriseWire

/// Plays the messages of one person by one way, with the decision that ships.
struct ReachDevice {
    private let person: ReachPerson
    private let mode: ReachMode
    private let point: ReachPoint
    private let scene: ReachScene
    private var tally = ReachTally()

    private init(_ person: ReachPerson, _ mode: ReachMode, _ point: ReachPoint, _ scene: ReachScene)
    {
        self.person = person
        self.mode = mode
        self.point = point
        self.scene = scene
    }

    static func play(
        _ person: ReachPerson, _ mode: ReachMode, _ point: ReachPoint, _ scene: ReachScene
    ) -> ReachTally {
        var device = ReachDevice(person, mode, point, scene)
        let pushes = device.pushes()
        for (index, message) in person.messages.enumerated() {
            device.show(message, pushed: pushes.isEmpty ? nil : pushes[index])
        }
        return device.tally
    }

    private var isAllowed: Bool { mode == .webPush ? person.allowsWeb : person.allows }

    // MARK: Pushes

    /// When the push of each message reaches the device; empty where nothing is pushed.
    private func pushes() -> [Double?] {
        guard mode == .apns || mode == .webPush, isAllowed else { return [] }
        guard mode == .apns || person.webDelivers else { return [] }
        let mean = point[mode == .apns ? .apnsSeconds : .webPushSeconds]
        var arrivals: [Double?] = []
        arrivals.reserveCapacity(person.messages.count)
        var stored: (outage: Double, index: Int)?
        for (index, message) in person.messages.enumerated() {
            arrivals.append(nil)
            let opened = person.connected(from: message.time - ReachScene.connectionStays)
            let stands = opened.map { $0 <= message.time } ?? false
            let due =
                message.time + (stands ? ReachScene.pushAfterGrace : ReachScene.pushAfter)
            if let socket = person.connected(from: message.time), socket <= due { continue }
            guard message.luck >= point[.pushLost] else { continue }
            let arrival = due + message.delay * mean
            let online = person.online(from: arrival)
            guard online - message.time <= ReachScene.pushLife else { continue }
            if online > arrival, mode == .apns {
                // Apple stores one for an app, in most cases the newest.
                if let stored, stored.outage == online { arrivals[stored.index] = nil }
                stored = (online, index)
            }
            arrivals[index] = online
        }
        return arrivals
    }

    // MARK: One message

    private mutating func show(_ message: ReachPerson.Message, pushed: Double?) {
        let state = person.state(at: message.time)
        let seen = person.seen(from: message.time + ReachLimits.socketSeconds)
        var shown: Double?
        var isQuiet = false
        for arrival in arrivals(of: message, pushed) where arrival.time < seen ?? .infinity {
            let decision = decide(message, arrival, isShown: shown != nil)
            tally.decisions[decision.reason, default: 0] += 1
            guard shown == nil, !decision.presentation.isDisjoint(with: [.banner, .list]) else {
                continue
            }
            shown = arrival.time
            isQuiet = !decision.presentation.contains(.banner)
        }
        if let seen, shown == nil, state == .foreground, seen - message.time < 1 {
            // In front of the person: what is decided is whether a banner is needed beside it.
            let arrival = Arrival(time: seen, source: .live)
            tally.decisions[decide(message, arrival, isShown: false).reason, default: 0] += 1
        }
        tally.add(
            waited: (shown ?? seen).map { $0 - message.time }, byNotice: shown != nil,
            isQuiet: isQuiet, state: state)
    }

    private struct Arrival {
        var time: Double
        var source: Notice.Source
    }

    /// What brings the message to code or to the system while the app is not in front, in the order
    /// in which it comes.
    private func arrivals(of message: ReachPerson.Message, _ pushed: Double?) -> [Arrival] {
        var arrivals: [Arrival] = []
        let socket = person.connected(from: message.time)
        if mode == .refresh, let refresh = person.refreshed(from: message.time),
            refresh < socket ?? .infinity
        {
            arrivals.append(Arrival(time: refresh, source: .catchUp))
        }
        if let socket {
            let isLive = socket == message.time
            arrivals.append(
                Arrival(time: socket + ReachLimits.socketSeconds, source: isLive ? .live : .catchUp)
            )
        }
        if let pushed {
            let push = Arrival(time: pushed, source: .push)
            if let last = arrivals.last, last.time < pushed {
                arrivals.append(push)
            } else {
                arrivals.insert(push, at: 0)
            }
        }
        return arrivals
    }

    private func decide(
        _ message: ReachPerson.Message, _ arrival: Arrival, isShown: Bool
    ) -> NoticeDecision {
        var notice = scene.notice
        notice.published = scene.wall(message.time)
        notice.source = arrival.source
        var state = scene.state
        state.now = scene.wall(arrival.time)
        state.settings.authorization = isAllowed ? .authorized : .denied
        state.shown = isShown ? .standing : .never
        if message.isMuted { state.channelMute = .until(scene.never, exceptMentions: false) }
        state.isQuiet = person.hasQuietHours && scene.isQuiet(arrival.time)
        if message.isReply, person.state(at: arrival.time) == .foreground {
            state.onScreen = notice.channel
        }
        return NoticeDecision.decide(notice, in: state)
    }
}
