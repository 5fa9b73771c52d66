package import RepriseCore
package import RepriseWire

/// Knows which connections each device has, so that a newer one takes over from those before it.
///
/// What an older connection still carries would otherwise be stored behind what the newer one has
/// brought, or after its device was told that it is refused.
package struct DeviceRoster<Connection: Equatable & Sendable>: Sendable {
    /// A device of a user; of nobody, where the server does not ask.
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
    /// - Returns: its older ones, all of which must have stopped to take anything before this one
    ///   is welcomed.
    package mutating func arrived(_ connection: Connection, as key: Key) -> [Connection] {
        let older = connections[key] ?? []
        connections[key] = older + [connection]
        return older
    }

    /// A connection that had arrived has ended.
    package mutating func left(_ connection: Connection, as key: Key) {
        connections[key]?.removeAll { $0 == connection }
        if connections[key]?.isEmpty ?? false { connections[key] = nil }
    }
}
