import Foundation
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import Testing

/// Servers that know users, with accounts of their own, that the shared tests run against: add
/// another and it must keep the same promises.
enum PeoplePlace: String, CaseIterable, CustomTestStringConvertible {
    case single
    /// Two gateways over a journal that loses, doubles, delays and reorders.
    case cluster
    /// Two gateways over a real nats-server.
    case nats

    var testDescription: String { rawValue }

    /// Runs `body` with the two servers of a cluster, or twice with the one that there is.
    func run(_ body: (RunningServer, RunningServer) async throws -> Void) async throws {
        switch self {
        case .single:
            try await RunningServer.with(authenticator: TrustingAuthenticator()) { server in
                try await body(server, server)
            }
        case .cluster:
            let journal = MemoryJournal(
                seed: 3, readers: 2, stamps: SystemTimekeeper(), faults: ClusterStore.faults)
            defer { journal.close() }
            let shared = SharedJournal(journal: journal)
            try await Self.run([shared, shared], body)
        case .nats:
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            let server = try await NatsServer.start(in: folder.url.appending(path: "nats"))
            defer { server.kill() }
            let journals = [
                try await NatsStore.journal(server.url), try await NatsStore.journal(server.url),
            ]
            try await Self.run(journals, body)
        }
    }

    private static func run(
        _ journals: [any ClusterJournal],
        _ body: (RunningServer, RunningServer) async throws -> Void
    ) async throws {
        let authenticator = TrustingAuthenticator()
        try await RunningServer.with(authenticator: authenticator, journal: journals[0]) { first in
            try await RunningServer.with(authenticator: authenticator, journal: journals[1]) {
                second in
                try await body(first, second)
            }
        }
    }
}
