import RepriseCore

/// What a user is called, and the address of a picture, as the user has set them.
///
/// The server tells it to those with whom the user shares a channel, and to nobody else.
public struct Profile: Hashable, Sendable, Codable {
    /// The name for people: one line, at most 128 bytes.
    public var name: String?
    /// The picture's `https` address: at most 512 bytes.
    public var picture: String?

    /// Makes a profile; nil: without.
    public init(name: String? = nil, picture: String? = nil) {
        self.name = name
        self.picture = picture
    }

    /// - Throws: ``RepriseCore/RepriseError`` `.malformed`, which says what is wrong.
    public func validate() throws {
        if let name {
            guard !name.isEmpty, PushText.title(name, atMost: NoticeAppearance.senderBytes) == name
            else {
                throw RepriseError(
                    .malformed,
                    "A name is one line of at most \(NoticeAppearance.senderBytes) bytes, without controls."
                )
            }
        }
        if let picture {
            guard NoticeAppearance.isAddress(picture) else {
                throw RepriseError(
                    .malformed,
                    "A picture is an https address of at most \(NoticeAppearance.pictureBytes) bytes."
                )
            }
        }
    }
}
