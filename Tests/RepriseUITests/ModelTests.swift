import Foundation
import Observation
import RepriseTestSupport
import RepriseTesting
import RepriseUI
import Testing

private struct Note: Codable, Hashable, Sendable {
    var text: String
}

@MainActor @Suite("The models of the interface", .timeLimit(.minutes(1)))
struct ModelTests {
    private let folder: TemporaryFolder
    private let server: MemoryServer

    init() throws {
        folder = try TemporaryFolder()
        server = MemoryServer(tokens: [
            try AccessToken("ada.Yg.1"): try UserID("ada"),
            try AccessToken("bob.Yg.1"): try UserID("bob"),
        ])
    }

    private func client(_ name: String) -> RepriseClient {
        var configuration = RepriseConfiguration(server: "http://memory")
        configuration.folder = folder.appending(name)
        configuration.dialer = server
        configuration.channels.reconnect = Backoff(
            base: .milliseconds(1), longest: .milliseconds(5))
        return RepriseClient(configuration)
    }

    @Test("A channel's model follows messages, state and unread count, and tells its observers")
    func channel() async throws {
        let (ada, bob) = (client("ada"), client("bob"))
        let runs = [ada, bob].map { client in Task { try await client.run() } }
        let said = ada.channel("general", of: Note.self)
        let chat = ChannelModel(bob.channel("general", of: Note.self))
        #expect(chat.messages.isEmpty && chat.state == .closed && chat.unread == 0)
        try await ada.signIn("ada") { "ada.Yg.1" }
        try await bob.signIn("bob") { "bob.Yg.1" }
        try await chat.channel.setVisible(true)
        try await eventually("it is live") { chat.state == .live }
        let changes = Seen<Void>()
        withObservationTracking {
            _ = chat.messages
        } onChange: {
            changes.add(())
        }
        let id = try await said.publish(Note(text: "hello"))
        try await eventually("it is listed") {
            chat.messages.map(\.content) == [.body(Note(text: "hello"))]
        }
        #expect(changes.count == 1)
        #expect(chat.messages.first?.id == id && chat.messages.first?.isMine == false)
        try await eventually("it is unread") { chat.unread == 1 }
        try await chat.channel.markRead(upTo: try #require(chat.messages.last))
        try await eventually("it is read") { chat.unread == 0 }
        for run in runs { run.cancel() }
        for run in runs { try await run.value }
        await ada.close()
        await bob.close()
    }

    @Test("A client's model follows its user, its connection and what is wrong")
    func state() async throws {
        let client = client("ada")
        let model = ClientModel(client)
        #expect(model.state == .idle && model.user == nil && model.problem == nil)
        let run = Task { try await client.run() }
        try await client.signIn("ada") { "ada.Yg.1" }
        try await eventually("she is signed in") { model.user?.text == "ada" }
        try await eventually("it is connected") { model.connection == .connected }
        run.cancel()
        try await run.value
        await client.close()
        try await eventually("it is closed") { model.state == .closed }
        let bad = ClientModel(RepriseClient(RepriseConfiguration()))
        #expect(bad.problem?.remedy?.contains("configuration.server = ") == true)
    }

    @Test("A model that nobody has any more ends")
    func released() async throws {
        let client = client("ada")
        weak var released: ChannelModel<Note>?
        do {
            let model = ChannelModel(client.channel("general", of: Note.self))
            released = model
        }
        try await eventually("it is gone") { released == nil }
        await client.close()
    }
}
