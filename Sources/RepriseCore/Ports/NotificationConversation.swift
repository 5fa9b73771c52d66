/// Whose message a notification shows, shaped after `INSendMessageIntent`: with it the notification
/// is a communication notification, with the sender's name and picture.
public struct NotificationConversation: Hashable, Sendable, Codable, Identifiable {
    /// The conversation, the same for all its notifications.
    public var id: String
    /// The sender's id.
    public var sender: String
    /// The sender's name, for people.
    public var name: String
    /// The `https` address of the sender's picture; nil: none.
    public var picture: String?
    /// The group's name; nil: a conversation with the sender alone.
    public var group: String?

    /// Makes one.
    ///
    /// - Parameters:
    ///   - id: the conversation, the same for all its notifications.
    ///   - sender: the sender's id.
    ///   - name: the sender's name, for people.
    ///   - picture: the `https` address of the sender's picture.
    ///   - group: the group's name; nil: a conversation with the sender alone.
    public init(
        id: String, sender: String, name: String, picture: String? = nil, group: String? = nil
    ) {
        self.id = id
        self.sender = sender
        self.name = name
        self.picture = picture
        self.group = group
    }
}
