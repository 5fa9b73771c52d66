/// A person with a device: when the app is used, when there is a network, and what messages come.
///
/// Drawn for each purpose from a source of its own, so that a change of one input changes nothing
/// else: differences between two points are differences between the same people.
struct ReachPerson: Sendable {
    struct Message: Sendable {
        /// When it was stored, in seconds.
        var time: Double
        /// Whether it answers the person, and so comes into the conversation on the screen.
        var isReply: Bool
        var isMuted: Bool
        /// How long a push takes, of a mean of 1.
        var delay: Double
        /// Lost by the service if the share of lost pushes is greater.
        var luck: Double
    }

    /// 07:00 to 23:00: messages at night and uses by day are told apart by it.
    static let wakes = 7.0 * 3_600
    static let awake = 16.0 * 3_600
    static let day = 86_400.0

    var allows = false
    var allowsWeb = false
    var webDelivers = false
    var hasQuietHours = false
    private var forceQuits = false
    private var uses: [ReachSpan] = []
    private var outages: [ReachSpan] = []
    private var refreshes: [Double] = []
    var messages: [Message] = []
    /// How long code runs after a use.
    private var background: Double

    init(seed: UInt64, index: Int, days: Int, point: ReachPoint) {
        let own = seed &+ UInt64(index) &* 0x9e37_79b9_7f4a_7c15
        background = point[.backgroundSeconds]
        drawTraits(own, point)
        if forceQuits { background = 0 }
        let end = Double(days) * Self.day
        drawUses(own, point, end)
        let last = max(end, uses.last?.end ?? end)
        drawOutages(own, point, last)
        drawRefreshes(own, point, last)
        drawMessages(own, point, end)
    }

    private mutating func drawTraits(_ seed: UInt64, _ point: ReachPoint) {
        func has(_ trait: ReachInput) -> Bool {
            var random = SeededRandom(seed: seed, purpose: trait.rawValue)
            return random.chance(point[trait])
        }
        allows = has(.permission)
        allowsWeb = has(.webPermission)
        webDelivers = has(.webDelivers)
        hasQuietHours = has(.quietShare)
        forceQuits = has(.forceQuitShare)
    }

    /// Uses and pauses take turns on a clock that stands still at night, so that a use that goes on
    /// at bedtime goes on in the morning.
    private mutating func drawUses(_ seed: UInt64, _ point: ReachPoint, _ end: Double) {
        var random = SeededRandom(seed: seed, purpose: "uses")
        let inFront = min(point[.foregroundMinutes] * 60, Self.awake)
        let use = inFront / point[.opensPerDay]
        let pause = (Self.awake - inFront) / point[.opensPerDay]
        var clock = 0.0
        var isUse = random.fraction() * Self.awake < inFront
        var after = 0
        while after < ReachLimits.usesAfter {
            let length = random.exponential() * (isUse ? use : pause)
            if isUse {
                addUse(from: clock, to: clock + max(length, 0.001))
                if let last = uses.last, last.start >= end { after += 1 }
                if let last = uses.last, last.end >= end + 30 * Self.day { after += 1 }
            }
            clock += length
            isUse.toggle()
        }
    }

    private mutating func addUse(from start: Double, to end: Double) {
        var begin = start
        while begin < end {
            let day = (begin / Self.awake).rounded(.down)
            let stop = min(end, (day + 1) * Self.awake)
            let shown = day * Self.day + Self.wakes + (begin - day * Self.awake)
            uses.extend(ReachSpan(start: shown, end: shown + (stop - begin)))
            begin = stop
        }
    }

    private mutating func drawOutages(_ seed: UInt64, _ point: ReachPoint, _ end: Double) {
        let available = point[.networkAvailable]
        guard available < 1 else { return }
        var random = SeededRandom(seed: seed, purpose: "network")
        let down = point[.outageMinutes] * 60
        let up = down * available / (1 - available)
        var clock = 0.0
        var isUp = random.fraction() < available
        while clock < end {
            let length = random.exponential() * (isUp ? up : down)
            if !isUp { outages.extend(ReachSpan(start: clock, end: clock + length)) }
            clock += length
            isUp.toggle()
        }
    }

