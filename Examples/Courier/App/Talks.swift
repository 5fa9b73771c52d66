import CourierCore
import RepriseUI
import SwiftUI

/// The conversations about no order, the newest first: the office begins them.
struct TalksSection: View {
    let inbox: ConversationsModel

    var body: some View {
        Section("Talk") {
            ForEach(inbox.conversations.filter { Courier.isTalk($0.id) }) { talk in
                NavigationLink(value: Place.talk(talk.id)) {
                    VStack(alignment: .leading) {
                        Text(talk.displayName).font(.headline)
                        Text(talk.unread == 0 ? "Nothing new" : "\(talk.unread) unread")
                            .foregroundStyle(.secondary)
                    }
                }
            }
        }
    }
}

/// A conversation.
struct TalkView: View {
    let title: String
    let chat: ChannelModel<OrderNote>

    var body: some View {
        List { ChatSection(chat: chat) }
            .navigationTitle(title)
            .repriseVisible(chat)
    }
}

/// What is said in a channel, and a field to say more.
struct ChatSection: View {
    let chat: ChannelModel<OrderNote>
    @State private var text = ""
    @State private var fault = ""

    var body: some View {
        Section(chat.typists.isEmpty ? "Chat" : "Chat, somebody types") {
            ForEach(chat.messages) { message in MessageRow(message: message) }
            HStack {
                TextField("Message", text: $text)
                Button("Send") { send() }
            }
            if !fault.isEmpty { Text(fault).foregroundStyle(.red) }
        }
        .onChange(of: text) { _, now in if !now.isEmpty { chat.channel.typing() } }
    }

    private func send() {
        guard !text.isEmpty else { return }
        let note = OrderNote(text: text)
        text = ""
        Task {
            // In the journal when it returns; it goes out once, also after a kill.
            do {
                try await chat.channel.publish(note)
                fault = ""
            } catch { fault = error.localizedDescription }
        }
    }
}

private struct MessageRow: View {
    let message: ListedMessage<OrderNote>

    var body: some View {
        switch message.content {
        case .body(let note):
            VStack(alignment: .leading) {
                Text(note.text)
                Text(message.isMine ? "\(message.status)" : message.from?.text ?? "")
                    .font(.caption).foregroundStyle(.secondary)
            }
        case .deleted: Text("Deleted")
        case .unreadable: Text("Update the app to read this")
        }
    }
}
