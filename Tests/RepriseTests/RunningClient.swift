import Reprise
import RepriseTesting

extension MemoryServer {
    /// Runs ada's client; what `prepare` changes waits until then.
    func running(
        in folder: TemporaryFolder, _ configure: (inout RepriseConfiguration) -> Void,
        _ prepare: (RepriseClient) async throws -> Void,
        _ body: (RepriseClient) async throws -> Void
    ) async throws {
        var configuration = RepriseConfiguration(server: "http://memory")
        configuration.folder = folder.appending("home")
        configuration.dialer = self
        configuration.transport = self
        configure(&configuration)
        let client = RepriseClient(configuration)
        try await client.signIn("ada") { try self.token(for: "ada") }
        try await prepare(client)
        let running = Task { try await client.run() }
        try await body(client)
        running.cancel()
        try await running.value
        await client.close()
    }
}
