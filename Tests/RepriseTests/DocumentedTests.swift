import Foundation
import Reprise
import RepriseTesting
import Testing

private actor BackendActor {
    func token(for user: UserID, fresh: Bool) async throws -> String {
        "YQ.Yg.\(user.text.utf8.count)"
    }
}

private actor Screen {
    func askToSignIn(because: String) {}
}

/// The code of the articles, as it stands there.
@Suite("Examples of the documentation, run", .timeLimit(.minutes(1)))
struct DocumentedTests {
    @Test("the articles on accounts and on the app's life say what compiles and runs")
    func accounts() async throws {
        let temporary = try TemporaryFolder()
        let folder = temporary.appending("home")
        let (backend, screen) = (BackendActor(), Screen())
        let dialer = MemoryDialer()
        var configuration = RepriseConfiguration(server: "https://chat.example.org")
        configuration.folder = folder
        configuration.dialer = dialer
        configuration.tokens = { request in
            try AccessToken(
                try await backend.token(for: request.user, fresh: request.reason != .first))
        }
        let client = RepriseClient(configuration)
        let running = Task { try await client.run() }
        try await client.signIn("ada", tokens: nil)
        let watching = Task {
            for await state in client.connectionStates {
                guard case .stopped(let reason) = state else { continue }
                await screen.askToSignIn(because: reason.description)
                try await client.signIn("ada", tokens: nil)
            }
        }
        let socket = try await dialer.accept()
        #expect(await socket.sent() != nil)
        let background = Task { await client.background(granted: .seconds(2)) }
        await background.value
        await client.foreground()
        _ = try await dialer.accept()
        let ledger = try await client.signOut()
        print("\(ledger.outcomes[.dead] ?? 0) were not sent")
        watching.cancel()
        running.cancel()
        try await running.value
        await client.close()
    }
}
