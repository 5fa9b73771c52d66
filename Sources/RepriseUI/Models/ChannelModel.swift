public import Foundation
public import Observation
public import Reprise

/// A channel for a screen: the newest messages and what stands around them, kept up to date.
///
/// ```swift
/// struct ChatView: View {
///     let chat: ChannelModel<Note>                  // client.model(for: general)
///
///     var body: some View {
///         List(chat.messages) { message in
///             switch message.content {
///             case .body(let note): Text(note.text)
///             case .deleted: Text("Deleted")
///             case .unreadable: Text("Update the app to read this")
///             }
///         }
///         .repriseVisible(chat)
///     }
/// }
/// ```
///
/// It goes on with the next account, and ends with its last reference.
@MainActor @Observable
public final class ChannelModel<Body: Codable & Sendable> {
    /// The channel.
    public let channel: TypedChannel<Body>
    /// The newest messages, oldest first.
    public private(set) var messages: [ListedMessage<Body>] = []
    /// What the device has of the channel.
    public private(set) var state: ChannelState = .closed
    /// How many messages the user has not read.
    public private(set) var unread = 0
    /// The other users who type.
    public private(set) var typists: [UserID] = []
    /// The own messages that the server has refused; they are in ``messages``, too.
    public var failed: [ListedMessage<Body>] {
        messages.filter { if case .failed = $0.status { true } else { false } }
    }

    @ObservationIgnored private let watches = Watches()
    @ObservationIgnored private var visibility = ChannelVisibility()
    @ObservationIgnored private var isTelling = false

    /// Makes the model of a channel, and begins to watch it; see
    /// `client.model(for:newest:)`.
    ///
    /// - Parameters:
    ///   - channel: the channel.
    ///   - count: the most messages, 1 to 500.
    public init(_ channel: TypedChannel<Body>, newest count: Int = 50) {
        self.channel = channel
        watches.follow(channel.messages(newest: count), for: self) { model, messages in
            model.messages = messages
            model.visibility.listChanged(newest: messages.lazy.compactMap(\.seq).max())
            model.tell()
        }
        watches.follow(channel.states, for: self) { $0.state = $1 }
        watches.follow(channel.unread, for: self) { $0.unread = Int(clamping: $1.count) }
        watches.follow(channel.typists, for: self) { $0.typists = $1 }
        watches.follow(channel.client.states, for: self) { model, state in
            guard case .open = state else { return }
            model.visibility.accountChanged()
            model.tell()
        }
    }

    /// Reports that a view shows the channel, or no longer does: `.repriseVisible` does it.
    ///
    /// While any view shows it, it is caught up before others and its messages show no banner; what
    /// is in ``messages`` counts as read.
    ///
    /// - Parameters:
    ///   - isVisible: whether the view is on an active screen.
    ///   - view: names the view; several may show one channel.
    ///   - marksRead: false: the app sends receipts itself.
    public func setVisible(_ isVisible: Bool, in view: UUID, marksRead: Bool = true) {
        if isVisible {
            visibility.viewShown(view, marksRead: marksRead)
        } else {
            visibility.viewHidden(view)
        }
        tell()
    }

    /// Says the newest decision, one at a time, and outlives its last view for that.
    private func tell() {
        guard !isTelling else { return }
        isTelling = true
        Task {
            while let work = visibility.takeWork() { await tell(work) }
            isTelling = false
        }
    }

    private func tell(_ work: ChannelVisibility.Work) async {
        // What cannot be recorded now is said again with the next change of list or account.
        if let isVisible = work.isVisible { try? await channel.setVisible(isVisible) }
        if let seq = work.read, let message = messages.last(where: { $0.seq == seq }) {
            try? await channel.markRead(upTo: message)
        }
    }
}
