import Foundation
import RepriseCore
import RepriseNotices
import ReprisePhone
import RepriseTestSupport
import Testing

/// Real processes of the app and the extension, a real server, real kills.
@Suite("Notices on the phone", .serialized, .timeLimit(.minutes(3)))
struct NoticesOnThePhoneTests {
    @Test("The push first and then the socket: one banner, and what it says is not said again")
    func pushThenSocket() async throws {
        try await NoticesPhone.play(hasExtension: true) { stage in
            try await stage.launch()
            try await stage.freezes()
            try await stage.publish("m1")
            try await stage.push("m1", seq: 1, badge: 1)
            try await stage.phone.expects(.phone(.banner, "m1"))
            try await stage.phone.launch()
            try await stage.phone.expects(.report("stored", "m1"))
            // What comes behind it is seen next.
            try await stage.publish("m2")
            try await stage.phone.expects(.phone(.banner, "m2"))
            try await stage.becomes(2, ["m1", "m2"])
            #expect(try await stage.banners(of: "m1") == 1)
            let first = try stage.decided()?.decided.first { $0.id == "m1" }
            #expect(first?.way == "extension" && first?.alerts == 1)
        }
    }

    @Test("The socket first and then the push, in the foreground: the push shows nothing more")
    func socketThenPush() async throws {
        try await NoticesPhone.play { stage in
            try await stage.launch()
            try await stage.publish("m1")
            try await stage.phone.expects(.phone(.banner, "m1"))
            try await stage.phone.expects(.report("willPresent"))
            try await stage.push("m1", seq: 1, badge: 1)
            let asked = try await stage.phone.expects(.report("willPresent"))
            #expect(asked.detail.hasPrefix("m1 "))
            let shown = PresentationOptions(
                rawValue: Int(asked.detail.dropFirst(3)) ?? PresentationOptions.banner.rawValue)
            #expect(shown.isDisjoint(with: [.banner, .list, .sound]))
            try await stage.becomes(1, ["m1"])
            #expect(try await stage.banners(of: "m1") == 1)
        }
    }

    @Test("Read on a second device while the banner stands: it goes, and the badge with it")
    func readElsewhere() async throws {
        try await NoticesPhone.play { stage in
            try await stage.launch()
            try await stage.phone.home()
            try await stage.publish("m1")
            try await stage.publish("m2")
            try await stage.becomes(2, ["m1", "m2"])
            try await stage.readElsewhere(through: 1)
            try await stage.becomes(1, ["m2"])
            try await stage.readElsewhere(through: 2)
            try await stage.becomes(0, [])
        }
    }

