import Foundation

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

    package let what: String
    /// The title of its conversation; nil: none.
    package let conversation: String?
    /// Its author; nil: nobody.
    package let from: String?
    /// What the author's profile says; nil: none.
    package let name: String?
    /// JSON.
    package let body: String
    package let banner: Said

    private enum Key: String, CodingKey { case what, conversation, from, name, banner }

    package init(from decoder: any Decoder) throws {
        let row = try decoder.container(keyedBy: Key.self)
        what = try row.decode(String.self, forKey: .what)
        conversation = try row.decodeIfPresent(String.self, forKey: .conversation)
        from = try row.decodeIfPresent(String.self, forKey: .from)
        name = try row.decodeIfPresent(String.self, forKey: .name)
        banner = try row.decode(Said.self, forKey: .banner)
        body = ""
    }

    private init(_ row: BannerVector, body: String) {
        (what, conversation, from, banner) = (row.what, row.conversation, row.from, row.banner)
        name = row.name
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
