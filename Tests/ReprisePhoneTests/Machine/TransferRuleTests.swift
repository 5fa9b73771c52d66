import Foundation
import RepriseCore
import ReprisePhone
import RepriseTestSupport
import Testing

@Suite("Rules of transfers in the background, and of power")
struct TransferRuleTests {
    static let ok = Transfer.State.finished(
        HTTPHead(status: 200, headers: [:]), file: URL(fileURLWithPath: "/phone/transfers/1"))

    @Test("a transfer that ends while the app runs is reported at once, and wakes no app")
    func told() throws {
        var bench = try PhoneBench()
        try bench.open()
        bench.download("a")
        bench.end("a", Self.ok)
        #expect(bench.toldTransfers == ["a finished 200"])
        #expect(!bench.orders.contains(.transfersDone))
        #expect(bench.call(.transfers) == .transfers([bench.transfer("a")].compactMap(\.self)))
    }

    @Test("the app is launched when all of its transfers are done, not before, and once")
    func launched() throws {
        var bench = try PhoneBench()
        try bench.open()
        bench.download("a")
        bench.download("b")
        try bench.command(.kill(app: nil))
        bench.end("a", Self.ok)
        #expect(bench.phase == nil)
        bench.end("b", .failed("no such host"))
        let launch = bench.connect()
        #expect(launch?.reason == .transfers && launch?.isForeground == false)
        #expect(bench.orders.filter { $0 == .transfersDone }.count == 1)
        bench.finish()
        #expect(bench.happened(.suspended) == ["nothing is left to do"])
        #expect(bench.toldTransfers.isEmpty, "a new process asks for what is there")
    }

    @Test(
        "a suspended app gets the ends of its transfers when it runs again, and is resumed when all have ended"
    )
    func suspended() throws {
        var bench = try PhoneBench()
        try bench.open()
        bench.download("a")
        bench.download("b")
        try bench.command(.suspend(app: nil))
        bench.end("a", Self.ok)
        #expect(bench.phase == .suspended(wasForeground: true) && bench.toldTransfers.isEmpty)
        try bench.command(.resume(app: nil))
        #expect(bench.toldTransfers == ["a finished 200"])
        try bench.command(.suspend(app: nil))
        bench.end("b", Self.ok)
        #expect(bench.happened(.resumed).count == 2)
        #expect(bench.toldTransfers == ["a finished 200", "b finished 200"])
        #expect(bench.orders.suffix(2) == [.transfersDone, .transferEventsEnded])
    }

