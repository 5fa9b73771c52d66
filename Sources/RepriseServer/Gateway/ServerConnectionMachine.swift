package import RepriseCore
package import RepriseWire

/// Decides about one WebSocket connection:
/// `awaitingHello → identifying → takingOver → open → draining → closing`, with `leaving` instead
/// of `draining` once the peer has sent a close frame.
///
/// A close begins once, for the first reason. After it, input is read and dropped: closing a socket
/// with unread bytes would discard the close frame before the peer has read it.
package struct ServerConnectionMachine: Sendable {
    package enum Action: Equatable, Sendable {
        /// Send an `error` frame and a close frame.
        case close(CloseCode, String)
        case ping
        /// Send a heartbeat without heads: clients take a long silence for a dead connection.
        case heartbeat
        /// Close the transport; the peer will not answer any more.
        case cut
    }

    /// The driver's response to a frame.
    package enum Disposition: Equatable, Sendable {
        /// Authenticate the token.
        case identify(AccessToken?)
        /// Order its hello among those of the device, in a cluster by the journal, and end the
        /// older connections; the driver answers with their number by `takeOver(from:now:)`.
        case takeOver(EntryID)
        case welcome
        /// Confirm the fresh token.
        case authenticated
        case accept
        case ignore
        case close(CloseCode, String)
    }

    /// How the driver answers the peer's close frame.
    package enum Farewell: Equatable, Sendable {
        /// Earlier requests are unanswered; ``requestsAnswered(now:)`` ends the wait.
        case wait
        /// Echo it, then end the connection.
        case echo
        /// It answers ours, or is a second one: end the connection.
        case end
    }

    package struct Limits: Equatable, Sendable {
        package var handshake: Duration
        package var heartbeat: Duration
        package var pingAfter: Duration
        package var idle: Duration
        package var notReading: Duration
        package var closeHandshake: Duration
        package var draining: Duration
        package var publishesInFlight: Int

        package init(
            handshake: Duration, heartbeat: Duration, pingAfter: Duration, idle: Duration,
            notReading: Duration, closeHandshake: Duration, draining: Duration,
            publishesInFlight: Int
        ) {
            self.handshake = handshake
            self.heartbeat = heartbeat
            self.pingAfter = pingAfter
            self.idle = idle
            self.notReading = notReading
            self.closeHandshake = closeHandshake
            self.draining = draining
            self.publishesInFlight = publishesInFlight
        }

        /// Those of a server.
        package init(_ limits: ServerLimits) {
            self.init(
                handshake: limits.handshake, heartbeat: limits.heartbeat,
                pingAfter: limits.pingAfter, idle: limits.idle, notReading: limits.notReading,
                closeHandshake: limits.closeHandshake, draining: limits.shutdown / 2,
                publishesInFlight: limits.publishesInFlight)
        }
    }

    private enum Phase: Equatable, Sendable {
        case awaitingHello
        /// Hello was received; its token is being authenticated.
        case identifying
        /// This many older connections of the device may still accept requests.
        case takingOver(Int)
        case open
        /// The server is shutting down; accepted requests are still answered.
        case draining
        /// The peer has sent its close frame; earlier requests are still answered.
        case leaving
        case closing
        case closed
    }

    /// Whether a token is required.
    private let asksWho: Bool
    private var session = SessionMachine()
    private var phase = Phase.awaitingHello
    private var phaseBegan: Duration
    private var heard: Duration
    private var progressed: Duration
    private var sent: Duration
    private var pinged: Duration?
    private var publishesInFlight = 0
    /// The device named in the hello.
    package private(set) var device: EntryID?

    /// - Parameters:
    ///   - now: the uptime.
    ///   - asksWho: whether a token is required; without it access is open.
    package init(now: Duration, asksWho: Bool = false) {
        self.asksWho = asksWho
        phaseBegan = now
        heard = now
        progressed = now
        sent = now
    }

    /// Whether the peer's bytes may be read. (While closing they are read and dropped.)
    package func mayRead(_ limits: Limits) -> Bool {
        switch phase {
        case .awaitingHello, .identifying, .open:
            !session.isAsking && publishesInFlight < limits.publishesInFlight
        case .takingOver, .draining, .leaving: false
        case .closing, .closed: true
        }
    }

    /// Whether frames may still be sent.
    package var maySend: Bool {
        switch phase {
        case .awaitingHello, .identifying, .takingOver, .open, .draining, .leaving: true
        case .closing, .closed: false
        }
    }

    /// The current limit of a frame's bytes, and of all fragments of a message.
    package var frameLimit: Int {
        switch phase {
        case .awaitingHello, .identifying, .takingOver: WireLimits.bytesBeforeWelcome
        case .open, .draining, .leaving, .closing, .closed: WireLimits.frameBytes
        }
    }

    /// The authenticated user of the connection.
    package var principal: Principal { asksWho ? session.principal ?? .nobody : .open }

    /// Whether frames wait for a token's authentication, or for the end of the device's older
    /// connection.
    ///
    /// The socket is not read meanwhile: only frames read with the token wait.
    package var mustWait: Bool {
        if case .takingOver = phase { true } else { session.isAsking && maySend }
    }

    /// Whether hello was accepted and nothing has ended the connection.
    package var isOpen: Bool { phase == .open }

    /// Whether requests are processed: also those received before the peer's close frame.
    package var takesRequests: Bool { phase == .open || phase == .leaving }

    /// Bytes came from the peer.
    package mutating func bytesReceived(now: Duration) {
        heard = now
        pinged = nil
    }

    /// A text frame was sent.
    package mutating func frameSent(now: Duration) { sent = now }

    /// The transport has written pending bytes, or none are pending.
    package mutating func bytesTaken(now: Duration) { progressed = now }

    package mutating func frameReceived(_ frame: ClientFrame, now: Duration) -> Disposition {
        switch (phase, frame) {
        case (.awaitingHello, .hello(let hello)):
            guard hello.version == ClientFrame.Hello.currentVersion else {
                return refuse(
                    .unsupportedVersion,
                    "This server speaks version \(ClientFrame.Hello.currentVersion), not "
                        + "\(hello.version). Use a client that does.", now)
            }
            device = hello.device
            guard asksWho else {
                enter(.takingOver(0), now)
                return .takeOver(hello.device)
            }
            enter(.identifying, now)
            session.askingBegan()
            return .identify(hello.token)
        case (.awaitingHello, _):
            return refuse(.outOfOrder, "A frame came before hello. Send hello first.", now)
        case (.identifying, _), (.takingOver, _):
            preconditionFailure("driver bug: a frame that must wait was handed in")
        case (.open, .hello):
            return refuse(.outOfOrder, "Hello was said before. Send it once.", now)
        case (.open, .authenticate(let token)):
            guard asksWho else { return .ignore }
            session.askingBegan()
            return .identify(token)
        case (.open, _): return .accept
        case (.leaving, .hello), (.leaving, .authenticate): return .ignore
        case (.leaving, _): return .accept
        case (.draining, _), (.closing, _), (.closed, _): return .ignore
        }
    }

    /// The token's authentication has ended.
    ///
    /// - Parameters:
    ///   - answer: the authenticator's answer.
    ///   - ends: the uptime at which the token expires.
    ///   - now: the uptime.
    /// - Returns: the answer to the peer.
    package mutating func identified(
        _ answer: Result<Principal, RepriseError>, ends: Duration?, now: Duration
    ) -> Disposition {
        let outcome = session.answered(answer, ends: ends)
        guard phase == .identifying || takesRequests else { return .ignore }
        switch outcome {
        case .begins:
            guard let device else { preconditionFailure("driver bug: identified without a hello") }
            enter(.takingOver(0), now)
            return .takeOver(device)
        case .goesOn: return .authenticated
        case .refused(.tokenExpired, let message): return refuse(.tokenExpired, message, now)
        case .refused(.unauthorized, let message): return refuse(.unauthorized, message, now)
        case .refused(_, let message): return refuse(.unavailable, message, now)
        }
    }

    /// The device's older connections are being ended.
    ///
    /// Requests wait until the older connections accept no more: the device resends what was
    /// unanswered there.
    ///
    /// - Parameters:
    ///   - count: the number of older connections; `olderEnded(now:)` follows for each.
    ///   - now: the uptime.
    /// - Returns: the answer to the peer.
    package mutating func takeOver(from count: Int, now: Duration) -> Disposition {
        guard case .takingOver = phase else { return .ignore }
        guard count > 0 else {
            enter(.open, now)
            return .welcome
        }
        enter(.takingOver(count), now)
        return .ignore
    }

    /// An older connection of the device accepts no more requests.
    package mutating func olderEnded(now: Duration) -> Disposition {
        guard case .takingOver(let count) = phase else { return .ignore }
        return takeOver(from: count - 1, now: now)
    }

    /// The device has sent hello on a newer connection.
    package mutating func replaced(now: Duration) -> Action? {
        violated(.replaced, "This device has connected again. Use that connection.", now: now)
    }

    /// The peer, or the server itself, has caused the connection's end.
    package mutating func violated(
        _ code: CloseCode, _ message: String, now: Duration
    ) -> Action? {
        guard maySend else { return nil }
        enter(.closing, now)
        return .close(code, message)
    }

    package mutating func publishesAccepted(_ count: Int) { publishesInFlight += count }

    package mutating func publishesAnswered(_ count: Int, now: Duration) -> Action? {
        publishesInFlight -= count
        guard phase == .draining, publishesInFlight == 0 else { return nil }
        return violated(.goingAway, Self.goodbye, now: now)
    }

    /// The server is shutting down: accepted requests are answered, then the peer is told to
    /// reconnect later.
    package mutating func quiesceRequested(now: Duration) -> Action? {
        switch phase {
        case .open where publishesInFlight > 0:
            enter(.draining, now)
            return nil
        case .awaitingHello, .identifying, .takingOver, .open:
            return violated(.goingAway, Self.goodbye, now: now)
        case .draining, .leaving, .closing, .closed: return nil
        }
    }

    /// The peer sent a close frame.
    ///
    /// - Parameters:
    ///   - isAnswered: whether the driver has no pending request.
    ///   - now: the uptime.
    /// - Returns: how to answer it.
    package mutating func closeReceived(isAnswered: Bool, now: Duration) -> Farewell {
        switch phase {
        case .open, .draining:
            guard publishesInFlight == 0, isAnswered else {
                enter(.leaving, now)
                return .wait
            }
            enter(.closing, now)
            return .echo
        case .awaitingHello, .identifying, .takingOver:
            enter(.closing, now)
            return .echo
        case .leaving: return .wait
        case .closing, .closed:
            enter(.closed, now)
            return .end
        }
    }

    /// The driver has no pending request.
    ///
    /// - Returns: whether to echo the peer's close frame now and end the connection.
    package mutating func requestsAnswered(now: Duration) -> Bool {
        guard phase == .leaving, publishesInFlight == 0 else { return false }
        enter(.closing, now)
        return true
    }

    package mutating func connectionEnded(now: Duration) { enter(.closed, now) }

    /// Time has passed.
    ///
    /// While the driver does not read (`isReading` is false), silence is not the peer's fault.
    package mutating func ticked(_ limits: Limits, isReading: Bool, now: Duration) -> Action? {
        switch phase {
        case .awaitingHello:
            guard now - phaseBegan >= limits.handshake else { return nil }
            return violated(
                .handshakeTimedOut, "No hello came in time. Send it at once.", now: now)
        case .identifying: return nil  // the authenticator's own bounds end it
        case .takingOver: return nil  // each loop has a turn soon, and the cluster's answer a bound
        case .open:
            guard !session.hasEnded(now: now) else {
                return violated(.tokenExpired, "The token has ended. Bring another.", now: now)
            }
            guard now - progressed < limits.notReading else {
                return violated(.notReading, "Frames wait, and none is read. Read them.", now: now)
            }
            if !isReading { heard = now }
            if now - sent >= limits.heartbeat {
                sent = now
                return .heartbeat
            }
            return isReading ? afterSilence(limits, now) : nil
        case .draining:
            guard now - phaseBegan >= limits.draining else { return nil }
            return violated(.goingAway, Self.goodbye, now: now)
        case .leaving: return now - phaseBegan >= limits.draining ? .cut : nil
        case .closing:
            return now - phaseBegan >= limits.closeHandshake ? .cut : nil
        case .closed: return nil
        }
    }

    /// How long no timer can expire.
    package func nextTick(_ limits: Limits, now: Duration) -> Duration {
        switch phase {
        case .awaitingHello: phaseBegan + limits.handshake - now
        case .identifying, .takingOver: limits.idle
        case .open:
            min(
                session.ends ?? now + limits.idle, sent + limits.heartbeat,
                progressed + limits.notReading,
                now + min(limits.notReading / 4, limits.pingAfter),
                pinged.map { $0 + limits.idle - limits.pingAfter } ?? heard + limits.pingAfter)
                - now
        case .draining, .leaving: phaseBegan + limits.draining - now
        case .closing: phaseBegan + limits.closeHandshake - now
        case .closed: limits.idle
        }
    }

    // MARK: -

    private static let goodbye = "The server is shutting down. Come back in a moment."

    private mutating func enter(_ next: Phase, _ now: Duration) {
        phase = next
        phaseBegan = now
    }

    private mutating func refuse(
        _ code: CloseCode, _ message: String, _ now: Duration
    ) -> Disposition {
        enter(.closing, now)
        return .close(code, message)
    }

    private mutating func afterSilence(_ limits: Limits, _ now: Duration) -> Action? {
        // Counted from the ping: after a halt of this process every peer seems silent, and gets the
        // time to answer.
        if let pinged {
            guard now - pinged >= limits.idle - limits.pingAfter else { return nil }
            return violated(.idle, "Nothing came for too long. Answer pings.", now: now)
        }
        guard now - heard >= limits.pingAfter else { return nil }
        pinged = now
        return .ping
    }
}
