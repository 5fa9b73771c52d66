import Foundation
import GRDB
import Reprise
import RepriseCore
import RepriseJournal
import RepriseNotices
import ReprisePhone
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

/// A real phone with the app of notices on it, whose person is `ada`, and a real server where
/// `grace` writes.
struct NoticesPhone: Sendable {
    static let app = "mail"

    let phone: Phone
    let server: DevelopmentServer
    private let token: String

    /// Plays a scenario, and leaves nothing behind however it ends.
    static func play(
        _ arguments: String..., hasExtension: Bool = false,
        permission: NotificationSettings.Authorization = .authorized,
        _ body: (NoticesPhone) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        let server = try DevelopmentServer(in: folder.url.appendingPathComponent("s"))
        defer { server.kill() }
        let phone = try await Phone.start(
            in: folder.url.appendingPathComponent("p"), supervisor: .tool(.sibling("reprise-lab")))
        do {
            let token = try await server.identity("ada").tokens(
                TokenRequest(user: try UserID("ada"), reason: .first))
            let stage = NoticesPhone(phone: phone, server: server, token: token.secret)
            try await stage.install(arguments, hasExtension: hasExtension)
            try await phone.permit(permission)
            try await body(stage)
        } catch {
            await phone.end()
            throw error
        }
        await phone.end()
    }

    /// Installs the app, or its next version.
    func install(_ arguments: [String] = [], hasExtension: Bool = false) async throws {
        let tool = URL.sibling("reprise-lab").path
        try await phone.install(
            PhoneAppSpec(
                id: Self.app, executable: tool,
                arguments: [
                    "app", "notices", "--server", server.url, "--user", "ada", "--token", token,
                ] + arguments,
                serviceExtension: hasExtension ? tool : nil,
                extensionArguments: ["app", "notices-extension"]))
    }

    /// The app is opened, and has what the server has.
    func launch() async throws {
        try await phone.launch()
        try await phone.expects(.report("live", "general"))
    }

    /// The app is killed by the system.
    func dies() async throws {
        try await phone.kill()
        try await phone.expects(.phone(.terminated))
    }

    /// The app is frozen, and the system says so.
    func freezes() async throws {
        try await phone.home()
        try await phone.expects(.phone(.background))
        // Not to its end: an app that is not done by then is ended.
        try await phone.advance(by: .seconds(24))
        try await phone.expects(.phone(.suspended))
    }

    /// Somebody writes.
    func publish(_ id: String, _ text: String = "Hello") async throws {
        try await server.tell(
            "POST", "/v1/channels/general/messages",
            #"{"id":"\#(id)","body":{"text":"\#(text)"}}"#, as: "grace")
    }

    /// The person reads on another device.
    func readElsewhere(through seq: Int64) async throws {
        try await server.tell(
            "PUT", "/v1/channels/general/positions",
            #"{"read":\#(seq)}"#, as: "ada")
    }

    /// The server's push of a message.
    func push(_ id: String, seq: Int64, text: String = "Hello", badge: Int64) async throws {
        var hint = PushHint(
            kind: .alert, channel: try ChannelName("general"), seq: seq, head: seq)
        hint.id = try EntryID(id)
        hint.from = try UserID("grace")
        hint.badge = .init(count: badge, asOf: WallTime(milliseconds: 1_800_000_000_000 + seq))
        let json = String(decoding: hint.json, as: UTF8.self)
        try await phone.push(
            #"{"aps":{"alert":{"title":"grace","body":"\#(text)"},"sound":"default","badge":\#(badge),"category":"message","mutable-content":1},"reprise":\#(json)}"#,
            headers: ["apns-collapse-id": id])
    }

    /// The server's push that says what was read elsewhere: it shows nothing, and wakes the app.
    func wake(seq: Int64, head: Int64) async throws {
        let hint = PushHint(
            kind: .dismiss, channel: try ChannelName("general"), seq: seq, head: head)
        let json = String(decoding: hint.json, as: UTF8.self)
        try await phone.push(
            #"{"aps":{"content-available":1},"reprise":\#(json)}"#,
            headers: ["apns-push-type": "background", "apns-priority": "5"])
    }

    /// What stands in the notification centre.
    func standing() async throws -> [String] {
        try await phone.app().delivered.map(\.request.id).sorted()
    }

    func becomes(_ badge: Int, _ standing: [String]) async throws {
        try await eventually("the badge is \(badge), and \(standing) stands") {
            let app = try await phone.app()
            return app.badge == badge
                && app.delivered.map(\.request.id).sorted() == standing.sorted()
        }
    }

    /// How often a person was alerted to a message.
    func banners(of id: String) async throws -> Int {
        try await phone.log().count { $0.what == "banner" && $0.detail == id }
    }

    /// What the app's journal says was decided.
    func decided() throws -> NoticesReading? {
        try NoticesReading.read(
            at: phone.folder.data(of: Self.app), schemas: AccountClient.featureSchemas, limit: 100)
    }

    /// How many taps nobody has presented yet.
    func unpresented() throws -> Int? {
        try Journal.peek(
            at: phone.folder.data(of: Self.app), schemas: AccountClient.featureSchemas
        ) { db in
            try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM noticesTap WHERE presented IS NULL")
        } ?? nil
    }

    /// What stands in the channel, by the server.
    func history() async throws -> String {
        try await server.ask("/v1/channels/general/messages", as: "ada")
    }
}
