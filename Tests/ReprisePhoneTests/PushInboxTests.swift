import Foundation
import RepriseCore
import ReprisePhone
import RepriseTestSupport
import Testing

@Suite("Pushes on a device")
struct PushInboxTests {
    private static func at(_ seconds: Int64) -> PhoneMoment {
        PhoneMoment(
            wall: WallTime(milliseconds: 1_763_700_000_000 + seconds * 1_000),
            microseconds: seconds * 1_000_000)
    }
    private static func push(_ aps: String, _ headers: [String: String] = [:]) throws -> PhonePush {
        try PhonePush(payload: Array("{\"aps\":{\(aps)}}".utf8), headers: headers)
    }
    private static func alert(_ text: String = "x") throws -> PhonePush {
        try push("\"alert\":\"\(text)\"")
    }
    private static func silent(_ number: Int = 0) throws -> PhonePush {
        try PhonePush(
            payload: Array("{\"aps\":{\"content-available\":1},\"n\":\(number)}".utf8))
    }
    private static func actions(
        _ push: PhonePush, _ recipient: PushInbox.Recipient, _ rules: PhoneRules = PhoneRules()
    ) -> [PushInbox.Action] {
        var inbox = PushInbox()
        return inbox.arrived(push, for: recipient, isOnline: true, rules: rules, at: at(0))
    }

    @Test("an alert is shown whatever the app does, and also if it was force-quit")
    func alert() throws {
        let push = try Self.alert()
        for recipient in [
            PushInbox.Recipient(), .init(isForeground: true), .init(isForceQuit: true),
            .init(hasExtension: true),
        ] {
            #expect(Self.actions(push, recipient) == [.present(push)])
        }
    }

