import Foundation
import RepriseCore
import RepriseJournal
import ReprisePhone
import RepriseTestSupport
import RepriseTesting
import Testing

@Suite("A service extension, as a real process")
struct ExtensionLiveTests {
    private static func push(_ body: String) -> String {
        #"{"aps": {"alert": {"title": "Original", "body": "\#(body)"}, "mutable-content": 1}}"#
    }

    /// Plays with an app that has a service extension.
    private static func play(
        rules: PhoneRules? = nil, _ body: (Phone) async throws -> Void
    ) async throws {
        try await ProbePhone.play(rules: rules) { phone in
            let probe = URL.sibling("PhoneProbe").path
            try await phone.install(
                PhoneAppSpec(id: "probe", executable: probe, serviceExtension: probe))
            try await body(phone)
        }
    }

    private static func title(_ phone: Phone) async throws -> String? {
        try await phone.app().delivered.first?.request.content.title
    }

    @Test(
        "an extension changes the shown content, leaves its record in the spool, and the app stays dead"
    )
    func changes() async throws {
        try await Self.play { phone in
            try await phone.push(Self.push("x"), headers: ["apns-collapse-id": "one"])
            try await phone.expects(.phone(.banner))
            #expect(try await Self.title(phone) == "Changed")
            #expect(try await phone.app().state == .notRunning)
            let spool = Spool(at: phone.folder.data(of: "probe")).folder
            let names = try FileManager.default.contentsOfDirectory(atPath: spool.path)
            #expect(names.count == 1)
            let process = try #require(
                Int32(try await phone.expects(.report("extension")).detail))
            try await eventually("the process is gone") { !isAlive(process) }
        }
    }

    @Test(
        "an extension that hangs is told before its 30 seconds are over, and its content then is shown",
        .limit("phone.extension"))
    func inTime() async throws {
        try await Self.play { phone in
            try await phone.push(Self.push("late"))
            try await phone.expects(.report("extension"))
            // What is left until it is told passes by itself: not more, however late this is.
            try await phone.advance(by: .seconds(20))
            try await phone.expects(.phone(.banner))
            #expect(try await Self.title(phone) == "In time")
        }
    }

    @Test(
        "an extension that goes on beyond its 30 seconds is killed, and the original is shown",
        .limit("phone.extension"))
    func hangs() async throws {
        try await Self.play { phone in
            try await phone.push(Self.push("hang"))
            let process = try #require(
                Int32(try await phone.expects(.report("extension")).detail))
            try await phone.advance(by: .seconds(15))
            try await phone.hasNot(.phone(.banner))
            try await phone.advance(by: .seconds(15))
            try await phone.expects(.phone(.banner))
            #expect(try await Self.title(phone) == "Original")
            try await eventually("the process is gone") { !isAlive(process) }
        }
    }

    @Test(
        "an extension crashes, is killed, or answers without a text: the original is shown",
        arguments: ["crash", "kill me", "empty"])
    func fails(body: String) async throws {
        try await Self.play { phone in
            try await phone.push(Self.push(body))
            try await phone.expects(.phone(.banner))
            #expect(try await Self.title(phone) == "Original")
        }
    }

    @Test("when the phone is switched off meanwhile, the process dies and the original is shown")
    func powerOff() async throws {
        try await Self.play { phone in
            try await phone.push(Self.push("hang"))
            let process = try #require(
                Int32(try await phone.expects(.report("extension")).detail))
            await phone.powerOff()
            try await eventually("the process is gone") { !isAlive(process) }
            try await phone.powerOn()
            try await phone.expects(.phone(.banner))
            #expect(try await Self.title(phone) == "Original")
        }
    }
}
