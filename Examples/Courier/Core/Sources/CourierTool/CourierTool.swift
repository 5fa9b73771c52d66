import CourierCore
import Foundation
import Reprise

/// Opens a journal and prints its ledger, as an app without a network would.
///
/// With `--record FOLDER` it records messages until it is killed. scripts/check-consumer runs both.
@main
struct CourierTool {
    /// No network: the SDK brings no transport of its own, the app chooses one.
    struct Offline: SocketDialer {
        func dial(url: String, protocol: String, maximumFrameBytes: Int) async throws -> any Socket
        {
            throw RepriseError(.unreachable, "This app is offline.")
        }
    }

    static func main() async throws {
        if CommandLine.arguments.count == 3, CommandLine.arguments[1] == "--record" {
            try await record(in: URL(fileURLWithPath: CommandLine.arguments[2]))
        }
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("reprise-courier-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let client = RepriseClient(configuration(in: folder))
        try await client.channel("general", of: String.self).publish("recorded first")
        let ledger = try await client.ledger()
        await client.close()
        guard ledger.isBalanced, ledger.accepted == 1, ledger.pending == 1 else { exit(1) }
        print("The courier's tool runs: one message recorded, one pending.")
    }

    private static func configuration(in folder: URL) -> RepriseConfiguration {
        var configuration = RepriseConfiguration(server: "http://127.0.0.1:8080")
        configuration.folder = folder
        configuration.dialer = Offline()
        return configuration
    }

    /// A line for each message that is durable, by one system call: a kill cuts none.
    private static func record(in folder: URL) async throws -> Never {
        let client = RepriseClient(configuration(in: folder))
        let chat = client.channel("order-7", of: OrderNote.self)
        for number in 0..<100_000 {
            let id = try await chat.publish(OrderNote(text: "\(number)"))
            let line = Array("\(id)\n".utf8)
            guard write(1, line, line.count) == line.count else { exit(74) }
        }
        exit(0)
    }
}
