import Foundation
import Reprise

/// Opens a journal and prints its ledger, as an app without a network would; scripts/check-consumer
/// builds and runs it.
@main
struct ConsumerApp {
    /// No network: the SDK brings no transport of its own, the app chooses one.
    struct Offline: SocketDialer {
        func dial(url: String, protocol: String, maximumFrameBytes: Int) async throws -> any Socket
        {
            throw RepriseError(.unreachable, "This app is offline.")
        }
    }

    static func main() async throws {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("reprise-consumer-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        var configuration = RepriseConfiguration(server: "http://127.0.0.1:8080")
        configuration.folder = folder
        configuration.dialer = Offline()
        let client = RepriseClient(configuration)
        try await client.channel("general", of: String.self).publish("recorded first")
        let ledger = try await client.ledger()
        await client.close()
        guard ledger.isBalanced, ledger.accepted == 1, ledger.pending == 1 else { exit(1) }
        print("The consumer app runs: one message recorded, one pending.")
    }
}
