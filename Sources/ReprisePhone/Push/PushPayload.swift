import Foundation
import RepriseCore
import RepriseJournal

/// The `aps` dictionary of a payload, with the keys that the phone acts on; the others are the
/// app's or passed over.
struct PushPayload: Decodable {
    /// A text, or a dictionary of texts.
    struct Alert: Decodable {
        var title = ""
        var subtitle = ""
        var body = ""

        private enum Key: String, CodingKey { case title, subtitle, body }

        init(from decoder: any Decoder) throws {
            if let text = try? decoder.singleValueContainer().decode(String.self) {
                body = text
                return
            }
            let members = try decoder.container(keyedBy: Key.self)
            title = try members.decodeIfPresent(String.self, forKey: .title) ?? ""
            subtitle = try members.decodeIfPresent(String.self, forKey: .subtitle) ?? ""
            body = try members.decodeIfPresent(String.self, forKey: .body) ?? ""
        }
    }

    /// A name, or a dictionary for critical alerts.
    private struct Sound: Decodable {
        private enum Key: String, CodingKey { case name }

        /// Nil: the default.
        let name: String?

        init(from decoder: any Decoder) throws {
            var name = try? decoder.singleValueContainer().decode(String.self)
            if name == nil {
                name = try decoder.container(keyedBy: Key.self)
                    .decodeIfPresent(String.self, forKey: .name)
            }
            self.name = name == "default" ? nil : name
        }
    }

    let alert: Alert?
    let badge: Int?
    let hasSound: Bool
    let soundName: String?
    let thread: String
    let category: String
    let interruption: NotificationContent.Interruption?
    let relevance: Double?
    let wakesApp: Bool
    let isMutable: Bool

    private enum Key: String, CodingKey {
        case alert, badge, sound, category
        case thread = "thread-id"
        case interruption = "interruption-level"
        case relevance = "relevance-score"
        case wakesApp = "content-available"
        case isMutable = "mutable-content"
    }

    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Key.self)
        alert = try members.decodeIfPresent(Alert.self, forKey: .alert)
        badge = try members.decodeIfPresent(Int.self, forKey: .badge)
        let sound = try members.decodeIfPresent(Sound.self, forKey: .sound)
        (hasSound, soundName) = (sound != nil, sound?.name)
        thread = try members.decodeIfPresent(String.self, forKey: .thread) ?? ""
        category = try members.decodeIfPresent(String.self, forKey: .category) ?? ""
        interruption = try members.decodeIfPresent(
            NotificationContent.Interruption.self, forKey: .interruption)
        relevance = try members.decodeIfPresent(Double.self, forKey: .relevance)
        wakesApp = try members.decodeIfPresent(Int.self, forKey: .wakesApp) == 1
        isMutable = try members.decodeIfPresent(Int.self, forKey: .isMutable) == 1
        guard badge.map({ $0 >= 0 }) ?? true else {
            throw DecodingError.dataCorruptedError(
                forKey: .badge, in: members, debugDescription: "negative")
        }
    }

    func content(info: [UInt8]) -> NotificationContent {
        var content = NotificationContent(
            title: alert?.title ?? "", body: alert?.body ?? "", info: info)
        content.subtitle = alert?.subtitle ?? ""
        content.badge = badge
        content.sound = hasSound
        content.soundName = soundName
        content.thread = thread
        content.category = category
        content.interruption = interruption
        content.relevance = relevance
        return content
    }

    /// Reads a payload whose length is known to be allowed.
    ///
    /// - Throws: ``PushRefusal`` `.malformedPayload`, which names the member that is wrong.
    static func aps(_ payload: [UInt8]) throws(PushRefusal) -> PushPayload {
        struct Whole: Decodable { let aps: PushPayload }
        do {
            return try ForeignJSON.decode(Whole.self, from: payload).aps
        } catch let error as DecodingError {
            throw PushRefusal(.malformedPayload, words(error))
        } catch {
            throw PushRefusal(.malformedPayload, "The payload is not a JSON object.")
        }
    }

    private static func words(_ error: DecodingError) -> String {
        let path: [any CodingKey]
        switch error {
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            path = context.codingPath
        case .keyNotFound(let key, let context): path = context.codingPath + [key]
        case .dataCorrupted(let context): path = context.codingPath
        @unknown default: path = []
        }
        guard !path.isEmpty else { return "The payload is not a JSON object as documented." }
        let name = path.map(\.stringValue).joined(separator: ".")
        if case .keyNotFound = error { return "The payload has no \(name)." }
        return "\(name) is not what the documentation asks for."
    }
}
