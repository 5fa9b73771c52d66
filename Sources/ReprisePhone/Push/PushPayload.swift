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

    /// A name, or a dictionary for critical alerts; only its presence counts here.
    private struct Sound: Decodable {
        private enum Key: String, CodingKey { case name }

        init(from decoder: any Decoder) throws {
            if (try? decoder.singleValueContainer().decode(String.self)) != nil { return }
            let members = try decoder.container(keyedBy: Key.self)
            _ = try members.decodeIfPresent(String.self, forKey: .name)
        }
    }

    let alert: Alert?
    let badge: Int?
    let hasSound: Bool
    let thread: String
    let category: String
    let interruption: NotificationContent.Interruption?
    let wakesApp: Bool
    let isMutable: Bool

    private enum Key: String, CodingKey {
        case alert, badge, sound, category
        case thread = "thread-id"
        case interruption = "interruption-level"
        case wakesApp = "content-available"
        case isMutable = "mutable-content"
    }

    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Key.self)
        alert = try members.decodeIfPresent(Alert.self, forKey: .alert)
        badge = try members.decodeIfPresent(Int.self, forKey: .badge)
        hasSound = try members.decodeIfPresent(Sound.self, forKey: .sound) != nil
        thread = try members.decodeIfPresent(String.self, forKey: .thread) ?? ""
        category = try members.decodeIfPresent(String.self, forKey: .category) ?? ""
        interruption = try members.decodeIfPresent(
            NotificationContent.Interruption.self, forKey: .interruption)
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
        content.thread = thread
        content.category = category
        content.interruption = interruption
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
