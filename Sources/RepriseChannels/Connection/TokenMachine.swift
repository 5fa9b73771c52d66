package import RepriseCore
package import RepriseWire

/// Decides when the app is asked for a token, and how its answers are used.
///
/// The server tells how long a token lasts, in the server's time; so the device's calendar does not
/// matter. One request runs at a time, and a late answer is ignored.
package struct TokenMachine: Sendable {
    package struct Settings: Hashable, Sendable {
        /// The signed-in user; nil: nobody, and the server gets no token.
        package var user: UserID?
        /// The timeout for the app.
        package var timeout: Duration
        /// The waits after a failure, while a connection is open.
        package var backoff: Backoff

        package init(
            user: UserID? = nil, timeout: Duration = .seconds(30),
            backoff: Backoff = Backoff(base: .seconds(2), longest: .seconds(60))
        ) {
            self.user = user
            self.timeout = timeout
            self.backoff = backoff
        }
    }

    package enum Action: Hashable, Sendable {
        /// Answered by `received` or `failed` with this number.
        case ask(Int, TokenRequest.Reason)
        /// The answer is no longer needed.
        case abandon
        /// A token is available, or none is needed: the dial continues.
        case proceed
        /// No token: the dial has failed.
        case giveUp(RepriseError)
        /// Show it to the server, on the open connection.
        case authenticate(AccessToken)
        case scheduleTimer(at: Duration)
        /// The token ends, and no other is available; nil: one is.
        case warn(RepriseError?)
    }

    private struct Asking {
        var number: Int
        var until: Duration
        /// A dial waits for it.
        var isForDial: Bool
    }

    private let settings: Settings
    /// The token of the next hello.
    private(set) var token: AccessToken?
    /// When it ends, if the server has told.
    private var expires: Duration?
    /// Sent on the open connection, and not answered.
    private var offered: AccessToken?
    private var asking: Asking?
    private var asked = 0
    private var reason = TokenRequest.Reason.first
    private var isConnected = false
    /// When to ask the app next, while a connection is open.
    private var refresh: Duration?
    private var failures = 0
    /// The server's time, and when it was received.
    private var clock: (wall: WallTime, at: Duration) = (WallTime(milliseconds: 0), .zero)
    /// The consecutive refused tokens at which somebody has to sign in.
    static let refusalLimit = 2
    /// Tokens that were refused since the last welcome.
    private var refusals = 0

    package init(settings: Settings = Settings()) { self.settings = settings }

    package var isUsed: Bool { settings.user != nil }

    // MARK: For a dial

    package mutating func wanted(at now: Duration) -> [Action] {
        guard isUsed else { return [.proceed] }
        if token != nil, expires.map({ now < $0 }) ?? true { return [.proceed] }
        token = nil
        guard asking == nil else {
            asking?.isForDial = true
            return []
        }
        return ask(isForDial: true, at: now)
    }

    /// The dial is given up.
    package mutating func abandoned() -> [Action] {
        guard asking != nil else { return [] }
        asking = nil
        return [.abandon]
    }

    private mutating func ask(isForDial: Bool, at now: Duration) -> [Action] {
        asked += 1
        refresh = nil
        asking = Asking(number: asked, until: now + settings.timeout, isForDial: isForDial)
        return [.ask(asked, reason), .scheduleTimer(at: now + settings.timeout)]
    }

    // MARK: The app's answers

    package mutating func received(
        _ fresh: AccessToken, for number: Int, at now: Duration, jitter: Double
    ) -> [Action] {
        guard let answered = asking, answered.number == number else { return [] }
        asking = nil
        if isConnected {
            guard fresh != token else { return postpone(Self.unchanged, at: now, jitter: jitter) }
            offered = fresh
            refresh = now + settings.timeout  // if the server does not answer
            return [.authenticate(fresh), .scheduleTimer(at: now + settings.timeout)]
        }
        token = fresh
        expires = nil
        return answered.isForDial ? [.proceed] : []
    }

    package mutating func failed(
        _ error: RepriseError, for number: Int, at now: Duration, jitter: Double
    ) -> [Action] {
        guard let answered = asking, answered.number == number else { return [] }
        asking = nil
        if answered.isForDial { return [.giveUp(error)] }
        return isConnected ? postpone(error, at: now, jitter: jitter) : []
    }

    private mutating func postpone(_ error: RepriseError, at now: Duration, jitter: Double)
        -> [Action]
    {
        failures += 1
        let moment =
            now + max(settings.backoff.delay(failures: failures, jitter: jitter), .seconds(1))
        refresh = moment
        return [.warn(error), .scheduleTimer(at: moment)]
    }

    package mutating func timerFired(at now: Duration, jitter: Double) -> [Action] {
        if let asking {
            guard now >= asking.until else { return [.scheduleTimer(at: asking.until)] }
            return [.abandon] + failed(Self.late, for: asking.number, at: now, jitter: jitter)
        }
        guard isConnected, let refresh else { return [] }
        guard now >= refresh else { return [.scheduleTimer(at: refresh)] }
        reason = .expires
        return ask(isForDial: false, at: now)
    }

    // MARK: The server's answers

    package mutating func welcomed(_ welcome: ServerFrame.Welcome, at now: Duration, jitter: Double)
        -> [Action]
    {
        clock = (welcome.time, now)
        refusals = 0
        failures = 0
        guard isUsed, let session = welcome.session else { return [] }
        isConnected = true
        return schedule(until: session.expires, at: now, jitter: jitter)
    }

    package mutating func authenticated(
        _ session: ServerFrame.Session, at now: Duration, jitter: Double
    ) -> [Action] {
        guard isConnected, let accepted = offered else { return [] }
        let former = expires
        offered = nil
        token = accepted
        let steps = schedule(until: session.expires, at: now, jitter: jitter)
        if let former, let expires, expires <= former {
            return postpone(Self.unchanged, at: now, jitter: jitter)
        }
        failures = 0
        return [.warn(nil)] + steps
    }

    /// After four fifths of the remaining time, or a minute before the end if that is sooner, but
    /// not before half of it; up to a tenth sooner, so that a fleet does not ask at once.
    private mutating func schedule(until end: WallTime, at now: Duration, jitter: Double)
        -> [Action]
    {
        let serverTime = clock.wall.advanced(by: now - clock.at)
        let left = min(max(serverTime.duration(to: end), .zero), .seconds(10 * 365 * 86_400))
        expires = now + left
        let wait = max(left * 0.5, min(left * 0.8, left - .seconds(60)))
        let moment = now + max(wait * (1 - 0.1 * min(max(jitter, 0), 1)), .seconds(1))
        refresh = moment
        return [.scheduleTimer(at: moment)]
    }

    /// The user that the server takes this device for, if another one.
    package func mismatch(_ session: ServerFrame.Session?) -> RepriseError? {
        guard let session, let user = settings.user, session.user != user else { return nil }
        return RepriseError(
            .wrongUser, "The token is of \(session.user), and \(user) is signed in.",
            remedy: "Return a token of the user that is asked for.")
    }

    package mutating func disconnected() {
        isConnected = false
        refresh = nil
        guard let fresh = offered else { return }
        offered = nil
        token = fresh
        expires = nil
    }

    /// The server has closed because the token ended.
    package mutating func ended() { drop(because: .expires) }

    /// The server has rejected the token.
    ///
    /// - Returns: whether another one is worth a try.
    package mutating func refused() -> Bool {
        guard isUsed else { return false }
        drop(because: .refused)
        refusals += 1
        return refusals < Self.refusalLimit
    }

    /// The user has signed in again.
    package mutating func renewed() {
        refusals = 0
        failures = 0
    }

    private mutating func drop(because reason: TokenRequest.Reason) {
        token = nil
        expires = nil
        self.reason = reason
    }

    private static let late = RepriseError(.timedOut, "The app returned no token in time.")
    private static let unchanged = RepriseError(
        .refused, "The app returned a token that ends no later than the one before.",
        remedy: "Ask your backend for a fresh one when the reason is `expires`.")
}
