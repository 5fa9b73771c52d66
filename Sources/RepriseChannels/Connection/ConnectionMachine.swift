package import RepriseCore
package import RepriseWire

/// Decides when to dial, when to give a connection up, and when to reconnect.
///
/// `idle → dialing → greeting → ready → closing → waiting → dialing…`; only a person leads back
/// from `stopped`. Without a network, or while the app sleeps, it stays `waiting` whatever the
/// time.
package struct ConnectionMachine: Sendable {
    package struct Settings: Hashable, Sendable {
        package var reconnect: Backoff = Backoff(base: .milliseconds(500), longest: .seconds(60))
        /// The timeout for the server's welcome.
        package var handshake: Duration = WireLimits.handshake
        /// The least wait after a close code that says "later".
        package var later: Duration = .seconds(5)
        /// The silence allowed beyond two heartbeats.
        package var grace: Duration = .seconds(5)
        /// How long a connection must have been ready to count as a success: otherwise a server
        /// that welcomes and then fails would be dialled without backoff.
        package var settled: Duration = .seconds(10)
        /// So many ends for a broken frame, none after a connection that worked for a while, are
        /// not the network's fault.
        package var brokenFrames = 3
        /// The least time between two dials without a wait: a flapping network must not cause a
        /// storm.
        package var spacing: Duration = .seconds(2)
        /// The timeout for the answer to a ping.
        package var probe: Duration = .seconds(5)
    }

    package enum Action: Hashable, Sendable {
        case dial
        /// The current dial is obsolete; it is answered by its failure.
        case abandonDial
        case sayHello
        /// The server's welcome has arrived: subscribe, and send the queued messages.
        case begin
        case close(CloseCode)
        /// Ping the peer; answered by `probeAnswered` or `probeFailed` with this number.
        case probe(Int)
        case scheduleTimer(at: Duration)
        /// When the app will be asleep; nil: it stays awake.
        case scheduleSleep(at: Duration?)
        case wait(Duration)
        /// Not before a network is available.
        case awaitNetwork
        /// Not before the app is in the foreground.
        case awaitForeground
        /// The connection has proved that it works.
        case confirm
        /// Another connection would end the same way.
        case stop
    }

    private enum State: Hashable {
        case idle
        case dialing
        case greeting(since: Duration)
        case ready(since: Duration, heartbeat: Duration)
        /// The client has started the close; `because` outweighs the peer's reason.
        case closing(because: CloseCode, readySince: Duration?)
        /// `isOrdered`: the server said "later", perhaps to a whole fleet, so nothing shortens the
        /// wait.
        case waiting(until: Duration, isOrdered: Bool)
        case stopped
    }

    /// The system's permission for the app to run.
    private enum Presence: Hashable {
        case awake
        /// In the background, and running until then.
        case leaving(at: Duration)
        case asleep
    }

    private let settings: Settings
    private var presence = Presence.awake
    private var hasNetwork = true
    private var dialledAt: Duration?
    /// The next wait is skipped: an event makes the next dial likely to succeed.
    private var isHurried = false
    /// The unanswered ping.
    private var probing: (number: Int, until: Duration)?
    private var probes = 0
    private var state = State.idle
    private var failures = 0
    /// Ends for which the server reports a broken frame of this client, since a connection last
    /// worked for a while.
    private var brokenFrames = 0
    private var lastHeard: Duration = .zero
    /// The close code of the server's `error` frame.
    private var announced: CloseCode?

    package init(settings: Settings = Settings()) { self.settings = settings }

    package var isReady: Bool {
        if case .ready = state { true } else { false }
    }

    /// Whether nothing is open and nothing will be opened before the app is in the foreground.
    package var isAtRest: Bool {
        switch (state, presence) {
        case (_, .awake): false
        case (.idle, _), (.stopped, _), (.waiting, .asleep): true
        default: false
        }
    }

    package var isAwake: Bool { presence == .awake }

    package var isAsleep: Bool { presence == .asleep }

    // MARK: Dialling

    package mutating func started(at now: Duration = .zero) -> [Action] {
        guard case .idle = state else { return [] }
        state = .waiting(until: now, isOrdered: false)
        return goOn(at: now)
    }

    /// The driver has ended; the known state of the network, the app and the server's waits is
    /// kept.
    package mutating func stopped() {
        state = .idle
        probing = nil
    }

    package mutating func dialSucceeded(at now: Duration) -> [Action] {
        guard case .dialing = state else { return [] }
        state = .greeting(since: now)
        announced = nil
        lastHeard = now
        guard hindrance == nil else { return close(.normal, readySince: nil) }
        return [.sayHello, .scheduleTimer(at: now + settings.handshake)]
    }

    package mutating func dialFailed(at now: Duration, jitter: Double) -> [Action] {
        guard case .dialing = state else { return [] }
        return rest(atLeast: .zero, at: now, jitter: jitter)
    }

    /// The app has no token, and will not have one before a sign-in.
    package mutating func dialRefused() -> [Action] {
        guard case .dialing = state else { return [] }
        state = .stopped
        return [.stop]
    }

    /// A connection is wanted now, whatever it waits for.
    package mutating func dialRequested(at now: Duration) -> [Action] {
        switch state {
        case .idle: return []
        case .dialing, .closing:
            isHurried = true
            return []
        case .greeting, .ready: return probe(at: now)
        case .waiting, .stopped:
            state = .waiting(until: now, isOrdered: false)
            return goOn(at: now)
        }
    }

    /// Dials if nothing forbids it, or names the obstacle.
    private mutating func goOn(at now: Duration, isNews: Bool = false) -> [Action] {
        guard case .waiting(var until, let isOrdered) = state else { return [] }
        if let hindrance { return [hindrance] }
        // The backoff is void, but not the spacing: a flapping network has no failures to wait for.
        if isNews, !isOrdered { until = earliest(at: now) }
        guard now >= until else {
            state = .waiting(until: until, isOrdered: isOrdered)
            return [.wait(until - now)]
        }
        state = .dialing
        dialledAt = now
        return [.dial]
    }

    private func earliest(at now: Duration) -> Duration {
        max(now, dialledAt.map { $0 + settings.spacing } ?? now)
    }

    private var hindrance: Action? {
        if presence == .asleep { return .awaitForeground }
        return hasNetwork ? nil : .awaitNetwork
    }

    // MARK: The connection

    package mutating func welcomeReceived(_ welcome: ServerFrame.Welcome, at now: Duration)
        -> [Action]
    {
        guard case .greeting = state else { return [] }  // a second welcome says nothing new
        guard welcome.version == ClientFrame.Hello.currentVersion else {
            return close(.unsupportedVersion, readySince: nil)
        }
        // A heartbeat of zero would make every moment a silence.
        let heartbeat = min(max(welcome.heartbeat, .seconds(1)), .seconds(3_600))
        state = .ready(since: now, heartbeat: heartbeat)
        lastHeard = now
        isHurried = false
        return [.begin, .scheduleTimer(at: due(heartbeat))]
    }

    /// The server takes this device for another user.
    package mutating func strangerWelcomed() -> [Action] {
        switch state {
        case .greeting: close(.unauthorized, readySince: nil)
        case .ready(let since, _): close(.unauthorized, readySince: since)
        case .idle, .dialing, .closing, .waiting, .stopped: []
        }
    }

    /// Any frame has arrived.
    package mutating func framesReceived(at now: Duration) { lastHeard = now }

    /// The server's reason for the coming close.
    package mutating func errorReceived(_ code: CloseCode) { announced = code }

    /// A subscription makes no progress on this connection.
    package mutating func reconnectRequested() -> [Action] {
        guard case .ready(let since, _) = state else { return [] }
        return close(.idle, readySince: since)
    }

    package mutating func timerFired(at now: Duration) -> [Action] {
        switch state {
        case .idle, .dialing, .closing, .stopped: return []
        case .greeting(let since):
            let due = min(since + settings.handshake, probing?.until ?? since + settings.handshake)
            guard now >= due else { return [.scheduleTimer(at: due)] }
            if probing != nil { isHurried = true }
            return close(.handshakeTimedOut, readySince: nil)
        case .ready(let since, let heartbeat):
            guard now >= due(heartbeat) else { return [.scheduleTimer(at: due(heartbeat))] }
            if probing != nil { isHurried = true }
            return close(.idle, readySince: since)
        case .waiting(let until, _):
            if let hindrance { return [hindrance] }
            guard now >= until else { return [.wait(until - now)] }
            return goOn(at: now)
        }
    }

    private mutating func close(_ code: CloseCode, readySince: Duration?) -> [Action] {
        probing = nil
        state = .closing(because: code, readySince: readySince)
        return [.close(code)]
    }

    // MARK: The network and the app

    /// The network has gone or come; a second report of a network means another one.
    package mutating func networkChanged(isUsable: Bool, at now: Duration) -> [Action] {
        hasNetwork = isUsable
        switch state {
        case .idle, .stopped: return []
        case .dialing:
            isHurried = isUsable
            return [.abandonDial]
        case .closing:
            isHurried = isUsable
            return []
        case .greeting, .ready:
            // An open connection may survive a short gap; once a network is back, it has to prove
            // that.
            return isUsable ? probe(at: now) : [.awaitNetwork]
        case .waiting: return goOn(at: now, isNews: true)
        }
    }

    /// The app is in the background; the system lets it run until then.
    ///
    /// Time that comes after a sleep, as for transfers that have ended, is used too.
    package mutating func backgrounded(until end: Duration, at now: Duration) -> [Action] {
        let wasAsleep = isAsleep
        guard !wasAsleep || now < end else { return [] }
        presence = .leaving(at: end)
        guard now < end else { return sleepDue(at: now) }
        return [.scheduleSleep(at: end)] + (wasAsleep ? wake(at: now) : [])
    }

    /// The background time is nearly over.
    package mutating func sleepDue(at now: Duration) -> [Action] {
        guard case .leaving(let end) = presence else { return [] }
        guard now >= end else { return [.scheduleSleep(at: end)] }
        presence = .asleep
        switch state {
        case .idle, .stopped, .closing: return []
        case .dialing: return [.abandonDial]
        case .greeting: return close(.normal, readySince: nil)
        case .ready(let since, _): return close(.normal, readySince: since)
        case .waiting: return [.awaitForeground]
        }
    }

    package mutating func foregrounded(at now: Duration) -> [Action] {
        guard presence != .awake else { return [] }
        presence = .awake
        return [.scheduleSleep(at: nil)] + wake(at: now)
    }

    private mutating func wake(at now: Duration) -> [Action] {
        switch state {
        case .idle, .stopped: return []
        case .dialing, .closing:
            isHurried = true
            return []
        case .greeting, .ready: return probe(at: now)
        case .waiting: return goOn(at: now, isNews: true)
        }
    }

    /// A connection from before a sleep may be dead without any notice.
    private mutating func probe(at now: Duration) -> [Action] {
        guard probing == nil else { return [] }
        probes += 1
        probing = (probes, now + settings.probe)
        return [.probe(probes), .scheduleTimer(at: now + settings.probe)]
    }

    package mutating func probeAnswered(_ number: Int, at now: Duration) -> [Action] {
        guard probing?.number == number else { return [] }
        probing = nil
        lastHeard = now
        return isReady && hasNetwork ? [.confirm] : []
    }

    package mutating func probeFailed(_ number: Int) -> [Action] {
        guard probing?.number == number else { return [] }
        isHurried = true
        switch state {
        case .greeting: return close(.idle, readySince: nil)
        case .ready(let since, _): return close(.idle, readySince: since)
        case .idle, .dialing, .closing, .waiting, .stopped: return []
        }
    }

    // MARK: The end

    /// The close code of an ending connection: the client's own reason outweighs the peer's.
    package func disposition(closeCode: CloseCode?) -> CloseCode? {
        if case .closing(let because, _) = state { return because }
        return closeCode ?? announced
    }

    /// The connection has ended; with this code, if the peer sent one.
    ///
    /// `isForgiven`: it ended because of the token, and another one is possible.
    package mutating func ended(
        closeCode: CloseCode?, isForgiven: Bool = false, at now: Duration, jitter: Double
    ) -> [Action] {
        let code = closeCode ?? announced
        var advice = (disposition(closeCode: closeCode) ?? .idle).advice
        var readySince: Duration?
        probing = nil
        switch state {
        case .idle, .dialing, .waiting, .stopped: return []
        case .greeting: break
        case .ready(let since, _): readySince = since
        case .closing(_, let since): readySince = since
        }
        // Two clients with one device id end each other in turn: then each wait is longer than the
        // previous one.
        if let readySince, now - readySince >= settings.settled, code != .replaced {
            failures = 0
            brokenFrames = 0
        }
        if advice == .stop, code?.blamesFrame ?? false {
            // The network may have broken it: only a faulty client breaks it every time.
            brokenFrames += 1
            if brokenFrames < settings.brokenFrames { advice = .reconnectLater }
        }
        if advice == .stop, isForgiven { advice = .reconnect }
        switch advice {
        case .reconnect: return rest(atLeast: .zero, at: now, jitter: jitter)
        case .reconnectLater: return rest(atLeast: settings.later, at: now, jitter: jitter)
        case .stop:
            state = .stopped
            return [.stop]
        }
    }

    private mutating func rest(atLeast least: Duration, at now: Duration, jitter: Double)
        -> [Action]
    {
        if hindrance == nil { failures += 1 }
        let isOrdered = least > .zero
        var wait = least + settings.reconnect.delay(failures: max(failures, 1), jitter: jitter)
        if isHurried, !isOrdered { wait = min(wait, earliest(at: now) - now) }
        isHurried = false
        state = .waiting(until: now + wait, isOrdered: isOrdered)
        return [hindrance ?? .wait(wait)]
    }

    /// When a ready connection is given up unless a frame arrives.
    private func due(_ heartbeat: Duration) -> Duration {
        let silence = lastHeard + heartbeat + heartbeat + settings.grace
        return min(silence, probing?.until ?? silence)
    }
}
