import Foundation
import Reprise
import RepriseChannels
import RepriseCore

extension ExamplesFixture {
    func readme(_ configuration: RepriseConfiguration) async throws {
        struct Note: Codable, Sendable { var text: String }

        let client = RepriseClient(configuration)
        let general = client.channel("general", of: Note.self)

        try await general.consume(as: "inbox") { message in  // repeated until it returns
            try await store.save(message.rawJSON, id: message.id)
        }
        try await general.publish(Note(text: "hello"))  // recorded first, sent when it can be
        try await client.run()  // connects, catches up, stays live
    }

    func standing(_ general: TypedChannel<Note>, _ bar: any ProgressBar) async {
        for await state in general.states {
            switch state {
            case .catchingUp(let received, let total): bar.show(received, of: total)
            case .repairing(let missing), .stalled(let missing): bar.wait(for: missing)
            case .refused(_, let message): bar.fail(message)
            default: bar.hide()
            }
        }
    }

    func conversations(_ client: RepriseClient, show: ([Conversation]) -> Void) async throws {
        for await list in client.conversations.newest(50) { show(list) }

        let ben = try await client.conversations.direct(with: "ben")  // one, for all devices
        try await client.channel(ben, of: Note.self).publish(Note(text: "hello"))
        let team = try await client.conversations.make(title: "Team", with: ["ben", "eve"])
        try await client.conversations.rename(team, to: "The team")
    }

    func presence(
        _ client: RepriseClient, _ team: String,
        show: (UserID, PresenceState, WallTime?) -> Void
    ) async throws {
        for await presence in client.channel(team, of: Note.self).presence {
            for (user, one) in presence.users { show(user, one.state, one.seen) }
        }
        client.setIdle(true)  // nothing was touched for a while
        try await client.conversations.hidePresence(true)  // on all of the user's devices
    }

    func lifecycle(_ client: RepriseClient) async {
        await client.background(granted: .seconds(25))
        // Everything is closed and durable: the app may be suspended.
    }

    func network(_ configuration: inout RepriseConfiguration) {
        configuration.channels.network = network
    }

    func sending(_ client: RepriseClient) async throws {
        let general = client.channel("general", of: Note.self)
        let id = try await general.publish(Note(text: "hello"))  // durable here when it returns
        try await general.edit(id, Note(text: "hello, all"))  // behind it, in the same order
        try await general.delete(id)  // never sent: gone at once; else a deletion follows
        for letter in try await general.outbox.deadLetters() {
            print(letter.json, letter.code ?? "", letter.reason)
            try await general.outbox.retry(letter.id)  // the same id, with all its attempts
            // or: try await general.outbox.withdraw(letter.id)
        }
    }

    func receipts(
        _ general: TypedChannel<Note>, message: ReceivedMessage<Note>,
        show: ([UserID: ServerFrame.Position]) -> Void
    ) async throws {
        var badge: Int64 = 0
        try await general.markRead(upTo: message)  // durable; told to the server when it can be
        for await unread in general.unread { badge = unread.count }
        for await positions in general.positions { show(positions) }
        print(badge)
    }

    func typing(_ general: TypedChannel<Note>, show: ([UserID]) -> Void) async {
        general.typing()  // at each key
        for await users in general.typists { show(users) }
    }
}

/// An app's own view.
protocol ProgressBar {
    func show(_ count: Int64, of total: Int64)
    func wait(for count: Int64)
    func fail(_ message: String)
    func hide()
}
