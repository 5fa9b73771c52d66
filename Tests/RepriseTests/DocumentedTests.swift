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
    func show(_ message: Message) {}
    func askToSignIn(because: String) {}
}

/// The code of the articles, as it stands there.
@Suite("Documented", .timeLimit(.minutes(1)))
struct DocumentedTests {
    @Test("the articles on accounts and on the app's life say what compiles and runs")
    func accounts() async throws {
        let temporary = try TemporaryFolder()
        let folder = temporary.appending("home")
        let (backend, screen) = (BackendActor(), Screen())
        let dialer = MemoryDialer()
        let home = try await DeviceAccounts.open(
            at: folder, server: "https://chat.example.org", dialer: dialer,
            tokens: { request in
                try AccessToken(
                    try await backend.token(for: request.user, fresh: request.reason != .first))
            },
            prepare: { reprise in
                let general = try reprise.channel("general")
                try await general.read("inbox") { message in await screen.show(message) }
            })
        let running = Task { try await home.run() }
        let reprise = try await home.signIn(as: UserID("ada"))
        let watching = Task {
            for await state in reprise.channels.connectionStates {
                guard case .stopped(let reason) = state else { continue }
                await screen.askToSignIn(because: reason.description)
                try await home.signIn(as: UserID("ada"))
            }
        }
        let socket = try await dialer.accept()
        #expect(await socket.sent() != nil)
        let background = Task { await reprise.background(granted: .seconds(2)) }
        await background.value
        await reprise.foreground()
        _ = try await dialer.accept()
        let ledger = try await home.signOut()
        print("\(ledger.outcomes[.dead] ?? 0) were not sent")
        watching.cancel()
        running.cancel()
        try await running.value
        await home.close()
    }
}
