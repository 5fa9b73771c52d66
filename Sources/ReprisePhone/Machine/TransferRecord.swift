package import RepriseCore

/// A transfer that the system runs for an app, as on the phone's disk.
package struct TransferRecord: Hashable, Sendable, Codable {
    /// The identity of the partial content: the next attempt requests its rest.
    package struct Part: Hashable, Sendable, Codable {
        /// A strong entity tag, or the date of the last change (RFC 9110 §13.1.5).
        package var validator: String
        package var total: Int64?
    }

    /// How an attempt has ended.
    package enum Outcome: Hashable, Sendable, Codable {
        case finished(Transfer.State, bytes: Int64)
        /// The request took too long: Apple's documentation has the system try again.
        case timedOut
        /// The connection was not made or broke, or less came than was announced.
        case lost(String)
        case failed(String)
    }

    /// Names its file; no two transfers of a phone have the same.
    package var number: Int
    package var request: TransferRequest
    package var transfer: Transfer
    /// It was started in the background, so the system chooses when.
    package var isDiscretionary: Bool
    /// When the system gives up, in microseconds of the clock that never jumps.
    package var until: Int64
    package var failures = 0
    /// Not before.
    package var retry: Int64?
    /// The attempt that is under way.
    package var run: Int?
    /// The app has cancelled it: when that is reported.
    package var cancelled: Int64?
    package var part: Part?
    /// The app was notified of its end, or was started after it.
    package var isTold = true

    package var hasEnded: Bool {
        switch transfer.state {
        case .running: false
        case .finished, .failed, .cancelled: true
        }
    }
}

/// Device conditions for deferrable work, apart from the network.
public struct PhoneDevice: Hashable, Sendable, Codable {
    /// Whether it is plugged in.
    public var isPluggedIn = true
    /// Whether the network is metered.
    public var isMetered = false
    /// Whether it is in Low Power Mode.
    public var isLowPower = false
    /// The free bytes of the disk; nil: those of the machine's disk.
    public var freeBytes: Int64?

    /// A device that is plugged in, on a network that is free.
    public init() {}
}
