package import RepriseCore
package import RepriseWire

/// Decides when to dial, when to give a connection up, and when never to come back.
///
/// `idle → dialing → greeting → ready → closing → waiting → dialing…`; `stopped` is terminal.
package struct ConnectionMachine: Sendable {
    package struct Settings: Hashable, Sendable {
        package var reconnect: Backoff
        /// How long the server may take to welcome.
        package var handshake: Duration
        /// The least wait after a close code that says "later".
        package var later: Duration
        /// How much longer than two heartbeats nothing may come.
        package var grace: Duration
        /// How long a connection must have been ready to count as a success: else a server that welcomes and then fails is
        /// dialled without backoff.
        package var settled: Duration
        /// So many ends for a broken frame, none of them after a connection that worked for a while, are not the network's doing.
        package var brokenFrames = 3

        package init(
            reconnect: Backoff = Backoff(base: .milliseconds(500), longest: .seconds(60)),
            handshake: Duration = WireLimits.handshake, later: Duration = .seconds(5),
            grace: Duration = .seconds(5), settled: Duration = .seconds(10)
        ) {
            self.reconnect = reconnect
            self.handshake = handshake
            self.later = later
            self.grace = grace
            self.settled = settled
        }
    }

    package enum Action: Hashable, Sendable {
        case dial
        case sayHello
        /// The server has welcomed us: subscribe, and send what waits.
        case begin
        case close(CloseCode)
        case scheduleTimer(at: Duration)
        case wait(Duration)
        /// Coming back would end the same way.
        case stop
    }

    private enum State: Hashable {
        case idle
        case dialing
        case greeting(since: Duration)
        case ready(since: Duration, heartbeat: Duration)
        /// We have asked for the end; `because` outweighs what the peer says now.
        case closing(because: CloseCode, readySince: Duration?)
        case waiting(until: Duration)
        case stopped
    }

    private let settings: Settings
    private var state = State.idle
    private var failures = 0
    /// Ends for which the server says that a frame of ours was broken, since a connection last worked for a while.
    private var brokenFrames = 0
    private var lastHeard: Duration = .zero
    /// What the server's `error` frame announced.
    private var announced: CloseCode?

    package init(settings: Settings = Settings()) { self.settings = settings }

    package var isReady: Bool {
        if case .ready = state { true } else { false }
    }

    package mutating func started() -> [Action] {
        guard case .idle = state else { return [] }
        state = .dialing
        return [.dial]
    }

    package mutating func dialSucceeded(at now: Duration) -> [Action] {
        guard case .dialing = state else { return [] }
        state = .greeting(since: now)
        announced = nil
        lastHeard = now
        return [.sayHello, .scheduleTimer(at: now + settings.handshake)]
    }

    package mutating func dialFailed(at now: Duration, jitter: Double) -> [Action] {
        guard case .dialing = state else { return [] }
        return rest(atLeast: .zero, at: now, jitter: jitter)
    }

    package mutating func welcomeReceived(_ welcome: ServerFrame.Welcome, at now: Duration)
        -> [Action]
    {
        guard case .greeting = state else { return [] }  // a second welcome says nothing new
        guard welcome.version == ClientFrame.Hello.currentVersion else {
            state = .closing(because: .unsupportedVersion, readySince: nil)
            return [.close(.unsupportedVersion)]
        }
        // A heartbeat of nought would make every moment a silence.
        let heartbeat = min(max(welcome.heartbeat, .seconds(1)), .seconds(3_600))
        state = .ready(since: now, heartbeat: heartbeat)
        lastHeard = now
        return [.begin, .scheduleTimer(at: silence(heartbeat))]
    }

    /// Anything has come, whatever it was.
    package mutating func framesReceived(at now: Duration) { lastHeard = now }

    /// The server says why it will close.
    package mutating func errorReceived(_ code: CloseCode) { announced = code }

    /// A subscription makes no progress on this connection.
    package mutating func reconnectRequested() -> [Action] {
        guard case .ready(let since, _) = state else { return [] }
        state = .closing(because: .idle, readySince: since)
        return [.close(.idle)]
    }

    package mutating func timerFired(at now: Duration) -> [Action] {
        switch state {
        case .idle, .dialing, .closing, .stopped: return []
        case .greeting(let since):
            let due = since + settings.handshake
            guard now >= due else { return [.scheduleTimer(at: due)] }
            state = .closing(because: .handshakeTimedOut, readySince: nil)
            return [.close(.handshakeTimedOut)]
        case .ready(let since, let heartbeat):
            guard now >= silence(heartbeat) else {
                return [.scheduleTimer(at: silence(heartbeat))]
            }
            state = .closing(because: .idle, readySince: since)
            return [.close(.idle)]
        case .waiting(let until):
            guard now >= until else { return [.wait(until - now)] }
            state = .dialing
            return [.dial]
        }
    }

    /// The connection has ended, for whatever reason; `closeCode` is what the peer sent, if it sent one.
    package mutating func ended(closeCode: CloseCode?, at now: Duration, jitter: Double)
        -> [Action]
    {
        let code = closeCode ?? announced
        var advice = code?.advice ?? .reconnect
        var readySince: Duration?
        switch state {
        case .idle, .dialing, .waiting, .stopped: return []
        case .greeting: break
        case .ready(let since, _): readySince = since
        case .closing(let because, let since):
            readySince = since
            advice = because.advice
        }
        if let readySince, now - readySince >= settings.settled {
            failures = 0
            brokenFrames = 0
        }
        if advice == .stop, code?.blamesFrame ?? false {
            // It may have been broken on the way: only a client that is wrong breaks it every time.
            brokenFrames += 1
            if brokenFrames < settings.brokenFrames { advice = .reconnectLater }
        }
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
        failures += 1
        let wait = least + settings.reconnect.delay(failures: failures, jitter: jitter)
        state = .waiting(until: now + wait)
        return [.wait(wait)]
    }

    private func silence(_ heartbeat: Duration) -> Duration {
        lastHeard + heartbeat + heartbeat + settings.grace
    }
}
