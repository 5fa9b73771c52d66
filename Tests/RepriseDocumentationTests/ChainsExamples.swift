import Foundation
import GRDB
import Reprise
import RepriseApple
import RepriseChains
import RepriseCore

/// A worker that is exactly once in effect: its effect and its key are in one transaction.
nonisolated struct Ordering: Worker {
    static let identifier = "order"

    let store: DatabaseQueue

    func run(_ order: Order, _ work: WorkContext) async throws -> Receipt {
        try await store.write { db in
            // Done by an earlier attempt?
            if let receipt = try Receipt.find(key: work.key, db) { return receipt }
            // The effect and its key, or neither.
            return try Receipt.insert(order, key: work.key, db)
        }
    }
}

nonisolated struct Order: Codable, Sendable {}

nonisolated struct Receipt: Codable, Sendable {
    static func find(key: String, _ db: Database) throws -> Receipt? {
        try String.fetchOne(db, sql: "SELECT key FROM receipt WHERE key = ?", arguments: [key])
            .map { _ in Receipt() }
    }

    static func insert(_ order: Order, key: String, _ db: Database) throws -> Receipt {
        try db.execute(sql: "INSERT INTO receipt (key) VALUES (?)", arguments: [key])
        return Receipt()
    }
}

#if canImport(Network)
    extension ExamplesFixture {
        func workers(transfers: any TransferService) {
            var configuration = RepriseConfiguration()
            configuration.chains = .init()
            let standard = StandardWorkers(
                sandbox: Sandbox(["documents": .documentsDirectory]),
                transport: URLSessionTransport(),
                guard: AddressGuard(), transfers: transfers,
                credentials: { [backend] origin in
                    ["Authorization": "Bearer \(try await backend.token(for: origin))"]
                })
            configuration.chains?.workers += standard.all
        }
    }
#endif