    private mutating func drawRefreshes(_ seed: UInt64, _ point: ReachPoint, _ end: Double) {
        var random = SeededRandom(seed: seed, purpose: "refreshes")
        guard random.chance(point[.refreshAllowed]), !forceQuits else { return }
        let least = ReachInput.refreshMinutes.possible.lowerBound * 60
        let more = point[.refreshMinutes] * 60 - least
        var clock = random.fraction() * (least + more)
        while clock < end {
            refreshes.append(clock)
            clock += least + random.exponential() * more
        }
    }

    private mutating func drawMessages(_ seed: UInt64, _ point: ReachPoint, _ end: Double) {
        var random = SeededRandom(seed: seed, purpose: "messages")
        var inFront: [Double] = []
        var sum = 0.0
        for use in uses where use.start < end {
            sum += min(use.end, end) - use.start
            inFront.append(sum)
        }
        let pause = Self.day / point[.messagesPerDay]
        var clock = random.exponential() * pause
        while clock < end {
            let day = (clock / Self.day).rounded(.down) * Self.day
            var message = Message(
                time: day, isReply: random.fraction() < point[.replyShare] && sum > 0,
                isMuted: false, delay: 0, luck: 0)
            let isNight = random.fraction() < point[.nightShare]
            let place = random.fraction()
            let answer = random.exponential() * point[.replySeconds]
            if message.isReply {
                let use = inFront.first(from: place * sum)
                message.time = uses[use].end - (inFront[use] - place * sum) + answer
            } else if isNight {
                let hour = place * (Self.day - Self.awake)
                message.time += hour < Self.wakes ? hour : hour + Self.awake
            } else {
                message.time += Self.wakes + place * Self.awake
            }
            message.isMuted = random.fraction() < point[.mutedShare] && !message.isReply
            message.delay = random.exponential()
            message.luck = random.fraction()
            messages.append(message)
            clock += random.exponential() * pause
        }
        messages.sort { $0.time < $1.time }
    }
}

extension ReachPerson {
    /// Where the app is.
    enum AppState: Int, CaseIterable {
        case foreground, background, suspended, forceQuit
    }

    func state(at moment: Double) -> AppState {
        let next = uses.first(endingAfter: moment)
        if next < uses.count, uses[next].start <= moment { return .foreground }
        if forceQuits { return .forceQuit }
        return next > 0 && moment < uses[next - 1].end + background ? .background : .suspended
    }

    /// When there is a network, at this moment or later.
    func online(from moment: Double) -> Double {
        let next = outages.first(endingAfter: moment)
        guard next < outages.count, outages[next].start <= moment else { return moment }
        return outages[next].end
    }

    /// When the app is in the foreground and has a network; nil: not any more.
    func seen(from moment: Double) -> Double? {
        var moment = moment
        while let opened = opened(from: moment) {
            moment = online(from: opened)
            if moment == opened { return opened }
        }
        return nil
    }

    private func opened(from moment: Double) -> Double? {
        let next = uses.first(endingAfter: moment)
        return next < uses.count ? max(uses[next].start, moment) : nil
    }

    /// When the socket is there: code runs, in the foreground or in granted time, and there is a
    /// network.
    func connected(from moment: Double) -> Double? {
        var moment = moment
        while true {
            let runs: Double
            switch state(at: moment) {
            case .foreground, .background: runs = moment
            case .suspended, .forceQuit:
                guard let opened = opened(from: moment) else { return nil }
                runs = opened
            }
            moment = online(from: runs)
            if moment == runs { return runs }
        }
    }

    /// When a background refresh fetches something.
    func refreshed(from moment: Double) -> Double? {
        var index = refreshes.first(from: moment)
        while index < refreshes.count {
            if online(from: refreshes[index]) == refreshes[index] { return refreshes[index] }
            index += 1
        }
        return nil
    }
}
