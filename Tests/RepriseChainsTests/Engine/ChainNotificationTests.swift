import Foundation
import RepriseChains
import RepriseCore
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import Testing

@Suite("The next notification of a chain")
struct ChainNotifierTests {
    private func change(_ id: Int, _ state: ChainState = .running, done: Int = 0) -> ChainChange {
        ChainChange(
            id: ChainID("\(id)"), definition: "d",
            progress: ChainProgress(state: state, done: done, total: 9))
    }

    /// One that has found nothing at its start.
    private func started() -> ChainNotifier {
        var notifier = ChainNotifier()
        #expect(notifier.next(at: .zero) == .showResults)
        #expect(notifier.next(at: .zero) == .none)
        notifier.ended(.done, at: .zero)
        #expect(notifier.next(at: .zero) == .removeUnknown)
        notifier.ended(.done, at: .zero)
        #expect(notifier.next(at: .zero) == .none)
        return notifier
    }

    @Test(
        "The newest progress of each chain is shown, at most one a second",
        .limit("chains.notifications"))
    func rate() {
        var notifier = started()
        notifier.changed(change(1, done: 1))
        #expect(notifier.next(at: .seconds(5)) == .show(change(1, done: 1)))
        for done in 2..<9 { notifier.changed(change(1, done: done)) }
        notifier.changed(change(2))
        #expect(notifier.next(at: .seconds(5)) == .none)
        notifier.ended(.done, at: .seconds(5))
        #expect(notifier.next(at: .milliseconds(5_400)) == .wait(until: .seconds(6)))
        #expect(notifier.next(at: .seconds(6)) == .show(change(1, done: 8)))
        notifier.ended(.failed, at: .seconds(6))
        #expect(notifier.next(at: .milliseconds(6_999)) == .wait(until: .seconds(7)))
        #expect(notifier.next(at: .seconds(7)) == .show(change(2)))
        notifier.ended(.done, at: .seconds(7))
        #expect(notifier.next(at: .seconds(7)) == .none)
    }

    @Test(
        "A result is shown at once, replaces progress, and is tried again after 30 s",
        .limit("chains.centre"))
    func results() {
        var notifier = started()
        notifier.changed(change(1))
        _ = notifier.next(at: .zero)
        notifier.changed(change(1, done: 1))
        notifier.changed(change(2))
        notifier.changed(change(1, .succeeded))
        notifier.ended(.done, at: .zero)
        #expect(!notifier.isQuiet)
        #expect(notifier.next(at: .zero) == .showResults)
        #expect(!notifier.isQuiet)
        notifier.ended(.failed, at: .zero)
        #expect(notifier.next(at: .milliseconds(500)) == .wait(until: .seconds(1)))
        #expect(notifier.next(at: .seconds(1)) == .show(change(2)))
        notifier.ended(.done, at: .seconds(1))
        #expect(notifier.next(at: .seconds(1)) == .wait(until: .seconds(30)))
        #expect(notifier.next(at: .seconds(30)) == .showResults)
        notifier.ended(.more, at: .seconds(30))
        #expect(notifier.next(at: .seconds(30)) == .showResults)
        notifier.ended(.done, at: .seconds(30))
        #expect(notifier.isQuiet && notifier.next(at: .seconds(60)) == .none)
        notifier.removed()
        #expect(notifier.next(at: .seconds(60)) == .removeUnknown)
    }
}

@Suite("Chains as notifications", .timeLimit(.minutes(1)))
struct ChainNotificationTests {
    private typealias Script = EngineTests.Script

    private let chain = EngineTests.script().notification { script, progress in
        switch progress.state {
        case .succeeded: .init(title: "\(script.steps.count) done", sound: true)
        case .failed: .init(title: "failed", body: progress.reason ?? "")
        case .cancelled: nil
        default: .init(title: "\(progress.done) of \(progress.total)", sound: true)
        }
    }

    /// A journal and a notification centre, which outlives the processes.
    private struct Stage {
        let fixture: EngineFixture
        let system: MemoryNotifications

        init() throws {
            fixture = try EngineFixture(manualTime: true)
            system = MemoryNotifications(clock: try #require(fixture.time))
        }

        var shown: [NotificationRequest] { system.delivered.map(\.request) }
    }

    @Test(
        "Progress and result share one notification: progress is silent, at most one a second, and the result is last",
        .limit("chains.notificationTexts"))
    func whole() async throws {
        let stage = try Stage()
        let chains = try await stage.fixture.open(
            [chain], notifications: stage.system.connect())
        let steps = (0..<40).map { [Say.Input(line: "\($0)")] } + [[.init(line: "x", hangs: true)]]
        let id = try await chains.start(chain, input: Script(steps: steps))
        try await eventually("it is shown") { !stage.shown.isEmpty }
        let first = try #require(stage.shown.first)
        #expect(first.id == "reprise.chain.\(id)")
        #expect(first.content.interruption == .passive && !first.content.sound)
        try await eventually("x runs") { try await chains.status(id)?.done == 40 }
        // Time stands still: nothing more is shown before a second is over.
        #expect(stage.system.changes == 1)
        try await eventually("the newest progress is shown") {
            stage.fixture.time?.advance(by: .seconds(1))
            return stage.shown.map(\.content.title) == ["40 of 41"]
        }
        try await chains.cancel(id)
        try await eventually("there is none of a cancelled one") { stage.shown.isEmpty }

        let long = EngineTests.script().notification { _, _ in
            .init(
                title: String(repeating: "ä", count: 300), body: String(repeating: "ä", count: 900),
                info: Array("{\"a\":\"\(String(repeating: "x", count: 5_000))\"}".utf8))
        }
        await stage.fixture.close()
        let again = try await stage.fixture.open([long], notifications: stage.system.connect())
        let other = try await again.start(long, input: Script(steps: [[.init(line: "a")]]))
        try await again.wait(other, for: .succeeded)
        try await eventually("the result is shown") {
            stage.shown.last?.content.interruption == nil && !stage.shown.isEmpty
        }
        let content = try #require(stage.shown.last?.content)
        #expect((250...256).contains(content.title.utf8.count))
        #expect((1_000...1_024).contains(content.body.utf8.count))
        #expect(content.info == Array("{}".utf8))
        await stage.fixture.close()
    }