    @Test("Ten messages while the app is frozen, then it goes on: each once, and the badge is ten")
    func frozen() async throws {
        try await NoticesPhone.play { stage in
            try await stage.launch()
            try await stage.freezes()
            let ids = (0..<10).map { "m\($0)" }
            for id in ids { try await stage.publish(id) }
            #expect(try await stage.standing().isEmpty)
            try await stage.phone.launch()
            try await stage.becomes(10, ids)
            for id in ids { #expect(try await stage.banners(of: id) == 1) }
        }
    }

    @Test("Not permitted nothing is shown; permitted later, what comes then is, and the badge")
    func permission() async throws {
        try await NoticesPhone.play(permission: .denied) { stage in
            try await stage.launch()
            try await stage.publish("m1")
            try await stage.phone.expects(.report("stored", "m1"))
            try await eventually("it is decided") {
                try stage.decided()?.decided.first?.reason == "notPermitted"
            }
            try await stage.becomes(0, [])
            try await stage.phone.home()
            try await stage.phone.permit()
            try await stage.phone.launch()
            try await stage.becomes(1, [])
            try await stage.publish("m2")
            try await stage.becomes(2, ["m2"])
        }
    }

    @Test("Killed between the banner's going and the badge: the next launch sets it")
    func killedBeforeBadge() async throws {
        try await NoticesPhone.play("--die-after-changes", "2") { stage in
            try await stage.launch()
            try await stage.phone.home()
            try await stage.publish("m1")
            try await stage.becomes(1, ["m1"])
            try await stage.readElsewhere(through: 1)
            try await stage.phone.expects(.phone(.exited))
            #expect(try await stage.phone.app().badge == 1)
            #expect(try await stage.standing().isEmpty)
            try await stage.install()
            try await stage.phone.launch()
            try await stage.becomes(0, [])
            #expect(try await stage.banners(of: "m1") == 1)
        }
    }

    @Test("Killed as soon as the banner stands: the badge came with it, and nothing is shown again")
    func killedAfterBanner() async throws {
        try await NoticesPhone.play("--die-after-changes", "1") { stage in
            try await stage.launch()
            try await stage.phone.home()
            try await stage.publish("m1")
            try await stage.phone.expects(.phone(.exited))
            try await stage.becomes(1, ["m1"])
            try await stage.install()
            try await stage.launch()
            try await stage.publish("m2")
            try await stage.becomes(2, ["m1", "m2"])
            #expect(try await stage.banners(of: "m1") == 1)
            #expect(try stage.decided()?.decided.first { $0.id == "m1" }?.unconfirmed == 0)
        }
    }

    @Test("A push that was cut does not stand for the message: the log brings it in full")
    func cut() async throws {
        try await NoticesPhone.play(hasExtension: true) { stage in
            try await stage.launch()
            try await stage.dies()
            try await stage.publish("m1", "A long story with an end")
            try await stage.push("m1", seq: 1, text: "A long …", badge: 1)
            try await stage.phone.expects(.phone(.banner, "m1"))
            try await stage.phone.launch()
            try await stage.phone.expects(.report("stored", "m1"))
            try await stage.becomes(1, ["m1"])
            #expect(try await stage.banners(of: "m1") == 1)
        }
    }

    @Test("A tap on a banner of a dead app leads to its message, once")
    func tap() async throws {
        try await NoticesPhone.play { stage in
            try await stage.launch()
            try await stage.phone.home()
            try await stage.publish("m1")
            try await stage.phone.expects(.phone(.banner, "m1"))
            try await stage.dies()
            try await stage.phone.tap("m1")
            try await stage.phone.expects(.report("route", "general The message is there."))
            try await eventually("it is presented") { try stage.unpresented() == 0 }
            try await stage.dies()
            try await stage.launch()
            try await stage.publish("m2")
            try await stage.phone.expects(.phone(.banner, "m2"))
            try await stage.phone.hasNot(.report("route"))
        }
    }

    @Test(
        "A reply on a banner of an app that is dead or frozen is with the server before the system hears that it is done",
        arguments: ["dead", "frozen"])
    func reply(app: String) async throws {
        try await NoticesPhone.play { stage in
            try await stage.launch()
            try await stage.phone.home()
            try await stage.publish("m1")
            try await stage.phone.expects(.phone(.banner, "m1"))
            if app == "dead" {
                try await stage.dies()
            } else {
                try await stage.phone.advance(by: .seconds(24))
                try await stage.phone.expects(.phone(.suspended))
            }
            try await stage.phone.tap("m1", .text("reply", answer: "On my way"))
            try await stage.phone.expects(.phone(.completed))
            #expect(try await stage.history().components(separatedBy: "On my way").count == 2)
            try await stage.becomes(0, [])
            // And once: the next launch has nothing more to say.
            try await stage.dies()
            try await stage.launch()
            #expect(try await stage.history().components(separatedBy: "On my way").count == 2)
        }
    }

    @Test("\"Mark as read\" on a banner of a dead app is read on the server too")
    func markAsRead() async throws {
        try await NoticesPhone.play { stage in
            try await stage.launch()
            try await stage.phone.home()
            try await stage.publish("m1")
            try await stage.phone.expects(.phone(.banner, "m1"))
            try await stage.dies()
            try await stage.phone.tap("m1", .button("read"))
            try await stage.phone.expects(.phone(.completed))
            let positions = try await stage.server.ask(
                "/v1/channels/general/positions", as: "ada")
            #expect(positions.contains(#""read":1"#))
            try await stage.becomes(0, [])
        }
    }

    @Test(
        "A message pushed without an extension and read at once leaves no badge",
        arguments: ["dead", "frozen"], [1, 2])
    func readAtOnce(app: String, messages: Int) async throws {
        try await NoticesPhone.play { stage in
            try await stage.launch()
            if app == "dead" {
                try await stage.dies()
            } else {
                try await stage.phone.home()
                try await stage.phone.advance(by: .seconds(24))
                try await stage.phone.expects(.phone(.suspended))
            }
            for number in 1...messages {
                try await stage.publish("m\(number)")
                try await stage.push("m\(number)", seq: Int64(number), badge: Int64(number))
            }
            let rest = messages == 1 ? [] : ["m2"]
            try await stage.becomes(messages, ["m1"] + rest)
            // The read position is known before its message has come; the other one stands on.
            try await stage.phone.tap("m1", .button("read"))
            try await stage.phone.expects(.phone(.completed))
            try await stage.becomes(rest.count, rest)
            for id in rest { try await stage.phone.tap(id, .button("read")) }
            try await stage.becomes(0, [])
        }
    }
}
