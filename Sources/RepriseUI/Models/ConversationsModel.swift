public import Observation
public import Reprise

/// The user's conversations for a screen, kept up to date.
///
/// ```swift
/// struct Inbox: View {
///     let inbox: ConversationsModel                 // client.conversationsModel()
///
///     var body: some View {
///         List(inbox.conversations) { conversation in
///             LabeledContent(conversation.displayName, value: "\(conversation.unread)")
///         }
///     }
/// }
/// ```
///
/// It goes on with the next account, and ends with its last reference.
@MainActor @Observable
public final class ConversationsModel {
    /// Those with the newest messages, newest first.
    public private(set) var conversations: [Conversation] = []
    /// The archived ones, in the same order.
    public private(set) var archived: [Conversation] = []
    /// The unread messages of all of ``conversations`` that are not muted.
    public var unread: Int { conversations.reduce(0) { $0 + ($1.isMuted ? 0 : $1.unread) } }

    @ObservationIgnored private let watches = Watches()

    /// Makes the model, and begins to watch; see `client.conversationsModel(newest:)`.
    ///
    /// - Parameters:
    ///   - client: the client.
    ///   - count: the most conversations of each list, 1 to 1,000.
    public init(_ client: RepriseClient, newest count: Int = 100) {
        watches.follow(client.conversations.newest(count), for: self) { $0.conversations = $1 }
        watches.follow(client.conversations.archived(count), for: self) { $0.archived = $1 }
    }
}
