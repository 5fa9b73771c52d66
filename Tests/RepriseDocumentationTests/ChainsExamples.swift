import Foundation
import GRDB
import Reprise
import RepriseApple
import RepriseChains
import RepriseCore

extension Stage {
    func chains(inbox: URL, kept: URL) async throws {
        struct Label: Worker {
            static let identifier = "label"

            func run(_ bytes: Int64, _ work: WorkContext) async throws -> String {
                "\(bytes) bytes"
            }
        }

        let keepPhotos = Chain<[String]>("keep-photos") { names in
            Together {
                for name in names {
                    Work("copy-\(name)", CopyFileWorker.self) { _ in
                        .init(SandboxPath("inbox", name), to: SandboxPath("kept", name))
                    }
                    .retry(attempts: 5)
                    .undo(with: DeleteFileWorker.self) { _ in .init(SandboxPath("kept", name)) }
                }
            }
            Wait(for: Readiness("unlocked"))
            let hash = Work("hash", HashFileWorker.self) { _ in
                .init(SandboxPath("kept", names[0]))
            }
            hash
            Work("label", Label.self) { done in try done[hash].bytes }.deadline(.seconds(60))
        }

        let standard = StandardWorkers(sandbox: Sandbox(["inbox": inbox, "kept": kept]))
        var configuration = Reprise.Configuration()
        configuration.chains = Chains.Configuration()
        configuration.chains?.chains = [keepPhotos]
        configuration.chains?.workers = standard.all + [Label()]
        let reprise = try await Reprise.open(
            at: folder, server: server, dialer: dialer, configuration: configuration)
        guard let chains = reprise.chains else { return }

        // Durable when it returns.
        let id = try await chains.start(keepPhotos, input: ["1.jpg", "2.jpg"])
        let running = Task { try await chains.run() }  // goes on with all there are
        for await progress in chains.progress(of: id) {
            print("\(progress.done) of \(progress.total)")
            if progress.done == 2 { await reprise.open(Readiness("unlocked")) }
        }
        running.cancel()
    }
}

/// A worker that is exactly once in effect: its effect and its key are in one transaction.
struct Ordering: Worker {
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

struct Order: Codable, Sendable {}

struct Receipt: Codable, Sendable {
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
    extension Stage {
        func workers(transfers: any TransferService) {
            var configuration = Reprise.Configuration()
            configuration.chains = Chains.Configuration()
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
