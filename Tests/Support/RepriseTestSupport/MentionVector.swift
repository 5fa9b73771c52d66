import Foundation

/// A row of docs/notices/mentions.json: a message to ada, whom it mentions, and whether it rings.
package struct MentionVector: Sendable {
    package let what: String
    /// JSON.
    package let body: String
    package let users: [String]
    /// What ada has muted: `channel`, `person` or nothing.
    package let muted: String?
    /// Nil: as the server assumes.
    package let exceptMentions: Bool?
    package let rings: Bool

    package static func all() throws -> [MentionVector] {
        let file = Command.root.appending(path: "docs/notices/mentions.json")
        let rows = try JSONSerialization.jsonObject(with: Data(contentsOf: file))
        return try (rows as? [[String: Any]] ?? []).map { row in
            let body = try JSONSerialization.data(
                withJSONObject: row["body"] ?? NSNull(), options: [.fragmentsAllowed, .sortedKeys])
            return MentionVector(
                what: row["what"] as? String ?? "", body: String(decoding: body, as: UTF8.self),
                users: row["users"] as? [String] ?? [], muted: row["muted"] as? String,
                exceptMentions: row["exceptMentions"] as? Bool,
                rings: row["rings"] as? Bool == true)
        }
    }
}
