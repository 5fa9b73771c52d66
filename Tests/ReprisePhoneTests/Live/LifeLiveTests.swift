import Foundation
import RepriseCore
import ReprisePhone
import RepriseTestSupport
import RepriseTesting
import Testing

@Suite("The life of an app, with real processes")
struct LifeLiveTests {
    @Test(
        "an app that goes home is given time, is suspended when it is done, and runs no code until it is opened"
    )
    func suspension() async throws {
        try await ProbePhone.play(["--beats"]) { phone in
            try await phone.launch()
            try await phone.expects(.report("beat"))
            let process = try #require(try await phone.app().process)
            try await phone.home()
            try await phone.expects(.report("background", "25000"))
            let suspended = try await phone.expects(.phone(.suspended, "nothing is left to do"))
            // What it had said before the stop may come in a little later; then there is nothing
            // for a while.
            var beats = try await phone.numbers(of: "app.beat").count
            for _ in 0..<20 {
                try await Task.sleep(for: .milliseconds(500))
                let now = try await phone.numbers(of: "app.beat").count
                if now == beats { break }
                beats = now
            }
            try await Task.sleep(for: .milliseconds(200))
            #expect(try await phone.numbers(of: "app.beat").count == beats)
            #expect(try await phone.app().state == .suspended)
            try await phone.launch()
            try await phone.expects(.phone(.resumed))
            try await phone.expects(
                PhoneExpectation("a beat after") {
                    $0.what == "app.beat" && $0.number > suspended.number + 5
                })
            #expect(try await phone.app().process == process)
        }
    }

    @Test(
        "an app that overruns its time in the background is treated as the rule says",
        arguments: PhoneRules.BackgroundOverrun.allCases)
    func overrun(rule: PhoneRules.BackgroundOverrun) async throws {
        var rules = PhoneRules()
        rules.backgroundOverrun = rule
        try await ProbePhone.play(["--overruns"], rules: rules) { phone in
            try await phone.launch()
            try await phone.expects(.report("foreground"))
            try await phone.home()
            try await phone.expects(.report("background"))
            try await phone.advance(by: .seconds(15))
            #expect(try await phone.app().state == .background)
            // At once, so that its adapter does not end the task in time.
            try await phone.advance(by: .seconds(16))
            let app = try await phone.app()
            switch rule {
            case .terminated: #expect(app.state == .notRunning && app.process == nil)
            case .suspended: #expect(app.state == .suspended && app.process != nil)
            }
        }
    }

    @Test("a timer that is due soon after the clock was moved fires soon after")
    func moved() async throws {
        try await ProbePhone.play(["--overruns"]) { phone in
            try await phone.launch()
            try await phone.expects(.report("foreground"))
            try await phone.home()
            try await phone.expects(.report("background"))
            try await phone.advance(by: .seconds(24))
            try await phone.expects(.phone(.backgroundExpires))
        }
    }

    @Test("a force-quit app gets no background launch until the user opens it")
    func forceQuit() async throws {
        let calls = [AppCall.submit(BackgroundRequest(id: "t", kind: .refresh))]
        try await ProbePhone.play(calls: calls, tasks: ["t"]) { phone in
            try await phone.launch()
            try await phone.expects(.phone(.submitted, "t"))
            try await phone.forceQuit()
            try await phone.pushSilently()
            try await phone.expects(.phone(.pushDropped))
            await expectError(.refused) { try await phone.runBackground("t") }
            #expect(try await phone.app().state == .notRunning)
            try await phone.launch()
            try await phone.kill()
            try await phone.pushSilently()
            try await phone.expects(.phone(.connected, "push"))
            try await phone.expects(.phone(.pushCompleted))
            try await phone.expects(.phone(.suspended))
        }
    }

    @Test(
        "a task runs in a launched process, is completed once, and one that hangs is expired and terminated"
    )
    func tasks() async throws {
        let request = BackgroundRequest(
            id: "t", kind: .processing(needsNetwork: true, needsPower: false))
        try await ProbePhone.play(calls: [.submit(request), .tasks], tasks: ["t"]) { phone in
            try await phone.launch()
            try await phone.expects(.report("called", "t"))
            try await phone.kill()
            try await phone.runBackground("t")
            try await phone.expects(.phone(.connected, "task t"))
            try await phone.expects(.phone(.taskCompleted, "t success"))
            try await phone.expects(.phone(.suspended))
            #expect(try await phone.numbers(of: "taskCompleted").count == 1)
        }
        try await ProbePhone.play(["--hangs"], calls: [.submit(request)], tasks: ["t"]) { phone in
            try await phone.launch()
            try await phone.expects(.phone(.submitted))
            try await phone.kill()
            try await phone.runBackground("t")
            try await phone.expects(.report("task"))
            try await phone.expireBackground()
            try await phone.expects(.report("taskExpired", "t"))
            try await phone.advance(by: .seconds(6))
            try await phone.expects(.phone(.terminated, "the task t was not completed in time"))
        }
    }

    @Test("memory pressure notifies running apps and ends suspended ones; a crash is an end")
    func memoryAndCrash() async throws {
        try await ProbePhone.play { phone in
            try await phone.launch()
            try await phone.expects(.report("foreground"))
            try await phone.memoryPressure()
            try await phone.expects(.report("memoryPressure"))
            try await phone.suspend()
            try await phone.memoryPressure()
            try await phone.expects(.phone(.terminated, "memory"))
        }
        try await ProbePhone.play(["--crashes"]) { phone in
            try await phone.launch()
            let end = try await phone.expects(.phone(.exited, "status 7"))
            // All that it said before its end is heard, and before its end is told.
            let last = try await phone.numbers(of: "app.last")
            #expect(last.count == 500 && last.allSatisfy { $0 < end.number })
            #expect(try await phone.app().state == .notRunning)
        }
    }

    @Test("the clock and the network of an app are the phone's; a push waits for the network")
    func clockAndNetwork() async throws {
        try await ProbePhone.play { phone in
            try await phone.launch()
            try await phone.expects(.report("path", "true"))
            try await phone.kill()
            try await phone.offline()
            try await phone.push(Phone.alert)
            try await phone.expects(.phone(.pushKept))
            #expect(try await phone.app().delivered.isEmpty)
            try await phone.launch()
            try await phone.expects(.report("path", "false"))
            try await phone.expects(.report("foreground"))
            try await phone.home()
            try await phone.expects(.phone(.suspended))
            try await phone.online()
            try await phone.expects(.phone(.delivered))
        }
    }

    @Test("a phone starts one browser, for the first app that asks")
    func browser() async throws {
        try await ProbePhone.play(calls: [.browser, .browser]) { phone in
            try await phone.launch()
            let first = try await phone.expects(.report("called")).detail
            #expect(first.hasPrefix("ws://127.0.0.1:"))
            try await phone.expects(.report("called", first))
        }
    }
}
