import Foundation
import RepriseCore
import ReprisePhone
import RepriseTestSupport
import RepriseTesting
import Testing

@Suite("A tap, with real processes")
struct TapLiveTests {
    @Test("a tap launches a dead app, which records it; only then it is completed")
    func tapFromDead() async throws {
        try await ProbePhone.play { phone in
            try await phone.push(Phone.alert)
            try await phone.expects(.phone(.banner))
            #expect(try await phone.app().badge == 3)
            try await phone.tap()
            let tap = try await phone.expects(.phone(.tapped)).detail
            try await phone.expects(.phone(.launched, "response"))
            let recorded = try await phone.expects(.report("recorded", tap))
            let completed = try await phone.expects(.phone(.completed, tap))
            #expect(recorded.number < completed.number)
            #expect(phone.tapsOnDisk == [tap])
            let app = try await phone.app()
            #expect(app.state == .foreground && app.delivered.isEmpty)
        }
    }

    @Test(
        "the tap that launches an app comes through the entrances that the rule says, each time with one id",
        arguments: PhoneRules.LaunchingTap.allCases)
    func entrances(rule: PhoneRules.LaunchingTap) async throws {
        var rules = PhoneRules()
        rules.launchingTap = rule
        try await ProbePhone.play(rules: rules) { phone in
            try await phone.push(Phone.alert)
            try await phone.tap()
            let tap = try await phone.expects(.phone(.tapped)).detail
            if rule != .delegateAlone { try await phone.expects(.report("scene", tap)) }
            if rule != .sceneAlone { try await phone.expects(.phone(.completed, tap)) }
            let scene = try await phone.numbers(of: "app.scene").first
            let delegate = try await phone.numbers(of: "app.received").first
            switch rule {
            case .delegateAlone: #expect(scene == nil)
            case .sceneAlone: #expect(delegate == nil)
            case .sceneThenDelegate: #expect(try #require(scene) < #require(delegate))
            case .delegateThenScene: #expect(try #require(delegate) < #require(scene))
            }
        }
    }

    @Test(
        "a response that an app was killed over is not completed, and comes again only where the rule says so",
        arguments: PhoneRules.UncompletedResponse.allCases)
    func killedWhileWaiting(rule: PhoneRules.UncompletedResponse) async throws {
        var rules = PhoneRules()
        rules.uncompletedResponse = rule
        try await ProbePhone.play(["--holds"], rules: rules) { phone in
            try await phone.push(Phone.alert)
            try await phone.tap()
            let tap = try await phone.expects(.report("received")).detail
            let process = try #require(try await phone.app().process)
            try await phone.kill()
            try await eventually("it is dead") { !isAlive(process) }
            try await phone.hasNot(.phone(.completed))
            try await phone.launch()
            try await phone.expects(.report("launch", "user"))
            try await phone.expects(.report("foreground"))
            switch rule {
            case .repeated: try await phone.expects(.report("received", tap))
            case .forgotten: try await phone.hasNot(.report("received"))
            }
        }
    }

    @Test("ten taps at once are ten responses, in order, to one process")
    func tenTaps() async throws {
        try await ProbePhone.play { phone in
            for number in 0..<10 {
                try await phone.push(Phone.alert, headers: ["apns-collapse-id": "n\(number)"])
            }
            for number in 0..<10 { try await phone.tap("n\(number)") }
            var taps: [String] = []
            for _ in 0..<10 { taps.append(try await phone.expects(.phone(.tapped)).detail) }
            for tap in taps { try await phone.expects(.phone(.completed, tap)) }
            #expect(try await phone.numbers(of: "launched").count == 1)
            #expect(
                try await phone.log().filter { $0.what == "app.received" }.map(\.detail) == taps)
        }
    }

    @Test(
        "an app in the foreground is asked how to show what arrives; silence is answered by the rule",
        .limit("phone.presentation"),
        arguments: PhoneRules.UnansweredPresentation.allCases)
    func foreground(rule: PhoneRules.UnansweredPresentation) async throws {
        var rules = PhoneRules()
        rules.unansweredPresentation = rule
        try await ProbePhone.play(rules: rules) { phone in
            try await phone.launch()
            try await phone.expects(.report("foreground"))
            try await phone.push(Phone.alert)
            try await phone.expects(.report("willPresent"))
            try await phone.expects(.phone(.banner))
        }
        try await ProbePhone.play(["--silent"], rules: rules) { phone in
            try await phone.launch()
            try await phone.expects(.report("foreground"))
            try await phone.push(Phone.alert)
            try await phone.expects(.report("willPresent"))
            try await phone.advance(by: .seconds(11))
            try await phone.expects(.phone(rule == .listed ? .delivered : .notPresented))
            try await phone.hasNot(.phone(.banner))
        }
    }
}
