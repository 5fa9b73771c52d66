import Foundation
import Reprise

private func store(_ note: Note, _ id: EntryID) async throws {}

nonisolated private struct Login: Sendable {
    func token() async throws -> String { "a.b.c" }
}

private func accounts(
    _ client: RepriseClient, _ general: TypedChannel<Note>, _ backend: Login
) async throws {
    try await client.signIn("ada") { try await backend.token() }
    try await general.publish(Note(text: "hello"))
    try await client.signOut()
}

private protocol NoteInbox: Sendable {
    func add(_ note: some Codable & Sendable, id: EntryID) async throws
}

private protocol Tokens: Sendable {
    func token(for user: UserID) async throws -> String
}

private func page(
    _ dialer: any SocketDialer, _ backend: any Tokens, _ inbox: any NoteInbox
) async throws {
    nonisolated struct Note: Codable, Sendable { var text: String }

    var configuration = RepriseConfiguration(server: "https://chat.example.org")
    configuration.dialer = dialer  // NIODialer, URLSessionDialer
    configuration.tokens = { request in try AccessToken(await backend.token(for: request.user)) }

    let client = RepriseClient(configuration)  // reads and writes nothing yet
    let general = client.channel("general", of: Note.self)
    try await general.consume(as: "inbox") { message in
        if case .body(let note) = message.content { try await inbox.add(note, id: message.id) }
    }
    try await client.run()  // until the task is cancelled
}

#if canImport(UIKit)
    import RepriseApple
    import SwiftUI

    @MainActor
    private func start() async throws -> SystemAppLife {
        var configuration = RepriseConfiguration(server: "https://chat.example.org")
        configuration.dialer = URLSessionDialer()
        configuration.transport = URLSessionTransport()
        configuration.notifications = SystemNotifications()
        configuration.notices = Notices.Configuration()  // the features that the app has

        let client = RepriseClient(configuration)
        let general = client.channel("general", of: Note.self)
        try await general.consume(as: "inbox") { message in
            if case .body(let note) = message.content { try await store(note, message.id) }
        }
        let life = SystemAppLife(of: client)  // tells it of background and foreground
        Task { try await client.run() }
        return life
    }
#endif

private func migration(_ configuration: RepriseConfiguration, _ file: URL) async throws {
    let client = RepriseClient(configuration)  // opens lazily
    let general = client.channel("general", of: Note.self)  // by the type of its bodies
    try await general.subscribe()
    try await client.exportTimeline(to: file)  // for a report of a bug
}
