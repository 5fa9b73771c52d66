import Foundation
import RepriseCore
import RepriseJournal
import RepriseNotices
import RepriseTesting
import RepriseWire
import Testing

/// Pushes as the server makes them.
enum Pushes {
    static let now = WallTime(milliseconds: 1_800_000_000_000)

    /// A push of a message; its badge is what the server has counted, and how many seconds after
    /// ``now``.
    static func hint(
        _ id: String, seq: Int64, head: Int64? = nil, channel: String = "room",
        from: String = "ada",
        badge: (Int64, Int64)? = nil, at second: Int64 = 0
    ) throws -> PushHint {
        var hint = PushHint(
            kind: .alert, channel: try ChannelName(channel), seq: seq, head: head ?? seq)
        hint.id = try EntryID(id)
        hint.from = try UserID(from)
        hint.time = now.advanced(by: .seconds(second))
        hint.badge = badge.map { .init(count: $0.0, asOf: now.advanced(by: .seconds($0.1))) }
        return hint
    }

    static func payload(
        _ hint: PushHint,
        _ aps: String = #""alert":{"title":"Ada","body":"Hello"},"sound":"default""#
    ) -> String {
        let badge = hint.badge.map { #","badge":\#($0.count)"# } ?? ""
        return
            #"{"aps":{\#(aps)\#(badge),"mutable-content":1},"reprise":\#(String(decoding: hint.json, as: UTF8.self))}"#
    }

    static func request(_ hint: PushHint) -> NotificationRequest {
        request(payload(hint), hint.id?.text ?? "x")
    }

    static func request(_ payload: String, _ id: String = "x") -> NotificationRequest {
        var content = NotificationContent(
            title: "Ada", body: "Hello", info: Array(payload.utf8))
        content.sound = true
        content.badge = 99
        return NotificationRequest(id: id, content: content)
    }

    static func mirror(read: Int64 = 0, head: Int64 = 10, badge: Int64 = 3, asOf: Int64 = 0)
        -> NoticeMirror
    {
        var mirror = NoticeMirror(
            me: "me", settings: NotificationSettings(authorization: .authorized))
        mirror.standings["room"] = .init(read: read, before: 0, head: head)
        mirror.badge = badge
        mirror.badgeAsOf = asOf == 0 ? 0 : now.advanced(by: .seconds(asOf)).milliseconds
        return mirror
    }
}