    @Test("an alert without permission shows nothing, but still wakes the app")
    func denied() throws {
        let push = try Self.push(#""alert":"x","content-available":1,"mutable-content":1"#)
        #expect(
            Self.actions(push, .init(isAllowed: false, hasExtension: true))
                == [.drop(push, .notAllowed), .wake(push)])
        #expect(
            Self.actions(push, .init(isForceQuit: true))
                == [.present(push), .drop(push, .forceQuit)])
    }

    @Test("a badge alone shows nothing and runs no extension")
    func badge() throws {
        let push = try Self.push(#""badge":0,"mutable-content":1"#)
        #expect(Self.actions(push, .init(isAllowed: false, hasExtension: true)) == [.badge(0)])
    }

    @Test("a mutable alert goes to the service extension if there is one")
    func extensions() throws {
        let push = try Self.push(#""alert":"x","mutable-content":1"#)
        #expect(Self.actions(push, .init(hasExtension: true)) == [.runExtension(push)])
        #expect(Self.actions(push, .init()) == [.present(push)])
        let heard = try Self.push(#""sound":"x","mutable-content":1"#)
        #expect(Self.actions(heard, .init(hasExtension: true)) == [.present(heard)])
    }

    @Test(
        "the extension of a force-quit app runs, or it does not: by the rule",
        arguments: PhoneRules.ExtensionOfForceQuitApp.allCases)
    func forceQuitExtension(rule: PhoneRules.ExtensionOfForceQuitApp) throws {
        var rules = PhoneRules()
        rules.extensionOfForceQuitApp = rule
        let push = try Self.push(#""alert":"x","mutable-content":1"#)
        #expect(
            Self.actions(push, .init(isForceQuit: true, hasExtension: true), rules)
                == [rule == .runs ? .runExtension(push) : .present(push)])
    }

    @Test("a background push wakes the app, but never one that was force-quit, not even later")
    func silent() throws {
        let push = try Self.silent()
        #expect(Self.actions(push, .init()) == [.wake(push)])
        var inbox = PushInbox()
        #expect(
            inbox.arrived(
                push, for: .init(isForceQuit: true), isOnline: true, rules: PhoneRules(),
                at: Self.at(0)) == [.drop(push, .forceQuit)])
        #expect(inbox.userOpened().isEmpty)
    }

    @Test("a push without content does nothing, and the inbox reports it")
    func empty() throws {
        let push = try Self.push("")
        #expect(Self.actions(push, .init()) == [.drop(push, .empty)])
    }

    @Test(
        "beyond the budget of an hour the newest is held, and delivered when there is room",
        .limit("phone.storedPushes", "phone.background"))
    func throttled() throws {
        var inbox = PushInbox()
        let rules = PhoneRules()
        let pushes = try (0..<5).map(Self.silent)
        for second in 0..<3 {
            #expect(
                inbox.arrived(
                    pushes[second], for: .init(), isOnline: true, rules: rules,
                    at: Self.at(Int64(second))) == [.wake(pushes[second])])
        }
        #expect(inbox.due == nil)
        #expect(
            inbox.arrived(pushes[3], for: .init(), isOnline: true, rules: rules, at: Self.at(9))
                == [.keep(pushes[3], .throttled)])
        #expect(
            inbox.arrived(pushes[4], for: .init(), isOnline: true, rules: rules, at: Self.at(10))
                == [.drop(pushes[3], .replaced), .keep(pushes[4], .throttled)])
        #expect(inbox.due == 3_600_000_000)
        #expect(inbox.timePassed(rules: rules, at: Self.at(3_599)).isEmpty)
        #expect(inbox.timePassed(rules: rules, at: Self.at(3_600)) == [.wake(pushes[4])])
        #expect(inbox.timePassed(rules: rules, at: Self.at(7_200)).isEmpty)
    }

    @Test("a held push is delivered when the user opens the app, and discarded when the app ends")
    func held() throws {
        var rules = PhoneRules()
        rules.silentPushesPerHour = 0
        let push = try Self.silent()
        var inbox = PushInbox()
        _ = inbox.arrived(push, for: .init(), isOnline: true, rules: rules, at: Self.at(0))
        #expect(inbox.due == nil)
        var other = inbox
        #expect(inbox.userOpened() == [.wake(push)])
        #expect(inbox.userOpened().isEmpty)
        #expect(other.appEnded() == [.drop(push, .appEnded)])
        #expect(other.userOpened().isEmpty)
    }

    @Test(
        "when the hour has room again a held push is delivered, or waits for the user, by the rule",
        arguments: PhoneRules.HeldPush.allCases)
    func heldLater(rule: PhoneRules.HeldPush) throws {
        var rules = PhoneRules()
        rules.heldPush = rule
        rules.silentPushesPerHour = 1
        var inbox = PushInbox()
        let pushes = try (0..<2).map(Self.silent)
        for push in pushes {
            _ = inbox.arrived(push, for: .init(), isOnline: true, rules: rules, at: Self.at(0))
        }
        let later = inbox.timePassed(rules: rules, at: Self.at(3_600))
        #expect(later == (rule == .dispatched ? [.wake(pushes[1])] : []))
        #expect(inbox.userOpened() == (rule == .dispatched ? [] : [.wake(pushes[1])]))
    }

    @Test(
        "an alert that also wakes the app is shown, and counts as a background push or not, by the rule",
        arguments: PhoneRules.AlertsThatWake.allCases)
    func alertThatWakes(rule: PhoneRules.AlertsThatWake) throws {
        var rules = PhoneRules()
        rules.alertsThatWake = rule
        rules.silentPushesPerHour = 0
        let push = try Self.push(#""alert":"x","content-available":1"#)
        #expect(
            Self.actions(push, .init(), rules)
                == [.present(push), rule == .free ? .wake(push) : .keep(push, .throttled)])
        #expect(
            Self.actions(push, .init(isForceQuit: true), rules)
                == [.present(push), .drop(push, .forceQuit)])
    }

    @Test(
        "in the foreground background pushes are free, or they count: by the rule",
        arguments: PhoneRules.SilentInForeground.allCases)
    func foreground(rule: PhoneRules.SilentInForeground) throws {
        var rules = PhoneRules()
        rules.silentInForeground = rule
        rules.silentPushesPerHour = 0
        let push = try Self.silent()
        #expect(
            Self.actions(push, .init(isForeground: true), rules)
                == [rule == .free ? .wake(push) : .keep(push, .throttled)])
    }

    @Test(
        "while the device is offline one push is stored: the newest, or the first by the rule",
        .limit("phone.storedPushes"),
        arguments: PhoneRules.StoredPush.allCases)
    func offline(rule: PhoneRules.StoredPush) throws {
        var rules = PhoneRules()
        rules.storedPush = rule
        var inbox = PushInbox()
        let pushes = try ["1", "2", "3"].map(Self.alert)
        for (second, push) in pushes.enumerated() {
            _ = inbox.arrived(
                push, for: .init(), isOnline: false, rules: rules, at: Self.at(Int64(second)))
        }
        var copy = try JSONDecoder().decode(PushInbox.self, from: JSONEncoder().encode(inbox))
        #expect(copy == inbox)
        let kept = rule == .newest ? pushes[2] : pushes[0]
        #expect(copy.wentOnline(for: .init(), rules: rules, at: Self.at(60)) == [.present(kept)])
        #expect(copy.wentOnline(for: .init(), rules: rules, at: Self.at(60)).isEmpty)
    }

    @Test(
        "a stored push is worth nothing after its expiration, and with 0 it is never stored",
        arguments: [("0", false), ("1763700030", false), ("1763700090", true)])
    func expiration(header: String, arrives: Bool) throws {
        var inbox = PushInbox()
        let push = try Self.push(#""alert":"x""#, ["apns-expiration": header])
        let actions = inbox.arrived(
            push, for: .init(), isOnline: false, rules: PhoneRules(), at: Self.at(0))
        #expect(
            actions == (header == "0" ? [.drop(push, .expired)] : [.keep(push, .storedOffline)]))
        let online = inbox.wentOnline(for: .init(), rules: PhoneRules(), at: Self.at(60))
        #expect(
            online
                == (arrives ? [.present(push)] : header == "0" ? [] : [.drop(push, .expired)]))
    }

    @Test("a push that expires at once reaches a device that is online")
    func immediate() throws {
        let push = try Self.push(#""alert":"x""#, ["apns-expiration": "0"])
        #expect(Self.actions(push, .init()) == [.present(push)])
    }

    @Test(
        "a push without expiration is stored for thirty days", .limit("phone.storedPush"),
        arguments: [(29, 1), (30, 0)])
    func thirtyDays(days: Int64, count: Int) throws {
        var inbox = PushInbox()
        let push = try Self.alert()
        _ = inbox.arrived(
            push, for: .init(), isOnline: false, rules: PhoneRules(), at: Self.at(0))
        let online = inbox.wentOnline(
            for: .init(), rules: PhoneRules(), at: Self.at(days * 86_400))
        #expect(online == (count == 1 ? [.present(push)] : [.drop(push, .expired)]))
    }
}