    @Test("a force-quit app's transfers are cancelled, and it is not launched for them")
    func forceQuit() throws {
        var bench = try PhoneBench()
        try bench.open()
        bench.download("a")
        bench.download("b")
        bench.end("a", Self.ok)
        try bench.command(.forceQuit(app: nil))
        #expect(bench.transfer("b")?.state == .cancelled)
        #expect(bench.transfer("a")?.state == Self.ok, "what was done stays done")
        #expect(bench.running.isEmpty && bench.phase == nil)
        bench.end("b", Self.ok)
        #expect(
            bench.transfer("b")?.state == .cancelled, "an attempt that was stopped is not heard")
        try bench.open()
        #expect(bench.happened(.launched) == ["user", "user"])
    }

    @Test(
        "offline a transfer waits, and goes on by itself; one that needs it waits for a network that is not metered"
    )
    func network() throws {
        var bench = try PhoneBench()
        try bench.open()
        try bench.command(.offline)
        bench.download("a")
        bench.download("b", needsUnmetered: true)
        #expect(bench.running.isEmpty)
        try bench.command(.metered(true))
        try bench.command(.online)
        #expect(bench.running == ["a"])
        try bench.command(.metered(false))
        #expect(bench.running == ["a", "b"])
        try bench.command(.metered(true))
        #expect(bench.running == ["a"])
        #expect(bench.happened(.transferWaits) == ["b: the network is metered"])
        try bench.command(.offline)
        #expect(bench.running.isEmpty)
    }

    @Test(
        "a transfer that is too slow is tried again, with pauses that grow, and given up after seven days",
        .limit("phone.transferIdle", "phone.transferWaits", "phone.transferTime"),
        arguments: [1, 45, 300])
    func timeouts(first: Int) throws {
        var rules = PhoneRules()
        rules.transferRetrySeconds = first
        var bench = try PhoneBench(rules: rules)
        try bench.open()
        bench.download("a")
        var pauses: [Double] = []
        for _ in 0..<12 {
            bench.attempt("a", .timedOut)
            #expect(bench.running.isEmpty)
            let due = try #require(bench.machine.nextDue(from: bench.now))
            pauses.append(Double(due - bench.now.microseconds) / 1e6)
            bench.pass(pauses.last ?? 0)
            #expect(bench.running == ["a"])
        }
        let expected = (0..<12).map { min(Double(first << $0), 300) }
        #expect(pauses == expected)
        bench.pass(604_800)
        #expect(bench.transfer("a")?.state == .failed("it was not done within seven days"))
    }

    @Test(
        "a connection that is lost is tried again or has failed, by the rule; a network that comes ends the pause",
        arguments: PhoneRules.LostTransfer.allCases)
    func lost(rule: PhoneRules.LostTransfer) throws {
        var rules = PhoneRules()
        rules.lostTransfer = rule
        var bench = try PhoneBench(rules: rules)
        try bench.open()
        bench.download("a")
        bench.attempt("a", .lost("no answer"))
        switch rule {
        case .failed: #expect(bench.transfer("a")?.state == .failed("no answer"))
        case .retried:
            #expect(bench.transfer("a")?.state == .running && bench.running.isEmpty)
            try bench.command(.offline)
            try bench.command(.online)
            #expect(bench.running == ["a"])
        }
    }

    @Test(
        "after a restart of the device a transfer goes on or is gone, by the rule; what was done is there",
        arguments: PhoneRules.AcrossRestart.allCases)
    func restart(rule: PhoneRules.AcrossRestart) throws {
        var rules = PhoneRules()
        rules.transfersAcrossRestart = rule
        var bench = try PhoneBench(rules: rules)
        try bench.open()
        bench.download("a")
        bench.download("b")
        bench.end("a", Self.ok)
        bench.restart(after: 60)
        #expect(bench.transfer("a")?.state == Self.ok)
        #expect(bench.transfer("b")?.state == (rule == .kept ? .running : nil))
        #expect(bench.running == (rule == .kept ? ["b"] : []))
    }

    @Test("an app whose transfers ended just before the power was gone is launched when it is back")
    func restartAfterEnd() throws {
        var bench = try PhoneBench()
        try bench.open()
        bench.download("a")
        try bench.command(.kill(app: nil))
        bench.end("a", Self.ok)
        #expect(bench.phase != nil)
        bench.restart()
        #expect(bench.connect()?.reason == .transfers)
        #expect(bench.orders.contains(.transfersDone))
    }

    @Test(
        "a transfer that was started in the background runs when the system likes, by the rule",
        arguments: PhoneRules.DiscretionaryTransfers.allCases)
    func discretionary(rule: PhoneRules.DiscretionaryTransfers) throws {
        var rules = PhoneRules()
        rules.discretionaryTransfers = rule
        var bench = try PhoneBench(rules: rules)
        try bench.open()
        try bench.command(.unplug)
        bench.download("seen")
        try bench.command(.home)
        bench.download("unseen")
        #expect(bench.running == (rule == .atOnce ? ["seen", "unseen"] : ["seen"]))
        try bench.command(.plug)
        #expect(bench.running == ["seen", "unseen"])
    }

    @Test(
        "a transfer with the same id is ignored; a cancelled one is reported later; a forgotten one is gone",
        .limit("phone.cancellation"))
    func ids() throws {
        var bench = try PhoneBench()
        try bench.open()
        bench.download("a")
        bench.download("a")
        #expect(bench.running == ["a"] && bench.happened(.transferStarted) == ["a"])
        #expect(bench.call(.cancelTransfer("a")) == .done)
        #expect(bench.call(.cancelTransfer("a")) == .done)
        #expect(bench.running.isEmpty && bench.transfer("a")?.state == .running)
        bench.end("a", Self.ok)
        bench.pass(0.09)
        #expect(bench.toldTransfers.isEmpty)
        bench.pass(0.01)
        #expect(bench.toldTransfers == ["a cancelled"] && bench.running.isEmpty)
        #expect(bench.call(.forgetTransfer("a")) == .done)
        #expect(bench.transfer("a") == nil)
        bench.download("a")
        #expect(bench.running == ["a"])
    }

    @Test("of a cancelled transfer that is forgotten nothing is reported, nor of a later one")
    func forgottenWhileCancelled() throws {
        var bench = try PhoneBench()
        try bench.open()
        bench.download("a")
        bench.call(.cancelTransfer("a"))
        bench.call(.forgetTransfer("a"))
        #expect(bench.transfer("a") == nil)
        bench.download("a")
        bench.pass(1)
        #expect(bench.toldTransfers.isEmpty && bench.running == ["a"])
    }

    @Test(
        "no more than the system bears, and nothing that it would not take",
        .limit("phone.transfers", "phone.concurrentTransfers"),
        arguments: [
            TransferRequest(id: "", direction: .download, url: "http://a/"),
            TransferRequest(
                id: String(repeating: "i", count: 129), direction: .download, url: "http://a/"),
            TransferRequest(id: "f", direction: .download, url: "file:///etc/passwd"),
            TransferRequest(id: "h", direction: .download, url: "http://"),
            TransferRequest(
                id: "l", direction: .download,
                url: "http://a/" + String(repeating: "x", count: 20_000)),
            TransferRequest(
                id: "u", direction: .upload(file: URL(string: "http://a/b") ?? URL(filePath: "/")),
                url: "http://a/"),
        ])
    func refused(request: TransferRequest) throws {
        var bench = try PhoneBench()
        try bench.open()
        #expect(bench.call(.startTransfer(request))?.code == "refused")
        for number in 0..<256 { bench.download("\(number)") }
        #expect(bench.running.count == 8)
        let more = TransferRequest(id: "more", direction: .download, url: "http://a/")
        #expect(bench.call(.startTransfer(more))?.code == "full")
    }

    @Test("an app that is taken away takes its transfers along")
    func uninstalled() throws {
        var bench = try PhoneBench()
        try bench.open()
        bench.download("a")
        try bench.command(.uninstall(app: nil))
        #expect(bench.running.isEmpty)
        #expect(bench.actions.contains { if case .removeTransfer = $0 { true } else { false } })
    }

    @Test(
        "a processing task that needs power does not run without; when power goes it ends, by the rule",
        arguments: PhoneRules.TaskConditionLost.allCases)
    func power(rule: PhoneRules.TaskConditionLost) throws {
        var rules = PhoneRules()
        rules.taskConditionLost = rule
        var bench = try PhoneBench(rules: rules, tasks: ["t"])
        try bench.open()
        let kind = BackgroundRequest.Kind.processing(needsNetwork: false, needsPower: true)
        bench.call(.submit(BackgroundRequest(id: "t", kind: kind)))
        try bench.command(.kill(app: nil))
        try bench.command(.unplug)
        #expect(throws: PhoneFailure.self) {
            try bench.command(.runBackground(app: nil, task: "t"))
        }
        try bench.command(.plug)
        try bench.command(.runBackground(app: nil, task: "t"))
        bench.connect()
        try bench.command(.unplug)
        #expect(bench.happened(.taskExpired) == (rule == .expires ? ["t"] : []))
    }

    @Test("a disk with less than nothing on it is refused")
    func storage() throws {
        var bench = try PhoneBench()
        #expect(throws: PhoneFailure.self) { try bench.command(.storage(bytes: -1)) }
        try bench.command(.storage(bytes: 7))
        #expect(bench.machine.state.device.freeBytes == 7)
        #expect(bench.happened(.device) == ["plugged in, unmetered, 7 bytes free"])
    }
}

