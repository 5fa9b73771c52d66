public import RepriseCore
public import RepriseWire

/// The state of a channel between this device and the server.
///
/// Only ``live`` means that the device has everything, and only the server's answer together with
/// the device's own coverage leads there: never silence, never a timeout.
public enum ChannelState: Hashable, Sendable {
    /// The channel has no reader, or the client is not running.
    case closed
    /// Waits for a connection, or for the server's answer.
    case subscribing
    /// Missing messages are arriving: `received` of `total` sequences that were missing at the
    /// start.
    case catchingUp(received: Int64, total: Int64)
    /// Everything up to the server's head is in the journal; new messages arrive at once.
    case live
    /// A hole was found, of so many sequences as far as is known, and has been requested.
    case repairing(missing: Int64)
    /// Nothing has arrived for a while although messages are missing; they were requested again.
    case stalled(missing: Int64)
    /// So many sequences were lost to the server's retention before the device connected; the
    /// ledger counts them. The rest still arrives.
    case beyondRetention(lost: Int64)
    /// The server refuses the subscription.
    case refused(RefusalCode, message: String)
}

extension ChannelState {
    /// Whether only its figures are others.
    func isSameKind(as other: ChannelState) -> Bool {
        switch (self, other) {
        case (.closed, .closed), (.subscribing, .subscribing), (.catchingUp, .catchingUp),
            (.live, .live), (.repairing, .repairing), (.stalled, .stalled),
            (.beyondRetention, .beyondRetention), (.refused, .refused):
            true
        case (.closed, _), (.subscribing, _), (.catchingUp, _), (.live, _), (.repairing, _),
            (.stalled, _), (.beyondRetention, _), (.refused, _):
            false
        }
    }
}

/// The state of the connection to the server.
public enum ConnectionState: Equatable, Sendable {
    /// The client is not running, or nobody is signed in.
    case idle
    /// Asks the app for a token, dials, or waits for the server's welcome.
    case connecting
    /// The server has welcomed this device.
    case connected
    /// Connected, but the token ends and the app has returned no other; the app is asked again, and
    /// ``connected`` follows.
    ///
    /// Otherwise the server ends the connection when the token ends.
    case expiring(RepriseError)
    /// The server's messages cannot be written to the journal, as with a full disk.
    ///
    /// Nothing is lost: the write is retried, with growing pauses, and ``connected`` follows.
    case stuck(RepriseError)
    /// The connection could not be made, or ended; the next attempt follows after `delay`.
    case waiting(delay: Duration, because: Disconnection)
    /// No network; the client dials as soon as one is available.
    case offline
    /// The app is in the background and its time there is over; the client dials as soon as the app
    /// is in the foreground.
    case suspended
    /// The client has given up, because another connection would end the same way.
    ///
    /// If the error's code is `.unauthorized` or `.wrongUser`, the user has to sign in: then
    /// ``Channels/reconnect()`` continues.
    case stopped(Disconnection)
}

/// The reason for a missing connection.
public struct Disconnection: Equatable, Sendable, CustomStringConvertible {
    /// The server's close code, if it sent one.
    public private(set) var closeCode: CloseCode?
    /// The error, if it was not a close frame.
    public private(set) var error: RepriseError?

    /// For people.
    public var description: String {
        if let error { return error.message }
        if closeCode == .replaced {
            return "The server has a newer connection of this device, or of a copy of its journal."
        }
        if let closeCode { return "The server closed the connection with \(closeCode)." }
        return "The connection ended."
    }
}
