package import RepriseCore
package import RepriseWire

/// A device of a user that connects; without a user under open access.
package struct ConnectingDevice: Hashable, Sendable {
    package var user: UserID?
    package var device: EntryID

    package init(user: UserID?, device: EntryID) {
        self.user = user
        self.device = device
    }
}

/// Orders the connections of a device: by when its hello was taken, and in a cluster by its hello's
/// place in the journal.
package struct Generation: Hashable, Comparable, Sendable {
    /// The entry's; 0 if this server is alone.
    package var sequence: Int64
    /// The place among the entry's commands; or among the hellos of this server.
    package var place: Int64

    package init(sequence: Int64, place: Int64) {
        (self.sequence, self.place) = (sequence, place)
    }

    package static func < (left: Self, right: Self) -> Bool {
        (left.sequence, left.place) < (right.sequence, right.place)
    }
}

/// What a publish of a device carries in a cluster: it is refused once the device has said hello
/// again.
package struct FencingToken: Hashable, Sendable {
    package var device: EntryID
    package var generation: Generation

    package init(device: EntryID, generation: Generation) {
        (self.device, self.generation) = (device, generation)
    }
}

/// The connections of each device, so that a newer one takes over from older ones.
///
/// Otherwise requests on an older connection would be stored after those of the newer one, or after
/// the device was told that they are refused. In a cluster a connection is entered before its hello
/// is in the journal: what is heard of meanwhile counts at its arrival.
package struct DeviceRoster<Connection: Equatable & Sendable>: Sendable {
    /// What a connection is told at its arrival.
    package enum Arrival: Equatable, Sendable {
        /// The older ones must all stop accepting requests before this one is welcomed.
        case newest(older: [Connection])
        /// The device has said hello again meanwhile.
        case replaced
    }

    private struct Entry: Sendable {
        let connection: Connection
        /// Nil before its arrival.
        var generation: Generation?
    }

    private struct Device: Sendable {
        var entries: [Entry] = []
        /// The newest hello that was heard of.
        var newest = Generation(sequence: 0, place: 0)

        func older(than generation: Generation) -> [Connection] {
            entries.compactMap { entry in
                guard let own = entry.generation, own < generation else { return nil }
                return entry.connection
            }
        }
    }

    private var devices: [ConnectingDevice: Device] = [:]
    private var lastPlace: Int64 = 0

    package init() {}

    /// A hello has come on a connection; ``arrived(_:as:_:)`` follows, or ``left(_:as:)``.
    package mutating func entered(_ connection: Connection, as device: ConnectingDevice) {
        devices[device, default: Device()].entries.append(Entry(connection: connection))
    }

    /// The hello of a connection in the roster counts.
    ///
    /// - Parameters:
    ///   - connection: the connection.
    ///   - device: its device.
    ///   - generation: its hello's place in the journal; nil if this server is alone.
    /// - Returns: whether it is the newest.
    package mutating func arrived(
        _ connection: Connection, as device: ConnectingDevice, _ generation: Generation?
    ) -> Arrival {
        lastPlace += 1
        let own = generation ?? Generation(sequence: 0, place: lastPlace)
        guard var known = devices[device],
            let index = known.entries.firstIndex(where: { $0.connection == connection })
        else { return .replaced }
        defer { devices[device] = known }
        known.entries[index].generation = own
        guard own >= known.newest else { return .replaced }
        known.newest = own
        return .newest(older: known.older(than: own))
    }

    /// The device has said hello elsewhere, or nobody remembers its hellos up to this.
    ///
    /// - Returns: its older ones.
    package mutating func superseded(
        _ device: ConnectingDevice, by generation: Generation
    ) -> [Connection] {
        guard var known = devices[device], generation > known.newest else { return [] }
        known.newest = generation
        devices[device] = known
        return known.older(than: generation)
    }

    /// Whether a device has a connection.
    package func contains(_ device: ConnectingDevice) -> Bool { devices[device] != nil }

    /// A connection in the roster has ended.
    package mutating func left(_ connection: Connection, as device: ConnectingDevice) {
        devices[device]?.entries.removeAll { $0.connection == connection }
        if devices[device]?.entries.isEmpty ?? false { devices[device] = nil }
    }
}