extension PhoneCommand {
    fileprivate static let plug = power(isPluggedIn: true)
    fileprivate static let unplug = power(isPluggedIn: false)
}

extension PhoneBench {
    mutating func download(_ id: String, needsUnmetered: Bool = false) {
        call(
            .startTransfer(
                TransferRequest(
                    id: id, direction: .download, url: "http://host.test/\(id)",
                    needsUnmetered: needsUnmetered)))
    }

    func transfer(_ id: String) -> Transfer? {
        machine.state.transfers["a"].first { $0.request.id == id }?.transfer
    }

    /// What a driver would be at.
    var running: [String] {
        var runs: [(Int, Int)] = []
        for action in actions {
            switch action {
            case .startTransfer(let number, let run): runs.append((number, run))
            case .stopTransfer(_, let run): runs.removeAll { $0.1 == run }
            default: break
            }
        }
        return runs.compactMap { number, run in
            machine.state.transfers["a"].first { $0.number == number && $0.run == run }?.request.id
        }
    }

    mutating func attempt(_ id: String, _ outcome: TransferRecord.Outcome) {
        guard let record = machine.state.transfers["a"].first(where: { $0.request.id == id }) else {
            return
        }
        // One that was stopped meanwhile reports nevertheless, under its old number.
        machine.transferEnded(
            record.number, run: record.run ?? -1, outcome, bytes: 5, total: 5, at: now)
        drain()
    }

    mutating func end(_ id: String, _ state: Transfer.State) {
        if case .failed(let why) = state { return attempt(id, .failed(why)) }
        attempt(id, .finished(state, bytes: 5))
    }

    var toldTransfers: [String] {
        actions.compactMap {
            if case .tellTransfer(_, let transfer) = $0 {
                "\(transfer.id) \(transfer.state.word)"
            } else {
                nil
            }
        }
    }
}
