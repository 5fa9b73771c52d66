import Foundation
import RepriseCore
import ReprisePhone
import RepriseTestSupport
import Testing

/// With real processes: what an app's adapters make of the rules that reports tell of.
@Suite("An app under rules that reports tell of, with real processes")
struct ReportedLiveTests {
    @Test("a request that an app has removed stays removed though the app is suspended at once")
    func removal() async throws {
        let calls: [AppCall] = [.add(request("x", after: 1_000)), .removePending(["x"])]
        try await ProbePhone.play(calls: calls) { phone in
            try await phone.launch()
            for _ in calls { try await phone.expects(.report("called", "done")) }
            try await phone.suspend()
            #expect(try await phone.app().pending.isEmpty)
        }
    }

    @Test("a second registration of a background task is refused in the app, and does not end it")
    func registration() async throws {
        try await ProbePhone.play(calls: [.register("t"), .register("t"), .tasks], tasks: ["t"]) {
            phone in
            try await phone.launch()
            try await phone.expects(.report("called", "done"))
            try await phone.expects(.report("refused", "badConfiguration"))
            try await phone.expects(.report("called", ""))
            #expect(try await phone.app().state == .foreground)
        }
    }

    @Test(
        "an app that was told no number uses at most 25 s, and is suspended when its 15 s are over")
    func backgroundTime() async throws {
        var rules = PhoneRules()
        rules.backgroundTimeOnEntry = .unlimited
        rules.backgroundSeconds = 15
        try await ProbePhone.play(["--overruns"], rules: rules) { phone in
            try await phone.launch()
            try await phone.expects(.report("foreground"))
            try await phone.home()
            try await phone.expects(.report("background", "25000"))
            try await phone.advance(by: .milliseconds(12_010))
            try await phone.expects(.report("background", "0"))
            try await phone.expects(.phone(.suspended, "nothing is left to do"))
            try await phone.hasNot(.phone(.terminated))
        }
    }

    @Test(
        "an app learns once that its transfers are done, wherever their events end",
        arguments: PhoneRules.TransferEventsEnd.allCases)
    func transfersDone(rule: PhoneRules.TransferEventsEnd) async throws {
        let server = try await OddServer(OddServer.honest(Array("photo".utf8), cut: 2, holds: true))
        var rules = PhoneRules()
        rules.transferEventsEnd = rule
        let call = AppCall.startTransfer(
            TransferRequest(id: "t", direction: .download, url: server.url("/file")))
        try await ProbePhone.play(calls: [call], rules: rules) { phone in
            try await phone.launch()
            try await phone.expects(.report("called", "done"))
            try await phone.kill()
            server.answers(OddServer.honest(Array("photo".utf8)))
            try await phone.offline()
            try await phone.online()
            try await phone.expects(.phone(.connected, "transfers"))
            let told = try await phone.expects(.report("transfersDone"))
            #expect(told.detail.hasPrefix("t finished") && told.detail.hasSuffix(" 5"))
            try await phone.expects(.phone(.suspended))
            #expect(try await phone.numbers(of: "app.transfersDone").count == 1)
        }
    }
}
