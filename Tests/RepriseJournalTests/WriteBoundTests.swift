import Foundation
import GRDB
import RepriseCore
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import Synchronization
import Testing

/// Bounds of what is written together, and of what an ending waits for.
@Suite("Bounds of writing", .timeLimit(.minutes(1)))
struct WriteBoundTests {
    @Test(
        "Guarantee 6: 65,536 writes wait, one more is refused, and 1,024 share a commit",
        .limit("journal.waitingWrites", "journal.writesPerCommit"))
    func queue() throws {
        var queue = WriteQueue<Int>()
        guard case .begin = queue.add(0), let first = queue.nextGroup() else {
            Issue.record("The first begins a commit.")
            return
        }
        #expect(first == [0])
        for number in 1...65_536 {
            guard case .wait = queue.add(number) else {
                Issue.record("\(number) is refused")
                return
            }
        }
        guard case .refuse(let error) = queue.add(65_537) else {
            Issue.record("One more is taken.")
            return
        }
        #expect(error.code == .full)
        let groups = sequence(state: queue) { $0.nextGroup() }
        let sizes = groups.map(\.count)
        #expect(sizes == Array(repeating: 1_024, count: 64))
    }

    @Test("Closings at once all wait for a handler, and all return")
    func closings() async throws {
        let fixture = try JournalFixture()
        var configuration = fixture.configuration
        configuration.closeGrace = Journal.Configuration().closeGrace
        let journal = try await Journal.open(
            at: fixture.folder.url, kinds: [EntryKind("kind")], configuration: configuration)
        let (begun, end, closed) = (Signal(), Signal(), Seen<Int>())
        await journal.handle("kind") { _ in
            begun.raise()
            await end.wait()
        }
        try await journal.record(entry("a"))
        await begun.wait()
        for number in 0..<4 {
            Task {
                await journal.close()
                closed.add(number)
            }
        }
        try await eventually("they wait") {
            fixture.time.sleepers.contains(fixture.time.uptime() + configuration.closeGrace)
        }
        // For the others to come to the same wait.
        try await Task.sleep(for: .milliseconds(20))
        #expect(closed.count == 0)
        end.raise()
        try await eventually("all return") { closed.count == 4 }
    }

    @Test(
        "Guarantee 6: closing waits two seconds for a handler, stops it, and waits two more",
        .limit("journal.close"))
    func closing() async throws {
        let fixture = try JournalFixture()
        var configuration = fixture.configuration
        configuration.closeGrace = Journal.Configuration().closeGrace
        let journal = try await Journal.open(
            at: fixture.folder.url, kinds: [EntryKind("kind")], configuration: configuration)
        let deaf = Seen<CheckedContinuation<Void, Never>>()
        let (stopped, closed) = (Seen<Duration>(), Seen<Duration>())
        await journal.handle("kind") { [time = fixture.time] _ in
            await withTaskCancellationHandler {
                await withCheckedContinuation { deaf.add($0) }
            } onCancel: {
                stopped.add(time.uptime())
            }
        }
        try await journal.record(entry("a"))
        try await eventually("it is in flight") { deaf.count == 1 }
        let began = fixture.time.uptime()
        let closing = Task { [time = fixture.time] in
            await journal.close()
            closed.add(time.uptime())
        }
        for wait in 1...2 {
            let end = began + .seconds(2 * wait)
            try await eventually("it waits") { fixture.time.sleepers.contains(end) }
            fixture.time.advance(by: .milliseconds(1_999))
            #expect(stopped.count == wait - 1)
            fixture.time.advance(by: .milliseconds(1))
            try await eventually("that is over") {
                wait == 1 ? stopped.count == 1 : closed.count == 1
            }
        }
        await closing.value
        #expect(stopped.all == [began + .seconds(2)])
        #expect(closed.all == [began + .seconds(4)])
        for continuation in deaf.all { continuation.resume() }
        let again = try await fixture.open([EntryKind("kind")])
        #expect(try await again.entry(EntryID("a"))?.state == .pending)
        await again.close()
    }

