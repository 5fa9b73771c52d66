package import RepriseCore

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
    /// The codes of this version.
    package enum Known: UInt16, CaseIterable, Sendable {
        case normal = 1000
        case protocolError = 1002
        case notText = 1003
        case invalidText = 1007
        case frameTooLarge = 1009
        case idle = 4000
        case notReading = 4001
        case handshakeTimedOut = 4002
        case tokenExpired = 4003
        case goingAway = 4100
        case overloaded = 4101
        case tooManyConnections = 4102
        case unavailable = 4103
        case replaced = 4104
        case malformedFrame = 4200
        case outOfOrder = 4201
        case unsupportedVersion = 4202
        case unauthorized = 4203

        package var reference: CodeReference {
            let (meaning, remedy) = text
            let advice =
                switch CloseCode(self).advice {
                case .reconnect: "reconnect"
                case .reconnectLater: "reconnect later"
                case .stop: "stop"
                }
            return CodeReference(
                "\(rawValue)", meaning, remedy.isEmpty ? advice : "\(advice): \(remedy)")
        }

        private var text: (meaning: LimitText, remedy: String) {
            switch self {
            case .normal: ("the client has ended the connection", "")
            case .protocolError: ("a violation of RFC 6455", "")
            case .notText: ("a binary message", "")
            case .invalidText: ("text that is not UTF-8", "")
            case .frameTooLarge:
                (
                    """
                    a frame larger than \(WireLimits.frameBytes) bytes, or than \
                    \(WireLimits.bytesBeforeWelcome) before `welcome`
                    """,
                    ""
                )
            case .idle: ("nothing came for 90 s, not even the pong to a ping after 45 s", "")
            case .notReading: ("frames waited unread for 60 s", "")
            case .handshakeTimedOut:
                ("no `hello` within \(WireLimits.handshake)", "")
            case .tokenExpired: ("the token has expired", "with a fresh token")
            case .goingAway: ("the server is going away", "")
            case .overloaded:
                (
                    "the server is at its limit of connections, or of those that wait for a cluster",
                    ""
                )
            case .tooManyConnections:
                ("the user is at the limit of connections", "end another connection first")
            case .unavailable:
                ("the server cannot verify the token, or its cluster order the `hello`, now", "")
            case .replaced:
                (
                    "the device has said `hello` on a newer connection",
                    """
                    on a connection no longer used: nothing. Otherwise without resetting the \
                    backoff: a copy of this device may be in use
                    """
                )
            case .malformedFrame: ("a frame that this page forbids", "")
            case .outOfOrder: ("a frame before `hello`, or a second `hello`", "")
            case .unsupportedVersion: ("an unknown protocol version", "")
            case .unauthorized:
                (
                    "the token is missing, refused, or of another user than the connection's",
                    "sign in again"
                )
            }
        }
    }

    init(_ known: Known) { self.init(known.rawValue) }

    /// The client has ended the connection.
    public static let normal = CloseCode(Known.normal)
    /// The peer violated RFC 6455.
    public static let protocolError = CloseCode(Known.protocolError)
    /// A binary frame arrived; Reprise uses text.
    public static let notText = CloseCode(Known.notText)
    /// The text of a frame is not UTF-8.
    public static let invalidText = CloseCode(Known.invalidText)
    /// A frame was larger than ``WireLimits/frameBytes``.
    public static let frameTooLarge = CloseCode(Known.frameTooLarge)
    /// Nothing was read or sent for too long.
    public static let idle = CloseCode(Known.idle)
    /// Frames waited unread for 60 s.
    public static let notReading = CloseCode(Known.notReading)
    /// No `hello` within ``WireLimits/handshake``.
    public static let handshakeTimedOut = CloseCode(Known.handshakeTimedOut)
    /// The token has expired: connect again with a fresh one.
    public static let tokenExpired = CloseCode(Known.tokenExpired)
    /// The server is shutting down.
    public static let goingAway = CloseCode(Known.goingAway)
    /// The server is at its limit of connections.
    public static let overloaded = CloseCode(Known.overloaded)
    /// The user is at the limit of connections.
    public static let tooManyConnections = CloseCode(Known.tooManyConnections)
    /// The server cannot identify the user now.
    public static let unavailable = CloseCode(Known.unavailable)
    /// The device has said hello on a newer connection.
    ///
    /// A client that gets this on its current connection shares its device's id with another, or
    /// was late itself.
    public static let replaced = CloseCode(Known.replaced)
    /// A frame violates the protocol.
    public static let malformedFrame = CloseCode(Known.malformedFrame)
    /// A frame came before `hello`, or a second `hello`.
    public static let outOfOrder = CloseCode(Known.outOfOrder)
    /// The server does not speak this version of the protocol.
    public static let unsupportedVersion = CloseCode(Known.unsupportedVersion)
    /// The user is not allowed to connect.
    public static let unauthorized = CloseCode(Known.unauthorized)
}
