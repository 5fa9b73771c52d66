import Foundation
import Reprise
import RepriseCommandLine
import RepriseNIO
import RepriseTestSupport
import RepriseTesting
import Testing

@testable import RepriseCLI

/// The article on accounts, at a real server that asks for tokens.
@Suite("Accounts at a server", .timeLimit(.minutes(1)))
struct AccountsAtServerTests {
    private static func isLive(_ home: DeviceAccounts) async throws {
        let general = try await home.current.channel("general")
        try await eventually("\(general.state)") { general.state == .live }
    }

    @Test("One run goes on over every sign-in and sign-out, and asks for nothing in between")
    func oneRun() async throws {
        let folder = try TemporaryFolder()
        let server = try await ToolServer(data: folder.path("data"), options: ["--dev"])
        let home = try await DeviceAccounts.open(
            at: folder.url.appending(path: "home"), server: server.url, dialer: NIODialer(),
            tokens: { [url = server.url] request in
                guard let token = try await DevToken.fetch(server: url, user: request.user) else {
                    throw RepriseError(.unauthorized, "It gives no tokens.")
                }
                return token
            },
            prepare: { reprise in try await reprise.channel("general").subscribe() })
        let running = Task { try await home.run() }
        // Time in which a client of nobody would be refused, if it dialled.
        try await Task.sleep(for: .milliseconds(200))
        for round in 0..<4 {
            try await home.signIn(as: UserID(round.isMultiple(of: 2) ? "ada" : "bob"))
            try await Self.isLive(home)
            if round > 0 {
                try await home.signOut()
                try await Task.sleep(for: .milliseconds(round * 40))
            }
        }
        let ada = try await home.signIn(as: UserID("ada"))
        try await Self.isLive(home)
        let id = try await ada.channel("general").publish("1")
        try await eventually("it is applied") {
            try await ada.journal.entry(id)?.state == .finished(.applied)
        }
        running.cancel()
        try await running.value
        await home.close()
        server.tool.signal(SIGTERM)
        _ = await server.tool.end()
        #expect(!server.tool.error.contains("unauthorized"))
    }
}
