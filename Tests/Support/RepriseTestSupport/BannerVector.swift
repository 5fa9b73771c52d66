import Foundation
package import RepriseCore

/// A row of docs/notices/banners.json: a message, and what its banner says on every path.
package struct BannerVector: Decodable, Sendable {
    package struct Said: Decodable, Hashable, Sendable {
        package let title: String
        package let subtitle: String
        package let body: String

        package init(title: String, subtitle: String, body: String) {
            (self.title, self.subtitle, self.body) = (title, subtitle, body)
        }
    }

    /// Who speaks in a communication notification.
    package struct Person: Decodable, Hashable, Sendable {
        package let name: String
        package let picture: String?

        package init(_ conversation: NotificationConversation) {
            (name, picture) = (conversation.name, conversation.picture)
        }
    }

    package let what: String
    /// The title of its conversation; nil: none.
    package let conversation: String?
    /// Its author; nil: nobody.
    package let from: String?
    /// What the author's profile says; nil: none.
    package let name: String?
    /// The picture that it names.
    package let picture: String?
    /// JSON.
    package let body: String
    package let banner: Said
    /// Nil: the notification names nobody.
    package let sender: Person?

    private enum Key: String, CodingKey {
        case what, conversation, from, name, picture, banner, sender
    }

    package init(from decoder: any Decoder) throws {
        let row = try decoder.container(keyedBy: Key.self)
        what = try row.decode(String.self, forKey: .what)
        conversation = try row.decodeIfPresent(String.self, forKey: .conversation)
        from = try row.decodeIfPresent(String.self, forKey: .from)
        name = try row.decodeIfPresent(String.self, forKey: .name)
        picture = try row.decodeIfPresent(String.self, forKey: .picture)
        banner = try row.decode(Said.self, forKey: .banner)
        sender = try row.decodeIfPresent(Person.self, forKey: .sender)
        body = ""
    }

    private init(_ row: BannerVector, body: String) {
        (what, conversation, from, banner) = (row.what, row.conversation, row.from, row.banner)
        (name, picture, sender) = (row.name, row.picture, row.sender)
        self.body = body
    }

    package static func all() throws -> [BannerVector] {
        let file = Command.root.appending(path: "docs/notices/banners.json")
        let data = try Data(contentsOf: file)
        let bodies = try JSONSerialization.jsonObject(with: data) as? [[String: Any]] ?? []
        return try zip(JSONDecoder().decode([BannerVector].self, from: data), bodies).map {
            let body = try JSONSerialization.data(
                withJSONObject: $1["body"] ?? NSNull(), options: [.fragmentsAllowed, .sortedKeys])
            return BannerVector($0, body: String(decoding: body, as: UTF8.self))
        }
    }
}
