import GRDB
import RepriseCore

/// The holder of each lease, as far as the journal is applied: its order and time alone decide.
struct GrantedLeases: Sendable {
    private(set) var leases: [LeaseRole: Lease] = [:]

    init(_ db: Database) throws {
        let rows = try Row.fetchAll(
            db, sql: "SELECT role, holder, granted, expires FROM leases ORDER BY role")
        for row in rows {
            guard let role = LeaseRole(rawValue: try row.checked(0)) else { continue }
            leases[role] = Lease(
                holder: try row.checked(1), grant: try row.checked(2),
                expires: WallTime(milliseconds: try row.checked(3)))
        }
    }

    /// Whether what a holder asks for still counts.
    func isCurrent(_ grant: Int64, of role: LeaseRole) -> Bool { leases[role]?.grant == grant }

    /// Decides about a request, in the open transaction.
    ///
    /// - Returns: the grant; nil if it is refused.
    mutating func decide(
        _ request: LeaseRequest, of sequence: Int64, at time: WallTime, _ db: Database
    ) throws -> Int64? {
        let lease = leases[request.role]
        let expires = time.advanced(by: ClusterLimits.leaseTime)
        switch request.operation {
        case .claim:
            if let lease, lease.holder != request.holder, lease.expires > time { return nil }
            leases[request.role] = Lease(
                holder: request.holder, grant: sequence, expires: expires)
        case .renew(let grant):
            guard let lease, lease.grant == grant, lease.holder == request.holder else {
                return nil
            }
            leases[request.role]?.expires = max(lease.expires, expires)
        case .release(let grant):
            guard let lease, lease.grant == grant, lease.holder == request.holder else {
                return nil
            }
            leases[request.role] = nil
        }
        try save(request.role, db)
        return leases[request.role]?.grant
    }

    private func save(_ role: LeaseRole, _ db: Database) throws {
        guard let lease = leases[role] else {
            return try db.execute(
                sql: "DELETE FROM leases WHERE role = ?", arguments: [role.rawValue])
        }
        try db.execute(
            sql: """
                INSERT OR REPLACE INTO leases (role, holder, granted, expires) VALUES (?, ?, ?, ?)
                """,
            arguments: [role.rawValue, lease.holder, lease.grant, lease.expires.milliseconds])
    }
}
