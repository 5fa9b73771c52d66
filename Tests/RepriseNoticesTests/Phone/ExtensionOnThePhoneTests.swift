import Foundation
import RepriseCore
import RepriseJournal
import RepriseNotices
import ReprisePhone
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

/// A real phone, with a real process of the extension for each push; its app never runs.
@Suite("The extension on the phone", .serialized, .timeLimit(.minutes(3)))
struct ExtensionOnThePhoneTests {
    private static let app = "mail"

    private static func play(
        _ arguments: [String] = [], mirror: NoticeMirror? = Pushes.mirror(),
        _ body: (Phone, URL) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        let tool = URL.sibling("reprise-lab")
        let phone = try await Phone.start(
            in: folder.url.appendingPathComponent("p"), supervisor: .tool(tool))
        do {
            try await phone.install(
                PhoneAppSpec(
                    id: app, executable: tool.path, arguments: ["app", "reminders"],
                    serviceExtension: tool.path,
                    extensionArguments: ["app", "notices-extension"] + arguments))
            try await phone.permit()
            let data = phone.folder.data(of: app)
            if let mirror {
                let journal = try await open(data)
                try await journal.replace(Mirror<NoticeMirror>(in: data), with: mirror)
                await journal.close()
            }
            try await body(phone, data)
        } catch {
            await phone.end()
            throw error
        }
        await phone.end()
    }

    private static func open(_ folder: URL) async throws -> Journal {
        try await Journal.open(at: folder, kinds: Notices.kinds(), schemas: [Notices.schema])
    }

    private func push(_ hint: PushHint, to phone: Phone) async throws {
        try await phone.push(
            Pushes.payload(hint), headers: ["apns-collapse-id": hint.id?.text ?? "x"])
        try await phone.expects(.phone(.delivered, hint.id?.text))
    }

    private func content(_ phone: Phone, _ id: String) async throws -> NotificationContent? {
        try await phone.app().delivered.first { $0.request.id == id }?.request.content
    }

    @Test(
        "while the app is dead: muted is silent in the list, new is a banner, the badge is right, and the app finds the records"
    )
    func dead() async throws {
        var mirror = Pushes.mirror()
        mirror.channelMutes["quiet"] = .init()
        try await Self.play(mirror: mirror) { phone, data in
            try await push(try Pushes.hint("m11", seq: 11, badge: (4, 5), at: 1), to: phone)
            try await phone.expects(.phone(.banner, "m11"))
            // Out of order: 13 comes before 12, whose count is older.
            try await push(try Pushes.hint("m13", seq: 13, badge: (6, 9), at: 3), to: phone)
            try await push(try Pushes.hint("m12", seq: 12, badge: (5, 7), at: 2), to: phone)
            #expect(try await phone.app().badge == 6)
            try await push(
                try Pushes.hint("q1", seq: 1, channel: "quiet", badge: (7, 10), at: 4), to: phone)
            try await phone.hasNot(.phone(.banner, "q1"))
            let silent = try #require(try await content(phone, "q1"))
            #expect(!silent.sound && silent.interruption == .passive && silent.body == "Hello")
            // The same push once more makes no second banner.
            try await phone.expects(.phone(.banner, "m13"))
            try await push(try Pushes.hint("m13", seq: 13, badge: (6, 9), at: 3), to: phone)
            try await phone.hasNot(.phone(.banner, "m13"))
            let status = try await phone.app()
            #expect(status.badge == 7 && status.state == .notRunning)
            let journal = try await Self.open(data)
            #expect(try await journal.ledger().accepted == 4)
            await journal.close()
        }
    }

    @Test(
        "an extension ended at its limit loses nothing: the original is shown, and the spool has whole records or none",
        arguments: [NoticeExtension.Step.began, .read, .decided, .recorded])
    func limit(step: NoticeExtension.Step) async throws {
        try await Self.play(["--hang-at", step.rawValue, "--ignores-warning"]) { phone, data in
            let hint = try Pushes.hint("m11", seq: 11, badge: (4, 5))
            try await phone.push(Pushes.payload(hint), headers: ["apns-collapse-id": "m11"])
            try await phone.expects(.report("extension"))
            if step == .recorded {
                let spool = Spool(at: data)
                try await eventually("it is recorded") {
                    !spool.waiting(of: NoticeKinds.shown, newest: 10).isEmpty
                }
            }
            try await phone.advance(by: .seconds(27))
            try await phone.advance(by: .seconds(3))
            try await phone.expects(.phone(.banner, "m11"))
            #expect(try await content(phone, "m11")?.badge == 4)
            let journal = try await Self.open(data)
            #expect(journal.opening.spool.rejected.isEmpty)
            #expect(try await journal.ledger().accepted == (step == .recorded ? 1 : 0))
            await journal.close()
        }
    }

    @Test("an extension told that its time is nearly over shows its decision so far")
    func warned() async throws {
        var mirror = Pushes.mirror()
        mirror.channelMutes["room"] = .init()
        try await Self.play(["--hang-at", "decided"], mirror: mirror) { phone, data in
            let hint = try Pushes.hint("m11", seq: 11, badge: (4, 5))
            try await phone.push(Pushes.payload(hint), headers: ["apns-collapse-id": "m11"])
            let hangs = data.appendingPathComponent("hangs").path
            try await eventually("it has decided") {
                FileManager.default.fileExists(atPath: hangs)
            }
            try await phone.advance(by: .seconds(27))
            try await phone.expects(.phone(.delivered, "m11"))
            #expect(try await content(phone, "m11")?.sound == false)
        }
    }

    @Test(
        "an extension that dies, and one without a mirror, show the original",
        arguments: ["died", "blind"])
    func dies(how: String) async throws {
        let arguments = how == "died" ? ["--die-at", "decided"] : []
        try await Self.play(arguments, mirror: nil) { phone, data in
            try await push(try Pushes.hint("m1", seq: 1, badge: (1, 5)), to: phone)
            try await phone.expects(.phone(.banner, "m1"))
            #expect(try await phone.app().badge == 1)
            let journal = try await Self.open(data)
            #expect(try await journal.ledger().accepted == (how == "died" ? 0 : 1))
            await journal.close()
        }
    }
}
