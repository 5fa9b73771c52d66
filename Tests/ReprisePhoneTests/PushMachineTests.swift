import Foundation
import RepriseCore
import ReprisePhone
import Testing

@Suite("Pushes on a device")
struct PushMachineTests {
    private static let start = WallTime(milliseconds: 1_763_700_000_000)
    private static func at(_ seconds: Int) -> WallTime { start.advanced(by: .seconds(seconds)) }

    private static func push(_ aps: String, _ headers: [String: String] = [:]) throws -> RemotePush
    {
        try RemotePush(payload: Array("{\"aps\":{\(aps)}}".utf8), headers: headers)
    }
    private static func alert(_ text: String = "x") throws -> RemotePush {
        try push("\"alert\":\"\(text)\"")
    }
    private static func silent() throws -> RemotePush { try push(#""content-available":1"#) }

    private static func app(
        _ state: PushMachine.Recipient.State = .notRunning, isForceQuit: Bool = false,
        showsAlerts: Bool = true, hasExtension: Bool = true
    ) -> PushMachine.Recipient {
        .init(
            app: "a", state: state, isForceQuit: isForceQuit, showsAlerts: showsAlerts,
            hasExtension: hasExtension)
    }

    @Test(
        "an alert is shown whatever the app does, dead and force-quit included",
        arguments: [
            app(), app(.background), app(.foreground), app(.suspended), app(isForceQuit: true),
        ])
    func alert(recipient: PushMachine.Recipient) throws {
        var machine = PushMachine(device: "d")
        let push = try Self.alert()
        #expect(
            machine.arrived(
                push, for: recipient, isOnline: true, rules: PhoneRules(), now: Self.start)
                == [.present(push)])
    }

    @Test("where notifications are not allowed an alert shows nothing, but still wakes the app")
    func denied() throws {
        var machine = PushMachine(device: "d")
        let push = try Self.push(#""alert":"x","content-available":1,"mutable-content":1"#)
        #expect(
            machine.arrived(
                push, for: Self.app(showsAlerts: false), isOnline: true, rules: PhoneRules(),
                now: Self.start) == [.drop(push, .notAllowed), .wake(push)])
    }

    @Test("a badge alone needs no permission for alerts, and no extension")
    func badge() throws {
        var machine = PushMachine(device: "d")
        let push = try Self.push(#""badge":0,"mutable-content":1"#)
        #expect(
            machine.arrived(
                push, for: Self.app(showsAlerts: false), isOnline: true, rules: PhoneRules(),
                now: Self.start) == [.present(push)])
    }

    @Test(
        "a mutable alert goes to the service extension if there is one; a force-quit app's by the rule"
    )
    func extensions() throws {
        let push = try Self.push(#""alert":"x","mutable-content":1"#)
        func actions(_ recipient: PushMachine.Recipient, _ rules: PhoneRules = PhoneRules())
            -> [PushMachine.Action]
        {
            var machine = PushMachine(device: "d")
            return machine.arrived(
                push, for: recipient, isOnline: true, rules: rules, now: Self.start)
        }
        #expect(actions(Self.app()) == [.runExtension(push)])
        #expect(actions(Self.app(hasExtension: false)) == [.present(push)])
        for rule in PhoneRules.ExtensionOfForceQuitApp.allCases {
            var rules = PhoneRules()
            rules.extensionOfForceQuitApp = rule
            #expect(
                actions(Self.app(isForceQuit: true), rules)
                    == [rule == .runs ? .runExtension(push) : .present(push)])
        }
    }

    @Test(
        "a background push wakes a dead, suspended or running app, but never one that was force-quit"
    )
    func silent() throws {
        let push = try Self.silent()
        for state in [
            PushMachine.Recipient.State.notRunning, .background, .foreground, .suspended,
        ] {
            var machine = PushMachine(device: "d")
            #expect(
                machine.arrived(
                    push, for: Self.app(state), isOnline: true, rules: PhoneRules(), now: Self.start
                ) == [.wake(push)])
        }
        var machine = PushMachine(device: "d")
        #expect(
            machine.arrived(
                push, for: Self.app(isForceQuit: true), isOnline: true, rules: PhoneRules(),
                now: Self.start) == [.drop(push, .forceQuit)])
        #expect(machine.userOpened("a").isEmpty)
    }

    @Test("beyond the budget of an hour the newest is held, and handed over when the hour is over")
    func throttled() throws {
        var machine = PushMachine(device: "d")
        let rules = PhoneRules()
        for second in 0..<3 {
            let push = try Self.silent()
            #expect(
                machine.arrived(
                    push, for: Self.app(), isOnline: true, rules: rules, now: Self.at(second))
                    == [.wake(push)])
        }
        let (fourth, fifth) = (try Self.silent(), try Self.silent())
        #expect(
            machine.arrived(fourth, for: Self.app(), isOnline: true, rules: rules, now: Self.at(9))
                == [.keep(fourth, .throttled)])
        #expect(
            machine.arrived(fifth, for: Self.app(), isOnline: true, rules: rules, now: Self.at(10))
                == [.drop(fourth, .replaced), .keep(fifth, .throttled)])
        #expect(machine.due() == Self.at(3_600))
        #expect(machine.released(rules: rules, now: Self.at(3_599)).isEmpty)
        #expect(machine.released(rules: rules, now: Self.at(3_600)).map(\.1) == [fifth])
        #expect(machine.due() == nil)
    }

    @Test(
        "what is held is handed over when the user opens the app, and discarded when the app ends")
    func held() throws {
        var rules = PhoneRules()
        rules.silentPushesPerHour = 0
        let push = try Self.silent()
        var machine = PushMachine(device: "d")
        _ = machine.arrived(push, for: Self.app(), isOnline: true, rules: rules, now: Self.start)
        var other = machine
        #expect(machine.userOpened("a") == [.wake(push)])
        #expect(machine.userOpened("a").isEmpty)
        #expect(other.appEnded("a") == [.drop(push, .appEnded)])
        #expect(other.userOpened("a").isEmpty)
    }

    @Test("an app in the foreground is not throttled, or it is: by the rule")
    func foreground() throws {
        for rule in PhoneRules.SilentInForeground.allCases {
            var rules = PhoneRules()
            rules.silentInForeground = rule
            rules.silentPushesPerHour = 0
            let push = try Self.silent()
            var machine = PushMachine(device: "d")
            #expect(
                machine.arrived(
                    push, for: Self.app(.foreground), isOnline: true, rules: rules, now: Self.start)
                    == [rule == .free ? .wake(push) : .keep(push, .throttled)])
        }
    }

    @Test("setting the calendar back does not lock an app out of its budget")
    func clockBack() throws {
        var machine = PushMachine(device: "d")
        for _ in 0..<3 {
            _ = machine.arrived(
                try Self.silent(), for: Self.app(), isOnline: true, rules: PhoneRules(),
                now: Self.at(86_400))
        }
        let push = try Self.silent()
        #expect(
            machine.arrived(
                push, for: Self.app(), isOnline: true, rules: PhoneRules(), now: Self.start)
                == [.wake(push)])
    }

    @Test("offline one push is stored for each app: the newest, or the first by the rule")
    func offline() throws {
        for rule in PhoneRules.StoredPush.allCases {
            var rules = PhoneRules()
            rules.storedPush = rule
            var machine = PushMachine(device: "d")
            let pushes = try ["1", "2", "3"].map(Self.alert)
            for (second, push) in pushes.enumerated() {
                _ = machine.arrived(
                    push, for: Self.app(), isOnline: false, rules: rules, now: Self.at(second))
            }
            let copy = try JSONDecoder().decode(
                PushMachine.self, from: JSONEncoder().encode(machine))
            #expect(copy == machine)
            let kept = rule == .newest ? pushes[2] : pushes[0]
            #expect(machine.wentOnline(now: Self.at(60)).fresh.map(\.1) == [kept])
            #expect(machine.wentOnline(now: Self.at(60)).fresh.isEmpty)
        }
    }

    @Test(
        "a stored push is worth nothing after its expiration, and 0 is never stored",
        arguments: [("0", false), ("1763700030", false), ("1763700090", true)])
    func expiration(header: String, arrives: Bool) throws {
        var machine = PushMachine(device: "d")
        let push = try Self.push(#""alert":"x""#, ["apns-expiration": header])
        let actions = machine.arrived(
            push, for: Self.app(), isOnline: false, rules: PhoneRules(), now: Self.start)
        #expect(
            actions == (header == "0" ? [.drop(push, .expired)] : [.keep(push, .storedOffline)]))
        let online = machine.wentOnline(now: Self.at(60))
        #expect(online.fresh.map(\.1) == (arrives ? [push] : []))
        #expect(online.expired.count == (!arrives && header != "0" ? 1 : 0))
    }

    @Test("a push without expiration is stored for thirty days")
    func thirtyDays() throws {
        for (days, count) in [(29, 1), (30, 0)] {
            var machine = PushMachine(device: "d")
            _ = machine.arrived(
                try Self.alert(), for: Self.app(), isOnline: false, rules: PhoneRules(),
                now: Self.start)
            #expect(machine.wentOnline(now: Self.at(days * 86_400)).fresh.count == count)
        }
    }

    @Test("tokens differ by app and by device, and look like APNs' own")
    func tokens() {
        let machine = PushMachine(device: "d")
        let tokens = [
            machine.token(of: "a"), machine.token(of: "b"), PushMachine(device: "e").token(of: "a"),
        ]
        #expect(Set(tokens).count == 3)
        #expect(machine.token(of: "a") == tokens[0])
        for token in tokens {
            #expect(token.count == 64)
            #expect(token.allSatisfy { $0.isHexDigit })
        }
    }
}
