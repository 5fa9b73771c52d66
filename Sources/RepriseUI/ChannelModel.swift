public import Observation
public import Reprise

/// A channel for a screen: the newest messages and what stands around them, kept up to date.
///
/// ```swift
/// struct ChatView: View {
///     @State private var chat: ChannelModel<Note>
///
///     init(_ client: RepriseClient) {
///         chat = ChannelModel(client.channel("general"))
///     }
///
///     var body: some View {
///         List(chat.messages) { message in
///             switch message.content {
///             case .body(let note): Text(note.text)
///             case .deleted: Text("Deleted")
///             case .unreadable: Text("Update the app to read this")
///             }
///         }
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

    @ObservationIgnored private var watches: [Task<Void, Never>] = []

    /// Makes the model of a channel, and begins to watch it.
    ///
    /// - Parameters:
    ///   - channel: the channel.
    ///   - count: the most messages, 1 to 500.
    public init(_ channel: TypedChannel<Body>, newest count: Int = 50) {
        self.channel = channel
        watch(channel.messages(newest: count)) { $0.messages = $1 }
        watch(channel.states) { $0.state = $1 }
        watch(channel.unread) { $0.unread = Int(clamping: $1.count) }
        watch(channel.typists) { $0.typists = $1 }
    }

    isolated deinit { for watch in watches { watch.cancel() } }

    private func watch<Value: Sendable>(
        _ values: AsyncStream<Value>, _ take: @escaping @MainActor (ChannelModel, Value) -> Void
    ) {
        watches.append(
            Task { @MainActor [weak self] in
                for await value in values {
                    guard let self else { return }
                    take(self, value)
                }
            })
    }
}
