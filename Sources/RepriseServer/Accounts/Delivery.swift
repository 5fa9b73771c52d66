package import RepriseWire

/// The delivery state of a message for a member.
package struct Delivery: Hashable, Sendable {
    package enum State: String, Hashable, Sendable, CaseIterable {
        /// Stored in the log only, as far as the server knows.
        case stored
        /// A provider has accepted a push of it, or of a later one of the channel, for one of the
        /// member's devices.
        case pushed
        /// Received by one of the member's devices.
        case delivered
        case read
    }

    package var user: UserID
    package var state: State
}