    @Test("A result that was not shown before a kill is shown at the next start, once")
    func afterKill() async throws {
        let stage = try Stage()
        // Its first change of the notification centre is its last one.
        var chains = try await stage.fixture.open(
            [chain], notifications: stage.system.connect(dyingAfter: 1))
        let id = try await chains.start(
            chain, input: Script(steps: [[.init(line: "a")], [.init(line: "b", hangs: true)]]),
            deadline: .seconds(50))
        try await eventually("progress is shown") { stage.system.changes == 1 }
        stage.fixture.time?.advance(by: .seconds(51))
        try await chains.wait(id, for: .failed)
        await stage.fixture.close()
        for _ in 0..<2 {
            chains = try await stage.fixture.open(
                [chain], notifications: stage.system.connect())
            try await eventually("the result is shown") {
                stage.shown.map(\.content.title) == ["failed"]
            }
            let journal = try #require(stage.fixture.journal)
            try await eventually("that is written") {
                try await journal.read { try ChainResults.page($0).isEmpty }
            }
            await stage.fixture.close()
        }
        #expect(stage.shown.first?.content.body.contains("timedOut") == true)
        #expect(stage.shown.first?.content.interruption == nil)
        #expect(stage.system.changes == 2)

        chains = try await stage.fixture.open([chain], notifications: stage.system.connect())
        try await chains.retry(id)
        try await eventually("it shows its progress again") {
            stage.shown.map(\.content.title) == ["1 of 2"]
        }
        await stage.fixture.close()
    }

    @Test("The notification of a chain that was deleted leaves, and those of others stay")
    func deleted() async throws {
        let stage = try Stage()
        let app = stage.system.connect()
        try await app.add(NotificationRequest(id: "mine", content: .init(title: "mine")))
        let chains = try await stage.fixture.open([chain], notifications: app)
        var ids: [ChainID] = []
        for line in ["a", "b"] {
            let id = try await chains.start(chain, input: Script(steps: [[.init(line: line)]]))
            ids.append(id)
        }
        try await eventually("both results are shown") {
            stage.shown.filter { $0.content.title == "1 done" }.count == 2
        }
        #expect(stage.shown.last?.content.sound == true)
        try await chains.delete(ids[0])
        try await eventually("it leaves") {
            Set(stage.shown.map(\.id)) == ["mine", "reprise.chain.\(ids[1])"]
        }
        await stage.fixture.close()
    }

    @Test(
        "Notifications that are not authorized are not tried for ever; a system that hangs is tried again"
    )
    func refused() async throws {
        let stage = try Stage()
        stage.system.refuse { _ in RepriseError(.refused, "Not allowed.") }
        let chains = try await stage.fixture.open([chain], notifications: stage.system.connect())
        let id = try await chains.start(chain, input: Script(steps: [[.init(line: "a")]]))
        try await chains.wait(id, for: .succeeded)
        let journal = try #require(stage.fixture.journal)
        try await eventually("it counts as shown") {
            try await journal.read { try ChainResults.page($0).isEmpty }
        }
        stage.system.refuse { _ in nil }
        stage.system.fail(RepriseError(.unreachable, "Not now."))
        let other = try await chains.start(chain, input: Script(steps: [[.init(line: "b")]]))
        try await chains.wait(other, for: .succeeded)
        stage.system.fail(nil)
        try await eventually("it is tried again") {
            stage.fixture.time?.advance(by: .seconds(5))
            return stage.shown.map(\.id) == ["reprise.chain.\(other)"]
        }
        await stage.fixture.close()
    }

    @Test("In the foreground progress goes into the list alone, and a result is a banner")
    func foreground() {
        let text = ChainNotification(title: "a")
        func shown(_ request: NotificationRequest) -> DeliveredNotification {
            DeliveredNotification(
                request: request, date: WallTime(milliseconds: 0), isRemote: false)
        }
        let (progress, result) = (
            shown(text.request(of: "1", isEnd: false)), shown(text.request(of: "1", isEnd: true))
        )
        #expect(Chains.presentation(of: progress) == [.list])
        #expect(Chains.presentation(of: result) == [.banner, .list, .sound])
        let other = shown(NotificationRequest(id: "1", content: .init()))
        #expect(Chains.presentation(of: other) == nil)
        #expect(Chains.isPlain(result) && !Chains.isPlain(other))
        let data = ChainNotification(title: "a", info: Array("{\"b\":1}".utf8))
        #expect(!Chains.isPlain(shown(data.request(of: "1", isEnd: true))))
    }
}
