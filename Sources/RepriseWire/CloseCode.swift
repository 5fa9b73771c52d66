/// Why the server closes a connection; the range decides the client's next step.
///
/// 4000–4099: reconnect, with backoff. 4100–4199: reconnect, but later. 4200–4299: stop, because
/// another connection would end the same way.
public struct CloseCode: Hashable, Sendable, CustomStringConvertible {
    /// A client's reaction to a close.
    public enum Advice: Hashable, Sendable {
        /// Connect again with the usual backoff.
        case reconnect
        /// Connect again, not before 5 s have passed.
        case reconnectLater
        /// Do not connect again: tell the app.
        case stop
    }

    /// The number in the close frame (RFC 6455 §7.4).
    public let number: UInt16

    /// Takes a number.
    public init(_ number: UInt16) { self.number = number }

    /// The client's next step.
    ///
    /// The range decides about an unknown code; one outside the ranges means reconnect.
    public var advice: Advice {
        switch number {
        case 4100...4199, 1001, 1011, 1012, 1013: .reconnectLater
        case 4200...4299, 1002, 1003, 1007, 1009: .stop
        default: .reconnect
        }
    }

    /// Whether it reports a broken frame, which the network can cause as well as the sender.
    ///
    /// Its advice is to stop; a client may reconnect a few times before it follows that.
    public var blamesFrame: Bool {
        switch self {
        case .protocolError, .notText, .invalidText, .frameTooLarge, .malformedFrame: true
        default: false
        }
    }

    /// The number.
    public var description: String { "\(number)" }
}

extension CloseCode {
    /// The client has ended the connection.
    public static let normal = CloseCode(1000)
    /// The peer violated RFC 6455.
    public static let protocolError = CloseCode(1002)
    /// A binary frame arrived; Reprise uses text.
    public static let notText = CloseCode(1003)
    /// The text of a frame is not UTF-8.
    public static let invalidText = CloseCode(1007)
    /// A frame was larger than ``WireLimits/frameBytes``.
    public static let frameTooLarge = CloseCode(1009)
    /// Nothing was read or sent for too long.
    public static let idle = CloseCode(4000)
    /// Frames waited unread for 60 s.
    public static let notReading = CloseCode(4001)
    /// No `hello` within ``WireLimits/handshake``.
    public static let handshakeTimedOut = CloseCode(4002)
    /// The token has expired: connect again with a fresh one.
    public static let tokenExpired = CloseCode(4003)
    /// The server is shutting down.
    public static let goingAway = CloseCode(4100)
    /// The server is at its limit of connections.
    public static let overloaded = CloseCode(4101)
    /// The user is at the limit of connections.
    public static let tooManyConnections = CloseCode(4102)
    /// The server cannot identify the user now.
    public static let unavailable = CloseCode(4103)
    /// The device has said hello on a newer connection.
    ///
    /// A client that gets this on its current connection shares its device's id with another, or
    /// was late itself.
    public static let replaced = CloseCode(4104)
    /// A frame violates the protocol.
    public static let malformedFrame = CloseCode(4200)
    /// A frame came before `hello`, or a second `hello`.
    public static let outOfOrder = CloseCode(4201)
    /// The server does not speak this version of the protocol.
    public static let unsupportedVersion = CloseCode(4202)
    /// The user is not allowed to connect.
    public static let unauthorized = CloseCode(4203)
}
