public import RepriseCore
public import RepriseWire

/// Where a channel stands between this device and the server.
///
/// Nothing but ``live`` means that the device has everything, and only the server's word together
/// with the device's own coverage leads there: never silence, never a timeout.
public enum ChannelState: Hashable, Sendable {
    /// Nobody reads the channel, or the client is not running.
    case closed
    /// Waits for a connection, or for the server's answer.
    case subscribing
    /// What was missing is coming: `received` of `total` sequences that were missing when it began.
    case catchingUp(received: Int64, total: Int64)
    /// Everything up to the server's head is in the journal; what is published next comes at once.
    case live
    /// A hole was found, of so many sequences as far as is known, and has been asked for.
    case repairing(missing: Int64)
    /// Nothing has come for a while although something is missing; it has been asked for again.
    case stalled(missing: Int64)
    /// So many sequences were lost to the server's retention before the device came; the ledger has
    /// them. What is left goes on coming.
    case beyondRetention(lost: Int64)
    /// The server refuses the subscription.
    case refused(RefusalCode, message: String)
}

/// Where the connection to the server stands.
public enum ConnectionState: Equatable, Sendable {
    /// The client is not running, or nobody is signed in.
    case idle
    /// Asks the app for a token, dials, or waits for the server's welcome.
    case connecting
    /// The server has welcomed this device.
    case connected
    /// Connected, but the token ends and the app has returned no other; it is asked again, and
    /// ``connected`` follows.
    ///
    /// Without one the server ends the connection when the token ends.
    case expiring(RepriseError)
    /// What the server sends cannot be written to the journal: a full disk, say.
    ///
    /// Nothing is lost: it is tried again, with growing pauses, and ``connected`` follows.
    case stuck(RepriseError)
    /// The connection could not be made, or ended; the next attempt comes after `delay`.
    case waiting(delay: Duration, because: Disconnection)
    /// There is no network; it is dialled as soon as there is one.
    case offline
    /// The app is in the background and its time there is over; it is dialled as soon as it is in
    /// the foreground.
    case suspended
    /// The client has given up, because coming back would end the same way.
    ///
    /// If the error's code is `.unauthorized` or `.wrongUser`, somebody has to sign in: then
    /// ``Channels/reconnect()`` goes on.
    case stopped(Disconnection)
}

/// Why there is no connection.
public struct Disconnection: Equatable, Sendable, CustomStringConvertible {
    /// The server's close code, if it sent one.
    public let closeCode: CloseCode?
    /// What went wrong, if it was not a close frame.
    public let error: RepriseError?

    package init(closeCode: CloseCode? = nil, error: RepriseError? = nil) {
        self.closeCode = closeCode
        self.error = error
    }

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
