import RepriseCore
package import RepriseWire

/// The session with the server, and when a connection is allowed.
extension ChannelsMachine {
    // MARK: Dialling

    /// Memory first, then a token, then the dial.
    mutating func dial(at now: Duration) {
        emit(.announce(.connecting))
        isStranger = false
        guard isStale else { return fetchToken(at: now) }
        dialsAfterReload = true
        if case .reloading = disk { return }
        reload()
    }

    mutating func fetchToken(at now: Duration) {
        awaitsToken = true
        perform(tokens.wanted(at: now), at: now, jitter: 0)
    }

    /// Whatever part of the dial has begun ends as a failure.
    mutating func abandonDial(at now: Duration) {
        guard dialsAfterReload || awaitsToken else { return emit(.abandonDial) }
        dialsAfterReload = false
        if awaitsToken { perform(tokens.abandoned(), at: now, jitter: 0) }
        awaitsToken = false
        perform(connection.dialFailed(at: now, jitter: 0), at: now)
    }

    // MARK: Tokens

    mutating func perform(_ steps: [TokenMachine.Action], at now: Duration, jitter: Double) {
        for step in steps {
            switch step {
            case .ask(let number, let reason): emit(.askToken(number, reason))
            case .abandon: emit(.abandonToken)
            case .proceed:
                awaitsToken = false
                emit(.dial)
            case .giveUp(let error): tokenMissing(error, at: now, jitter: jitter)
            case .authenticate(let token): emit(.send([ClientFrame.authenticate(token).encoded()]))
            case .scheduleTimer(let moment): schedule(.token, at: moment)
            case .warn(let error?): emit(.announce(.expiring(error)))
            case .warn(nil): emit(.announce(.connected))
            }
        }
    }

    private mutating func tokenMissing(_ error: RepriseError, at now: Duration, jitter: Double) {
        awaitsToken = false
        disconnection = Disconnection(error: error)
        guard error.code == .unauthorized else {
            return perform(connection.dialFailed(at: now, jitter: jitter), at: now)
        }
        disposition = .unauthorized
        perform(connection.dialRefused(), at: now)
    }

    package mutating func tokenReceived(
        _ token: AccessToken, for number: Int, at now: Duration, jitter: Double
    ) -> [Action] {
        perform(
            tokens.received(token, for: number, at: now, jitter: jitter), at: now, jitter: jitter)
        return take()
    }

    /// The app has thrown: of a foreign error only the type is kept, because the rest may hold a
    /// secret.
    package mutating func tokenFailed(
        _ error: any Error, for number: Int, at now: Duration, jitter: Double
    ) -> [Action] {
        let error = Self.withoutSecrets(error)
        perform(tokens.failed(error, for: number, at: now, jitter: jitter), at: now, jitter: jitter)
        return take()
    }

    private static func withoutSecrets(_ error: any Error) -> RepriseError {
        if let error = error as? RepriseError { return error }
        return RepriseError(.unavailable, "The app has no token: \(type(of: error)).")
    }

    mutating func authenticated(
        _ session: ServerFrame.Session, at now: Duration, jitter: Double
    ) {
        if let mistake = tokens.mismatch(session) { return refuse(mistake, at: now) }
        perform(tokens.authenticated(session, at: now, jitter: jitter), at: now, jitter: jitter)
    }

    /// The server takes this device for another user: nothing of this connection is valid.
    mutating func refuse(_ mistake: RepriseError, at now: Duration) {
        disconnection = Disconnection(error: mistake)
        isStranger = true
        perform(connection.strangerWelcomed(), at: now)
    }

    /// - Returns: whether the connection ended because of its token, and another one is possible.
    mutating func judgeToken(_ disposition: CloseCode?) -> Bool {
        self.disposition = disposition
        if disposition == .tokenExpired { tokens.ended() }
        return disposition == .unauthorized && tokens.refused()
    }

    /// Another connection would end the same way.
    ///
    /// If the token is the reason, the client waits for a sign-in, and goes on with the journal's
    /// content meanwhile.
    mutating func giveUp() {
        guard tokens.isUsed, disposition == .unauthorized else { return emit(.stop(refusal())) }
        if disconnection.error?.code != .wrongUser {
            disconnection = Disconnection(
                closeCode: disconnection.closeCode,
                error: RepriseError(
                    .unauthorized, "The server does not take the token. \(disconnection)",
                    remedy: disconnection.error?.remedy ?? "Sign in again, then call reconnect()."))
        }
        emit(.announce(.stopped(disconnection)))
    }

    private mutating func refusal() -> RepriseError {
        emit(.announce(.stopped(disconnection)))
        return RepriseError(
            .refused, "The server refuses this client. \(disconnection)",
            remedy: "Update the app, or check its credentials.", cause: disconnection.error)
    }

    // MARK: From outside

    /// A connection is wanted now: a person has signed in again, or does not want to wait.
    package mutating func dialRequested(at now: Duration) -> [Action] {
        tokens.renewed()
        perform(connection.dialRequested(at: now), at: now)
        return take()
    }

    package mutating func networkChanged(isUsable: Bool, at now: Duration) -> [Action] {
        perform(connection.networkChanged(isUsable: isUsable, at: now), at: now)
        return take()
    }

    package mutating func backgrounded(until end: Duration, at now: Duration) -> [Action] {
        perform(connection.backgrounded(until: end, at: now), at: now)
        return take()
    }

    package mutating func foregrounded(at now: Duration) -> [Action] {
        perform(connection.foregrounded(at: now), at: now)
        return take()
    }

    package mutating func probeAnswered(_ number: Int, at now: Duration) -> [Action] {
        perform(connection.probeAnswered(number, at: now), at: now)
        return take()
    }

    package mutating func probeFailed(_ number: Int, at now: Duration) -> [Action] {
        perform(connection.probeFailed(number), at: now)
        return take()
    }

    /// Whether nothing is open, nothing will be opened before the app is in the foreground, and
    /// everything received is on the disk.
    package var isAtRest: Bool { connection.isAtRest && isSettled }

    package var isAwake: Bool { connection.isAwake }

    package var isAsleep: Bool { connection.isAsleep }
}
