package import RepriseCore
package import RepriseWire

/// The connections of each device, so that a newer one takes over from older ones.
///
/// Otherwise requests on an older connection would be stored after those of the newer one, or after
/// the device was told that they are refused.
package struct DeviceRoster<Connection: Equatable & Sendable>: Sendable {
    /// A device of a user; without a user under open access.
    package struct Key: Hashable, Sendable {
        package var user: UserID?
        package var device: EntryID

        package init(user: UserID?, device: EntryID) {
            self.user = user
            self.device = device
        }
    }

    private var connections: [Key: [Connection]] = [:]

    package init() {}

    /// The device has said hello on a connection.
    ///
    /// - Returns: its older ones, which must all stop accepting requests before this one is
    ///   welcomed.
    package mutating func arrived(_ connection: Connection, as key: Key) -> [Connection] {
        let older = connections[key] ?? []
        connections[key] = older + [connection]
        return older
    }

    /// A connection in the roster has ended.
    package mutating func left(_ connection: Connection, as key: Key) {
        connections[key]?.removeAll { $0 == connection }
        if connections[key]?.isEmpty ?? false { connections[key] = nil }
    }
}
