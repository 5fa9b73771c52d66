/// What a banner of a message says: by socket, by push and in the extension.
///
/// | message | title | below it |
/// |---|---|---|
/// | names a title | that | – |
/// | in a conversation with a title | the conversation's | the sender |
/// | in another, with an author | the sender | – |
/// | without one | the channel's name | – |
///
/// The sender is the name that the message says (``NoticeAppearance/sender``), else the user's id.
package struct Banner: Hashable, Sendable {
    package let title: String
    package let subtitle: String?
    package let body: String

    /// - Parameters:
    ///   - content: of the message.
    ///   - sender: what the app calls the author, if it has a name; nil: see above.
    ///   - from: the author; nil: none is known.
    ///   - conversation: the conversation's title; nil: none, as in a conversation of two.
    ///   - channel: its channel.
    package init(
        of content: PushContent, sender: String? = nil, from: UserID?, in conversation: String?,
        _ channel: ChannelName
    ) {
        let sender = sender ?? content.appearance.sender ?? from?.text
        title = content.title ?? conversation ?? sender ?? channel.text
        subtitle = content.title == nil && conversation != nil ? sender : nil
        body = content.body
    }
}
