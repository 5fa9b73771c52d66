import Foundation
import RepriseChannels
import RepriseCore
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Synchronization
import Testing

@Suite("Lists")
struct ListTests {
    @Test("Pages go back to the beginning, without a gap and without a repetition")
    func pages() async throws {
        let server = MemoryServer()
        try server.fill("general", with: 130)
        server.faults.order = .shuffled(seed: 8)
        let device = try await MemoryDevice(server)
        _ = try await device.caughtUp()
        var pages: [[Int64]] = []
        var before: Int64?
        while pages.count < 10 {
            let page = try await device.general.messages(before: before, limit: 50)
            guard let first = page.first?.seq else { break }
            pages.append(page.compactMap(\.seq))
            before = first
        }
        #expect(pages == [Array(81...130), Array(31...80), Array(1...30)])
        try await device.finish()
    }

    @Test("A list updates itself, and a slow reader gets the newest", .limit("channels.listsAhead"))
    func observe() async throws {
        let server = MemoryServer(user: try UserID("ada"))
        let device = try await MemoryDevice(server)
        try await device.general.setVisible(true)
        device.start()
        var lists = device.general.observe(last: 2).makeAsyncIterator()
        #expect(await lists.next() == [])
        try server.publish(#""a""#, to: "general", from: try UserID("bob"))
        #expect(await lists.next()?.map(\.json) == [#""a""#])
        for text in ["b", "c", "d"] { try server.publish("\"\(text)\"", to: "general") }
        try await eventually("all is in the journal") {
            try await device.general.messages().count == 4
        }
        var newest = await lists.next()
        while newest?.last?.json != #""d""# { newest = await lists.next() }
        #expect(newest?.map(\.json) == [#""c""#, #""d""#])
        try server.publish(#""D""#, to: "general", change: .edits(4))
        newest = await lists.next()
        while newest?.last?.isEdited != true { newest = await lists.next() }
        #expect(newest?.last?.json == #""D""#)
        try server.publish("null", to: "general", change: .deletes(4))
        newest = await lists.next()
        while newest?.last?.isDeleted != true { newest = await lists.next() }
        #expect(newest?.last?.json == "null")
        try await device.finish()
    }

    @Test("Lists of messages and of conversations that wait end when the journal is closed")
    func closed() async throws {
        let one = try await MemoryDevice(MemoryServer())
        try await within(.seconds(20)) { [general = one.general, journal = one.journal] in
            for await _ in general.observe() { Task { await journal.close() } }
        }
        try await one.finish()
        let two = try await MemoryDevice(MemoryServer())
        try await within(.seconds(20)) { [channels = two.channels, journal = two.journal] in
            for await _ in channels.observeConversations() { Task { await journal.close() } }
        }
        try await two.finish()
    }

    @Test("A list keeps what it has after unsubscribe(), and goes on with the next subscription")
    func unsubscribed() async throws {
        let server = MemoryServer()
        try server.fill("general", with: 3)
        let device = try await MemoryDevice(server)
        let other = try device.channels.channel("other")
        try await other.subscribe()
        #expect(try await device.caughtUp() == [1, 2, 3])
        var lists = device.general.observe(last: 10).makeAsyncIterator()
        #expect(await lists.next()?.map(\.seq) == [1, 2, 3])
        await device.general.unsubscribe()
        let ledger = try await device.journal.ledger().accepted
        try server.publish("4", to: "general")
        try server.publish("1", to: "other")
        try await becomes("what is stored", ledger + 1) {
            try await device.journal.ledger().accepted
        }
        #expect(try await device.general.messages().map(\.seq) == [1, 2, 3])
        try await device.general.subscribe()
        var newest = await lists.next()
        while newest?.last?.seq != 4 { newest = await lists.next() }
        #expect(newest?.map(\.seq) == [1, 2, 3, 4])
        try await device.finish()
    }

    @Test("A user's own message stays in the list before the journal has anything of its channel")
    func ownBeforeTheLog() async throws {
        let bench = try await Bench()
        try await bench.general.subscribe()
        let id = try await bench.general.publish(#""hello""#)
        #expect(try await bench.general.messages().map(\.status) == [.pending])
        bench.start()
        let server = try await bench.accept()
        let publish = try await server.publish()
        server.push([.published(.init(channel: publish.channel, id: publish.id, seq: 1))])
        try await eventually("the outbox has ended it") {
            try await bench.journal.ledger().outcomes[.applied] == 1
        }
        let sent = try await bench.general.messages()
        #expect(sent.map(\.id) == [id] && sent.map(\.status) == [.sent])
        try server.subscribed(head: 1)
        server.push([
            .event(
                .init(
                    channel: publish.channel, seq: 1, prev: 0, id: id,
                    time: WallTime(milliseconds: 1), body: publish.body))
        ])
        try server.syncComplete(through: 1)
        try await bench.general.caughtUp()
        let stored = try await bench.general.messages()
        #expect(stored.map(\.id) == [id] && stored.map(\.seq) == [1])
        try await bench.finish()
    }

    @Test("The channel on screen is requested first, also in the middle of a catch-up of many")
    func onScreen() async throws {
        let server = MemoryServer()
        for name in ["a", "b", "general"] { try server.fill(name, with: 10) }
        server.faults.silentAfter = 5
        let device = try await MemoryDevice(server)
        for name in ["a", "b", "general"] {
            try await device.channels.channel(name).subscribe()
        }
        device.start()
        try await eventually("all are asked for") { server.requests.count == 3 }
        #expect(server.requests.allSatisfy { !$0.isFirst })
        try await eventually("it knows what is missing") {
            await device.general.diagnostics.requests == 1
        }
        try await device.general.setVisible(true)
        try await eventually("it is asked for again, first") {
            server.requests.last?.isFirst == true
                && server.requests.last?.channel.text == "general"
        }
        try await device.general.setVisible(false)
        try await device.finish()
    }

    @Test("A thousand channels are opened with one read and requested in one frame")
    func thousand() async throws {
        let server = MemoryServer()
        for number in 0..<1_000 { try server.fill("c\(number)", with: 10) }
        let device = try await MemoryDevice(server)
        let channels = try (0..<1_000).map { try device.channels.channel("c\($0)") }
        let start = ContinuousClock.now
        device.start()
        try await eventually("connected") { await device.channels.diagnostics.state == .connected }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for channel in channels { group.addTask { try await channel.subscribe() } }
            try await group.waitForAll()
        }
        let opened = ContinuousClock.now - start
        try await within(.seconds(60)) {
            for channel in channels {
                for await state in channel.states where state == .live { break }
            }
        }
        let time = ContinuousClock.now - start
        print("1,000 channels of 10 messages: opened in \(opened), complete in \(time)")
        #expect(server.requests.count == 1_000)
        #expect(try await device.journal.ledger().accepted == 10_000)
        try await device.finish()
    }

    @Test(
        "The main actor is never blocked for longer than a frame by a catch-up of 100,000 messages")
    func mainActor() async throws {
        // What a busy machine adds is not ours, so a thread of its own measures that; one
        // undisturbed run is proof enough.
        for _ in 0..<4 {
            let (gap, noise) = try await longestGap(over: 100_000)
            print("100,000 messages: the main actor paused for \(gap), an idle thread for \(noise)")
            if gap < .milliseconds(16) + noise { return }
            if noise > .milliseconds(16) { return #expect(gap < .seconds(5)) }
        }
        Issue.record("The main actor was blocked for longer than a frame, four times out of four.")
    }

    /// The longest pause of the main actor while it shows a list of a catch-up, and that of a
    /// thread that has nothing to do with it.
    private func longestGap(over count: Int) async throws -> (main: Duration, noise: Duration) {
        let server = MemoryServer()
        try server.fill("general", with: count)
        let device = try await MemoryDevice(server)
        try await device.general.subscribe()
        let heart = Heart()
        let beating = Task { @MainActor in await heart.beat() }
        let showing = Task { @MainActor in
            for await list in device.general.observe(last: 50) {
                _ = list.count
                _ = await device.general.diagnostics
            }
        }
        let noise = Noise()
        noise.start()
        device.start()
        try await within(.seconds(50)) { try await device.general.caughtUp() }
        noise.cancel()
        beating.cancel()
        showing.cancel()
        #expect(try await device.journal.ledger().accepted == Int64(count))
        try await device.finish()
        return (await heart.longestGap, noise.longestGap)
    }
}

/// Beats on the main actor, and knows for how long it was kept from it.
@MainActor
private final class Heart {
    private(set) var longestGap: Duration = .zero

    func beat() async {
        var last = ContinuousClock.now
        while !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(1))
            let now = ContinuousClock.now
            longestGap = max(longestGap, now - last - .milliseconds(1))
            last = now
        }
    }
}

/// A thread that does nothing, and knows for how long the machine kept it from that.
private final class Noise: Sendable {
    private struct State {
        var longestGap: Duration = .zero
        var isCancelled = false
    }

    private let state = Mutex(State())

    var longestGap: Duration { state.withLock { $0.longestGap } }

    func start() {
        Thread.detachNewThread { [self] in
            var last = ContinuousClock.now
            while !state.withLock({ $0.isCancelled }) {
                Thread.sleep(forTimeInterval: 0.001)
                let now = ContinuousClock.now
                let gap = now - last - .milliseconds(1)
                state.withLock { $0.longestGap = max($0.longestGap, gap) }
                last = now
            }
        }
    }

    func cancel() { state.withLock { $0.isCancelled = true } }
}