    @Test(
        "Guarantee 6: entries recorded before sign-in move 32 at a time",
        .limit("journal.adoption"))
    func adoption() async throws {
        let (anonymous, account) = (try JournalFixture(), try JournalFixture())
        let kind = EntryKind("draft", requires: [.ui])
        let (source, target) = (try await anonymous.open([kind]), try await account.open([kind]))
        try await source.record((0..<100).map { try entry("id-\($0)", "draft") })
        let commits = RowsOfCommits("entry")
        try await target.write { $0.add(transactionObserver: commits) }
        #expect(try await target.adopt(from: source).adopted == 100)
        #expect(commits.rows == [32, 32, 32, 4])
        #expect(try await source.ledger().pending == 0)
        await source.close()
        await target.close()
    }

    @Test("An entry that its bound has released behind a closed gate stays so at sign-in")
    func adoptionOfReleased() async throws {
        let (anonymous, account) = (try JournalFixture(), try JournalFixture())
        let kind = EntryKind(
            "draft", requires: [.ui],
            bound: EntryKind.Bound(after: .seconds(60), then: .deliver))
        let (source, target) = (try await anonymous.open([kind]), try await account.open([kind]))
        try await source.record(entry("a", "draft"))
        anonymous.time.advance(by: .seconds(61))
        try await eventually("its bound is over") {
            try await source.read { db in
                try Int.fetchOne(db, sql: "SELECT released FROM entry") == 1
            }
        }
        #expect(try await target.adopt(from: source).adopted == 1)
        let seen = Seen<String>()
        await target.handle("draft") { seen.add($0.id.text) }
        try await eventually("it is dispatched") { seen.all == ["a"] }
        await source.close()
        await target.close()
    }

    @Test(
        "Guarantee 6: account.json is read up to 65,536 bytes, and keeps 200 lines of losses",
        .limit("journal.account"))
    func accountFile() throws {
        let folder = try TemporaryFolder()
        let folders = try AccountFolders(at: folder.url, shared: nil, takeOver: false)
        var sum = LedgerSum()
        sum.lost = (0..<300).map { number in
            // As long as a channel's name may be, and as much to escape.
            .init(
                channel: "\(1_000 + number)" + String(repeating: "/", count: 124),
                reason: "retention", count: .max)
        }
        var state = AccountFolders.State(user: "ada")
        state.final = FinalLedger(sum)
        try folders.write(state)
        #expect(try folders.state().final?.sum.lost == Array(sum.lost.prefix(200)))

        let file = folder.appending("account.json")
        let text = #"{"version":1,"user":"ada"}"#
        func write(_ bytes: Int) throws {
            let padding = String(repeating: " ", count: bytes - text.utf8.count)
            try Data((text + padding).utf8).write(to: file)
        }
        try write(65_536)
        #expect(try folders.state().user == "ada")
        try write(65_537)
        expectError(.corrupt) { try folders.state() }
        folders.close()
    }
}

/// How many rows each commit has put into a table.
final class RowsOfCommits: TransactionObserver, Sendable {
    private let table: String
    private let state = Mutex<(open: Int, commits: [Int])>((0, []))

    init(_ table: String) { self.table = table }

    var rows: [Int] { state.withLock { $0.commits.filter { $0 > 0 } } }

    func observes(eventsOfKind kind: DatabaseEventKind) -> Bool {
        if case .insert(table) = kind { true } else { false }
    }

    func databaseDidChange(with event: DatabaseEvent) { state.withLock { $0.open += 1 } }

    func databaseDidCommit(_ db: Database) {
        state.withLock { state in
            state.commits.append(state.open)
            state.open = 0
        }
    }

    func databaseDidRollback(_ db: Database) { state.withLock { $0.open = 0 } }
}
