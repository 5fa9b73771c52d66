// What is the app's own: its screens, its store, its work.
import Foundation
import RepriseUI
import SwiftUI

nonisolated struct Note: Codable, Sendable {
    var text: String
}

struct RootView: View {
    let client: RepriseClient
    @State private var place = "Nowhere yet"

    var body: some View {
        NavigationStack {
            Text(place).task {
                // A tap counts as shown once the app says so; until then it comes again.
                guard let reminders = try? await client.reminders else { return }
                for await tap in reminders.routes {
                    place = tap.route?.id ?? "?"
                    try? await tap.presented()
                }
            }
            NavigationLink {
                ChatView(chat: client.model(for: client.channel("general", of: Note.self)))
            } label: {
                Text("Chat, \(client.badgeModel.count) unread")
            }
            NavigationLink {
                ChainsView(client)
            } label: {
                Text("Uploads")
            }
            NavigationLink {
                DebugView(client)
            } label: {
                Text("Debug")
            }
            AccountButtons(client: client)
        }
    }
}

struct ChatView: View {
    let chat: ChannelModel<Note>

    var body: some View {
        List(chat.messages) { message in
            switch message.content {
            case .body(let note): Text(note.text)
            case .deleted: Text("Deleted")
            case .unreadable: Text("Update the app to read this")
            }
        }
        .repriseVisible(chat)
    }
}

nonisolated struct Resize: Worker {
    static let identifier = "resize"

    func run(_ photo: String, _ work: WorkContext) async throws -> String { "small-\(photo)" }
}

let upload = Chain<String>("upload") { photo in Work("resize", Resize.self) { _ in photo } }

/// The app's entities: here in memory; ../Goals has a store over GRDB.
nonisolated enum GoalStore {
    static let shared = MemoryReminderStore()
}

nonisolated enum Backend {
    static func token() async throws -> String { "a.b.c" }
}
