import Foundation
import RepriseTestSupport
import RepriseTesting

extension NatsServer {
    /// Runs `body` beside one, in a folder of its own.
    static func run(_ body: (NatsServer, TemporaryFolder) async throws -> Void) async throws {
        let folder = try TemporaryFolder()
        let server = try await start(in: folder.url.appending(path: "nats"))
        defer { server.kill() }
        try await body(server, folder)
    }
}
