import Foundation
import GRDB
import Logging
import Reprise
import RepriseTestSupport
import RepriseTesting
import Testing

/// What goes on over every account, and what the client says of itself.
@Suite("The client's streams, log and timeline", .timeLimit(.minutes(1)))
struct ClientStreamsTests {
    private struct Note: Codable, Hashable, Sendable {
        var text: String
    }

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func configuration() -> RepriseConfiguration {
        var configuration = RepriseConfiguration(server: "http://memory")
        configuration.folder = folder.appending("home")
        configuration.dialer = MemoryServer()
        configuration.connectsAnonymously = true
        configuration.tokens = { request in try AccessToken("\(request.user.text).Yg.1") }
        return configuration
    }

    private func withNotices() -> RepriseConfiguration {
        var configuration = configuration()
        configuration.notices = Notices.Configuration()
        configuration.notifications = MemoryNotifications(clock: ManualClock()).connect()
        return configuration
    }

    private func tap(_ id: String) throws -> NotificationResponse {
        let hint = PushHint(kind: .alert, channel: try ChannelName("general"), seq: 1, head: 1)
        var content = NotificationContent(title: "t")
        content.info = Array(
            (#"{"reprise":"# + String(decoding: hint.json, as: UTF8.self) + "}").utf8)
        return NotificationResponse(
            notification: DeliveredNotification(
                request: NotificationRequest(id: id, content: content),
                date: WallTime(milliseconds: 1_000), isRemote: true))
    }

    @Test("In a stream over every account no value of a former account comes after the next one's")
    func formerAccount() async throws {
        let client = RepriseClient(configuration())
        let (streams, held) = (Seen<Int>(), Seen<CheckedContinuation<Void, Never>>())
        let values = client.follow { _ -> AsyncStream<String> in
            streams.add(streams.count)
            guard streams.count == 1 else { return AsyncStream { _ = $0.yield("next") } }
            return AsyncStream<String> {
                await withCheckedContinuation { held.add($0) }
                return "former"
            }
        }
        let seen = Seen<String>()
        let loop = Task { for await value in values { seen.add(value) } }
        _ = try await client.journal
        try await eventually("the first account has something to say") { held.count == 1 }
        try await client.signIn("ada") { "ada.Yg.1" }
        try await Task.sleep(for: .milliseconds(50))
        held.all[0].resume()
        try await eventually("the next account is there") { seen.all.contains("next") }
        try await Task.sleep(for: .milliseconds(50))
        #expect(seen.all.last == "next")
        await client.close()
        await loop.value
    }

    @Test("One loop takes the taps of one account after the other, and `ui` stays set")
    func taps() async throws {
        let client = RepriseClient(withNotices())
        let seen = Seen<String>()
        let loop = Task {
            for await tap in client.noticeTaps {
                let user = client.user?.text ?? "nobody"
                // Before it is seen: the next account closes this one's journal.
                try await tap.presented()
                seen.add("\(user): \(tap.attempt)")
            }
        }
        await client.setReady(.ui)
        let running = Task { try await client.run() }
        for user in ["ada", "bob", "ada"] {
            try await client.signIn(user, tokens: nil)
            try await client.received(try tap("of \(user), \(seen.count)"))
            try await eventually("\(user)'s tap comes") { seen.all.last == "\(user): 1" }
        }
        await client.setNotReady(.ui)
        try await client.received(try tap("later"))
        try await client.signIn("bob", tokens: nil)
        try await client.signIn("ada", tokens: nil)
        #expect(seen.count == 3, "a condition that was cleared stays so in the next account")
        await client.setReady(.ui)
        try await eventually("the tap that waited comes") { seen.count == 4 }
        running.cancel()
        try await running.value
        await client.close()
        try await loop.value
    }

    @Test("Streams go on where a change of accounts has failed and the former one is open again")
    func failedChange() async throws {
        let configuration = withNotices()
        let client = RepriseClient(configuration)
        let seen = Seen<EntryID>()
        let loop = Task {
            for await tap in client.noticeTaps {
                try await tap.presented()
                seen.add(tap.id)
            }
        }
        await client.setReady(.ui)
        try await client.signIn("ada", tokens: nil)
        let general = client.channel("general", of: Note.self)
        let lists = Seen<Int>()
        let listing = Task { for await list in general.messages() { lists.add(list.count) } }
        try await eventually("a list comes") { lists.count > 0 }
        // The account of nobody is adopted into bob's journal: it cannot be if its place is taken.
        let home = try #require(configuration.folder)
        let place = home.appendingPathComponent("account.json")
        let text = try Data(contentsOf: place)
        try FileManager.default.removeItem(at: place)
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        await #expect(throws: (any Error).self) { try await client.signIn("bob", tokens: nil) }
        try FileManager.default.removeItem(at: place)
        try text.write(to: place)
        try await client.signIn("ada", tokens: nil)
        try await client.received(try tap("after it"))
        try await eventually("the tap comes") { seen.count == 1 }
        try await general.publish(Note(text: "hello"))
        try await eventually("the list goes on") { lists.all.last == 1 }
        await client.close()
        try await loop.value
        await listing.value
    }

    @Test(
        "After a failed sign-out nobody is signed in, and a use or a run opens the next account",
        arguments: [false, true])
    func failedSignOut(isRunning: Bool) async throws {
        let configuration = configuration()
        let client = RepriseClient(configuration)
        try await client.signIn("ada", tokens: nil)
        let running = isRunning ? Task { try await client.run() } : nil
        // Ada's journal is removed; the next one is another process's.
        let place = try #require(configuration.folder).appendingPathComponent("anonymous")
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: false)
        let owner = try OwnerLock(
            at: place.appendingPathComponent("owner.lock").path, takeOver: false)
        await expectError(.journalOwned) { try await client.signOut() }
        #expect(client.user == nil)
        owner.release()
        if !isRunning {
            try await client.channel("general", of: Note.self).publish(Note(text: "hello"))
        }
        try await eventually("the next account is open") { client.state == .open(nil) }
        running?.cancel()
        _ = try await running?.value
        await client.close()
    }

    @Test("An account that is opened again after a failed change is in the states")
    func reopened() async throws {
        let configuration = configuration()
        let client = RepriseClient(configuration)
        try await client.signIn("ada", tokens: nil)
        let states = Seen<ClientState>()
        let watch = Task { for await state in client.states { states.add(state) } }
        let isOpen = ClientState.open(try UserID("ada"))
        try await eventually("ada is signed in") { states.all == [isOpen] }
        // What bob would adopt cannot be opened.
        let place = try #require(configuration.folder).appendingPathComponent("adopting-mjxwe")
        try Data().write(to: place)
        await #expect(throws: (any Error).self) { try await client.signIn("bob", tokens: nil) }
        try await eventually("ada's journal is open again") {
            states.all == [isOpen, .opening, isOpen]
        }
        try await client.channel("general", of: Note.self).publish(Note(text: "hello"))
        await client.close()
        watch.cancel()
        await watch.value
    }

    @Test("Bodies as JSON text arrive byte for byte, and nothing is unreadable")
    func rawJSON() async throws {
        let client = RepriseClient(configuration())
        let raw = client.channel(rawJSON: "general")
        let seen = Seen<String>()
        try await raw.consume(as: "inbox") { message in
            if case .body(let body) = message.content { seen.add(body.text) }
        }
        let running = Task { try await client.run() }
        try await raw.publish(RawJSON(#"{ "a" : 1 }"#))
        try await client.journal.write { db in try raw.publish(RawJSON("[2]"), in: db) }
        try await eventually("both are consumed") { seen.all == [#"{ "a" : 1 }"#, "[2]"] }
        await expectError(.malformed) { try await raw.publish(RawJSON("{")) }
        running.cancel()
        try await running.value
        await client.close()
    }

    @Test("A slot that no feature has asked for is given back, not done")
    func slots() async throws {
        var configuration = configuration()
        configuration.chains = Chains.Configuration()
        let client = RepriseClient(configuration)
        #expect(client.backgroundTasks == ["reprise.chains"])
        for (id, isDone) in [("reprise.chains", true), ("another", false)] {
            let slot = TestSlot(id: id)
            await client.use(slot)
            #expect(slot.completions.all == [isDone], "\(id)")
        }
        await client.close()
        let late = TestSlot(id: "reprise.chains")
        await client.use(late)
        #expect(late.completions.all == [false], "nothing can be done without a journal")
    }

    @Test("An app group that the app has no right to is refused, with what to do")
    func appGroup() async throws {
        var configuration = configuration()
        configuration.appGroup = "group.org.example"
        let client = RepriseClient(configuration)
        guard case .failed(let error) = client.state else {
            Issue.record("\(client.state)")
            return
        }
        #expect(error.code == .badConfiguration && error.remedy?.contains("Signing") == true)
    }

    @Test("A journal in an app group's container is refused, with the reason")
    func journalInAppGroup() async throws {
        var configuration = configuration()
        configuration.folder = URL(
            fileURLWithPath: "/private/var/mobile/Containers/Shared/AppGroup/5E1F/reprise")
        let client = RepriseClient(configuration)
        guard case .failed(let error) = client.state else {
            Issue.record("\(client.state)")
            return
        }
        #expect(error.code == .badConfiguration && error.message.contains("0xdead10cc"))
    }

    @Test("The log has facts at info and decisions at debug, no body, and no control characters")
    func log() async throws {
        let output = LoggedLines()
        var configuration = configuration()
        configuration.logger = output.logger()
        configuration.kinds = [EntryKind("mail")]
        let client = RepriseClient(configuration)
        let general = client.channel("general", of: Note.self)
        try await general.consume(as: "inbox") { _ in }
        let running = Task { try await client.run() }
        try await general.publish(Note(text: "a secret"))
        try await general.caughtUp()
        let journal = try await client.journal
        await journal.handle("mail") { _ in
            throw DispatchFailure.permanent("\u{1B}[2J gone\nforged")
        }
        try await journal.record(NewEntry(id: EntryID("letter"), kind: "mail", payload: [1]))
        try await eventually("its end is logged") {
            output.all.contains {
                $0.hasPrefix("info An entry has ended.") && $0.contains("letter")
            }
        }
        running.cancel()
        try await running.value
        let lines = output.all
        #expect(lines.contains { $0.hasPrefix("info The connection is in another state.") })
        #expect(lines.contains { $0.hasPrefix("info A channel is in another state.") })
        #expect(lines.contains { $0.hasPrefix("debug An entry is recorded.") })
        #expect(!lines.contains { $0.contains("secret") })
        #expect(!lines.contains { $0.contains("\u{1B}") || $0.contains("\n") })

        let file = folder.appending("timeline.jsonl")
        try await client.exportTimeline(to: file)
        let timeline = try String(contentsOf: file, encoding: .utf8)
        var what: [String: Int] = [:]
        for line in timeline.split(separator: "\n") {
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            what[try #require(object?["what"] as? String), default: 0] += 1
        }
        #expect(what["client"] == 1 && what["ledger"] == 1 && what["channel"] == 1)
        #expect(what["entry", default: 0] == 2 && what["log", default: 0] > 4)
        #expect(timeline.contains(#""coverage":"[[0,1]]""#))
        #expect(!timeline.contains("secret"))
        await client.close()
    }

    @Test("A calendar that was set is told, and so is from when and until when it is doubted")
    func calendar() async throws {
        let output = LoggedLines()
        let clock = ManualClock()
        var configuration = configuration()
        configuration.clock = clock
        configuration.kinds = [EntryKind("mail")]
        configuration.logger = output.logger(.notice)
        let client = RepriseClient(configuration)
        let journal = try await client.journal
        #expect(try await client.diagnostics().isCalendarDoubted == false)
        clock.jumpWall(by: .seconds(3 * 86_400))
        try await journal.record(NewEntry(id: EntryID("letter"), kind: "mail", payload: []))
        #expect(try await client.diagnostics().isCalendarDoubted)
        await journal.serverTimeReceived(clock.now)
        #expect(try await client.diagnostics().isCalendarDoubted == false)
        let told = output.all.filter { $0.contains("calendar") }.map { $0.prefix(30) }
        #expect(
            told
                == [
                    "notice The calendar was set: w", "notice The calendar is doubted",
                    "notice The calendar is trusted",
                ].map { $0.prefix(30) })
        await client.close()
    }

    @Test("A timeline has the facts of a silent logger, and none of its decisions")
    func level() async throws {
        var configuration = configuration()
        configuration.kinds = [EntryKind("mail")]
        let client = RepriseClient(configuration)
        let journal = try await client.journal
        await journal.handle("mail") { _ in throw DispatchFailure.permanent("no") }
        try await journal.record(NewEntry(id: EntryID("letter"), kind: "mail", payload: []))
        try await eventually("it has ended") { try await client.ledger().pending == 0 }
        let file = folder.appending("timeline.jsonl")
        try await eventually("its end is a fact") {
            try await client.exportTimeline(to: file)
            return try String(contentsOf: file, encoding: .utf8).contains("An entry has ended.")
        }
        let timeline = try String(contentsOf: file, encoding: .utf8)
        #expect(timeline.contains(#""level":"info""#))
        #expect(!timeline.contains(#""level":"debug""#))
        await client.close()
    }

    @Test(
        "A timeline keeps the newest lines, also where the logger is silent",
        .limit("client.timeline"))
    func bounded() async throws {
        var configuration = configuration()
        configuration.kinds = [EntryKind("mail")]
        let client = RepriseClient(configuration)
        let journal = try await client.journal
        await journal.handle("mail") { _, _ in throw DispatchFailure.permanent("no") }
        for page in 0..<11 {
            try await journal.record(
                (0..<1_000).map {
                    try NewEntry(
                        id: EntryID("letter-\(page * 1_000 + $0)"), kind: "mail", payload: [])
                })
        }
        try await eventually("all have ended", within: .seconds(30)) {
            try await client.ledger().pending == 0
        }
        let file = folder.appending("timeline.jsonl")
        try await client.exportTimeline(to: file)
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        #expect(lines.count { $0.contains(#""what":"entry""#) } == 10_000)
        #expect(lines.count { $0.contains(#""what":"log""#) } == 2_000)
        #expect(lines.contains { $0.contains(#""id":"letter-10999""#) })
        await client.close()
    }
}

private struct TestSlot: BackgroundSlot {
    let id: String
    let completions = Seen<Bool>()

    func expired() async { try? await Task.sleep(for: .seconds(3_600)) }
    func complete(success: Bool) async { completions.add(success) }
}
