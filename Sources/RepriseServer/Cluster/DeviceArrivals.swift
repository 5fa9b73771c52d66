import GRDB
import RepriseCore
import RepriseWire

/// The newest hello of each device, as far as the journal is applied: by it publishes of older
/// connections are refused.
///
/// At most ``ClusterLimits/devices`` are remembered; the one that came least recently is forgotten,
/// and then nothing of it counts before its next hello.
struct DeviceArrivals {
    /// The most that are kept in memory.
    private static let kept = 65_536

    private let limit: Int64
    private var count: Int64
    private var newest: [ConnectingDevice: Generation] = [:]

    init(_ db: Database, limit: Int64) throws {
        self.limit = limit
        count = try Int64.fetchOne(db, sql: "SELECT count(*) FROM hellos") ?? 0
    }

    /// Notes a hello, in the open transaction.
    ///
    /// - Returns: the device that is forgotten for it: its connections end.
    mutating func arrived(_ arrival: Arrival, _ db: Database) throws -> Arrival? {
        let device = arrival.device
        let isNew = try generation(of: device, db) == nil
        try db.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO hellos (user, device, sequence, place)
                VALUES (?, ?, ?, ?)
                """
        ).execute(
            arguments: Self.key(device) + [arrival.generation.sequence, arrival.generation.place])
        keep(arrival.generation, of: device)
        guard isNew else { return nil }
        count += 1
        return count > limit ? try forgetOldest(at: arrival.generation, db) : nil
    }

    /// Whether a publish came by another connection than the device's newest.
    mutating func isSuperseded(
        _ fence: FencingToken?, of user: UserID?, _ db: Database
    ) throws -> Bool {
        guard let fence else { return false }
        let device = ConnectingDevice(user: user, device: fence.device)
        return try generation(of: device, db) != fence.generation
    }

    private mutating func generation(
        of device: ConnectingDevice, _ db: Database
    ) throws -> Generation? {
        if let known = newest[device] { return known }
        let select = try db.cachedStatement(
            sql: "SELECT sequence, place FROM hellos WHERE user = ? AND device = ?")
        guard let row = try Row.fetchOne(select, arguments: Self.key(device)) else { return nil }
        let generation = Generation(sequence: try row.checked(0), place: try row.checked(1))
        keep(generation, of: device)
        return generation
    }

    private mutating func forgetOldest(
        at place: Generation, _ db: Database
    ) throws -> Arrival? {
        let row = try Row.fetchOne(
            db,
            sql: """
                DELETE FROM hellos WHERE (sequence, place) IN
                  (SELECT sequence, place FROM hellos ORDER BY sequence, place LIMIT 1)
                RETURNING user, device
                """)
        guard let row else { return nil }
        count -= 1
        let user: String = try row.checked(0)
        let device = ConnectingDevice(
            user: user.isEmpty ? nil : try UserID(user), device: try EntryID(row.checked(1)))
        newest[device] = nil
        return Arrival(device: device, generation: place)
    }

    private mutating func keep(_ generation: Generation, of device: ConnectingDevice) {
        if newest.count >= Self.kept { newest.removeAll(keepingCapacity: true) }
        newest[device] = generation
    }

    private static func key(_ device: ConnectingDevice) -> StatementArguments {
        [device.user?.text ?? "", device.device.text]
    }
}
