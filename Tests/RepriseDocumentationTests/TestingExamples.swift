import Foundation
import Reprise
import RepriseTesting
import Testing

/// The examples of docs/testing.md; the first one is run.
@Suite("Testing your app", .timeLimit(.minutes(1)))
struct TestingExamples {
    @Test("A note arrives, and the answer to it is sent")
    func chat() async throws {
        let folder = try TemporaryFolder()
        let server = try MemoryServer(users: ["ada", "bob"])
        var configuration = RepriseConfiguration(server: "http://memory")
        configuration.folder = folder.url
        configuration.dialer = server
        let client = RepriseClient(configuration)
        let running = Task { try await client.run() }
        try await client.signIn("ada") { try server.token(for: "ada") }

        let general = client.channel("general", of: String.self)
        try server.post("hello", to: "general", from: "bob")
        for await page in general.messages() where page.count == 1 { break }
        try await general.publish("hello, Bob")
        try await waitUntil("it is sent") {
            server.bodies(of: "general", as: String.self) == ["hello", "hello, Bob"]
        }
        running.cancel()
        try await running.value
        await client.close()
    }

    private func clock(
        _ configuration: inout RepriseConfiguration, _ screen: ScriptedWebViews
    ) async throws {
        let clock = ManualClock()
        configuration.clock = clock
        clock.advance(by: .seconds(60))
        try await clock.advance(by: .seconds(60)) { screen.current != nil }
    }

    private func push(
        _ server: MemoryServer, _ notifications: MemoryNotifications, _ client: RepriseClient
    ) async throws {
        try server.addPhone(notifications, of: "ada", app: client)
        try server.post("hello", to: "general", from: "bob")
        await server.push()
        let id = try #require(notifications.delivered.first?.request.id)
        try await client.received(try notifications.respond(to: id))
    }

    private func form(_ client: RepriseClient, _ screen: ScriptedWebViews) async throws {
        try await client.recordEvent("delivered")
        let form = try await screen.form()
        try await screen.type("5", into: "Stars")
        try await screen.click("Send")
        try await screen.gone()
        #expect(form.title.isEmpty)
    }

    private func worker<W: Worker>(_ worker: W, _ input: W.Input) async throws {
        let first = WorkerRun(key: "photo-1", remaining: .seconds(10))
        _ = try? await first.perform(worker, input)
        let second = first.afterKill()
        try await second.perform(worker, input)
    }

    private func killed(_ journal: URL) async throws {
        let recorded = try await ChildProcess.killed(
            .sibling("CourierTool"), ["--record", journal.path], afterLines: 20)
        #expect(recorded.count >= 20)
    }
}
