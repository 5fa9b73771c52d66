import Dispatch
import Foundation
import GRDB
import Reprise
import RepriseTestSupport
import RepriseTesting
import Testing

/// Clocks whose calendar answers once it is released: until then a journal is being opened.
private final class HeldCalendar: Timekeeper {
    let time = ManualClock()
    private let isReleased = DispatchSemaphore(value: 0)

    var boot: String { time.boot }
    func uptime() -> Duration { time.uptime() }
    func sleep(until moment: Duration) async throws { try await time.sleep(until: moment) }

    func wall() -> WallTime {
        isReleased.wait()
        isReleased.signal()
        return time.wall()
    }

    func release() { isReleased.signal() }
}

@Suite("The client", .timeLimit(.minutes(1)))
struct RepriseClientTests {
    private struct Note: Codable, Hashable, Sendable {
        var text: String
    }

    private struct OtherNote: Codable, Sendable {
        var number: Int
    }

    private let folder: TemporaryFolder
    private let server = MemoryServer()

    init() throws { folder = try TemporaryFolder() }

    private func configuration(
        _ name: String = "home", _ server: (any SocketDialer)? = nil
    ) -> RepriseConfiguration {
        var configuration = RepriseConfiguration(server: "http://memory")
        configuration.folder = folder.appending(name)
        configuration.dialer = server ?? self.server
        configuration.connectsAnonymously = true
        configuration.channels.reconnect = Backoff(
            base: .milliseconds(1), longest: .milliseconds(5))
        return configuration
    }

    private func running<T>(
        _ client: RepriseClient, _ body: () async throws -> T
    ) async throws -> T {
        let running = Task { try await client.run() }
        let value = try await body()
        running.cancel()
        try await running.value
        await client.close()
        return value
    }

    @Test("A client that was closed is released")
    func released() async throws {
        weak var released: RepriseClient?
        do {
            let client = RepriseClient(configuration())
            released = client
            let channel = client.channel("general", of: Note.self)
            try await running(client) {
                try await channel.consume(as: "inbox") { _ in }
                try await channel.publish(Note(text: "hello"))
            }
        }
        try await eventually("nobody has it any more") { released == nil }
    }

    // MARK: Channels

    @Test("One app's messages are consumed, listed and marked as read by another, by its own type")
    func typed() async throws {
        let (ada, bob) = (
            RepriseClient(configuration("ada")), RepriseClient(configuration("bob"))
        )
        let seen = Seen<Note>()
        let (said, heard) = (
            ada.channel("general", of: Note.self), bob.channel("general", of: Note.self)
        )
        // Before anything is open.
        try await heard.consume(as: "inbox") { message in
            if case .body(let note) = message.content { seen.add(note) }
        }
        #expect(ada.state == .idle && bob.state == .idle)
        try await running(ada) {
            try await running(bob) {
                let id = try await said.publish(Note(text: "hello"))
                try await eventually("it is consumed") { seen.all == [Note(text: "hello")] }
                try await said.edit(id, Note(text: "Hello!"))
                for await list in heard.messages() where list.first?.isEdited == true {
                    #expect(list.first?.content == .body(Note(text: "Hello!")))
                    #expect(list.first?.rawJSON == #"{"text":"Hello!"}"#)
                    try await heard.markRead(upTo: try #require(list.last))
                    break
                }
                try await said.delete(id)
                for await list in heard.messages() where list.first?.content == .deleted { break }
            }
        }
    }

    @Test(
        "A body that is not of the type is a dead letter with its bytes, until an update reads it")
    func unreadable() async throws {
        let old = RepriseClient(configuration())
        let channel = old.channel("general", of: Note.self)
        let seen = Seen<Note>()
        try await channel.consume(as: "inbox") { message in
            if case .body(let note) = message.content { seen.add(note) }
        }
        try await running(old) {
            try await channel.publish(rawJSON: #"{"number":42}"#)
            try await channel.publish(Note(text: "after it"))
            try await eventually("the next one arrives") { seen.all == [Note(text: "after it")] }
            try await eventually("it is a dead letter") {
                try await channel.failures(of: "inbox").first?.status == .dead
            }
            let failed = try await channel.failures(of: "inbox")
            #expect(failed.map(\.message.json) == [#"{"number":42}"#])
            #expect(failed.first?.status == .dead && failed.first?.message.attempt == 1)
            for await list in channel.messages() where list.count == 2 {
                #expect(list.map(\.content) == [.unreadable, .body(Note(text: "after it"))])
                break
            }
        }
        let new = RepriseClient(configuration())
        let numbers = Seen<Int>()
        let updated = new.channel("general", of: OtherNote.self)
        try await updated.consume(as: "inbox") { message in
            if case .body(let note) = message.content { numbers.add(note.number) }
        }
        try await running(new) {
            try await eventually("it is delivered") { numbers.all == [42] }
            try await eventually("it is done with") {
                try await updated.failures(of: "inbox").isEmpty
            }
        }
    }

    @Test("In a transaction, only the messages that can be read are given to the effect")
    func transaction() async throws {
        var configuration = configuration()
        configuration.schemas = [
            JournalSchema(
                name: "notes",
                migrations: [{ try $0.execute(sql: "CREATE TABLE notes (text TEXT NOT NULL)") }])
        ]
        let client = RepriseClient(configuration)
        let channel = client.channel("general", of: Note.self)
        try await channel.consume(
            as: "notes",
            inTransaction: { db, messages in
                for message in messages {
                    guard case .body(let note) = message.content else { continue }
                    try db.execute(sql: "INSERT INTO notes VALUES (?)", arguments: [note.text])
                }
            })
        try await running(client) {
            for json in [#"{"text":"a"}"#, "1", #"{"text":"b"}"#] {
                try await channel.publish(rawJSON: json)
            }
            try await eventually("one is dead") {
                try await channel.failures(of: "notes").map(\.message.json) == ["1"]
            }
            let journal = try await client.journal
            try await eventually("the others are stored") {
                try await journal.read { try String.fetchAll($0, sql: "SELECT text FROM notes") }
                    == ["a", "b"]
            }
        }
    }

    @Test("A reader is registered once; a second one of its name, and a bad name, are refused")
    func registered() async throws {
        let client = RepriseClient(configuration())
        let channel = client.channel("general", of: Note.self)
        try await channel.consume(as: "inbox") { _ in }
        await expectError(.duplicateReader) {
            try await channel.consume(as: "inbox") { _ in }
        }
        await expectError(.badChannelName) {
            try await client.channel("no name", of: Note.self).consume(as: "inbox") { _ in }
        }
        await client.close()
    }

    // MARK: Accounts

    @Test("A handler registered once serves every account, and a list goes on with the next one")
    func accounts() async throws {
        let tokens = try ["ada", "bob"].map {
            (try AccessToken("\($0).Yg.1"), UserID(unchecked: $0))
        }
        let server = MemoryServer(tokens: Dictionary(uniqueKeysWithValues: tokens))
        var configuration = configuration("home", server)
        configuration.connectsAnonymously = false
        let client = RepriseClient(configuration)
        let channel = client.channel("general", of: Note.self)
        let seen = Seen<String>()
        let listed = Seen<Int>()
        try await channel.consume(as: "inbox") { message in
            if case .body(let note) = message.content { seen.add(note.text) }
        }
        let lists = Task {
            for await list in channel.messages() { listed.add(list.count) }
        }
        try await running(client) {
            #expect(client.user == nil)
            for user in ["ada", "bob"] {
                try await client.signIn(user) { "\(user).Yg.1" }
                #expect(client.user?.text == user)
                try await channel.publish(Note(text: "of \(user)"))
                try await eventually("\(user) has it") { seen.all.last == "of \(user)" }
            }
            // Bob's journal has both messages: the server has kept Ada's.
            try await eventually("listed") { listed.all.last == 2 }
            let sum = try await client.signOut()
            #expect(sum.pending == 0)
            #expect(client.state == .open(nil))
        }
        #expect(client.state == .closed)
        await lists.value
        // Ada is not signed in at the next launch; nobody is.
        let next = RepriseClient(configuration)
        try await running(next) {
            try await eventually("open") { next.state == .open(nil) }
        }
    }

    @Test("A signed-in user without a source of tokens is said so, with the line to write")
    func noTokens() async throws {
        let token = try AccessToken("ada.Yg.1")
        let server = MemoryServer(tokens: [token: UserID(unchecked: "ada")])
        let first = RepriseClient(configuration("home", server))
        try await first.signIn("ada") { "ada.Yg.1" }
        await first.close()
        let next = RepriseClient(configuration("home", server))
        try await running(next) {
            try await eventually("open") { next.user?.text == "ada" }
            for await state in next.connectionStates {
                guard case .stopped(let end) = state else { continue }
                #expect(end.error?.code == .unauthorized)
                #expect(end.error?.remedy?.contains("signIn") == true)
                break
            }
            try await next.signIn("ada") { "ada.Yg.1" }
            let channel = next.channel("general", of: Note.self)
            try await channel.consume(as: "inbox") { _ in }
            try await channel.caughtUp()
        }
    }

    private func isWaiting(_ client: RepriseClient, _ code: RepriseError.Code) -> Bool {
        if case .waiting(let error) = client.state { error.code == code } else { false }
    }

    // MARK: Early

    private func tap(_ id: String) -> NotificationResponse {
        NotificationResponse(
            notification: DeliveredNotification(
                request: NotificationRequest(id: id, content: NotificationContent(title: "t")),
                date: WallTime(milliseconds: 1_000), isRemote: true))
    }

    private func reply() throws -> NotificationResponse {
        let hint = PushHint(kind: .alert, channel: try ChannelName("general"), seq: 1, head: 1)
        var reply = tap("a")
        reply.notification.request.content.info = Array(
            (#"{"reprise":"# + String(decoding: hint.json, as: UTF8.self) + "}").utf8)
        reply.action = .text("reply", answer: "hello")
        return reply
    }

    /// A client whose journal is being opened until the calendar is released.
    private func opening(_ calendar: HeldCalendar) -> RepriseClient {
        var configuration = configuration()
        configuration.clock = calendar
        configuration.notices = Notices.Configuration()
        configuration.notifications = MemoryNotifications(clock: calendar.time).connect()
        return RepriseClient(configuration)
    }

    private func withForms(_ name: String = "home") -> RepriseConfiguration {
        var configuration = configuration(name)
        configuration.forms = Forms.Configuration()
        configuration.catalogue = CatalogueSource(catalogue: "{}")
        configuration.webViews = NoWebViews()
        return configuration
    }

    @Test("A tap and an event that come while the journal is another process's are in it later")
    func early() async throws {
        var configuration = withForms()
        configuration.reminders = nil
        let home = try #require(configuration.folder)
        try FileManager.default.createDirectory(at: home, withIntermediateDirectories: true)
        let owner = try OwnerLock(
            at: home.appendingPathComponent("owner.lock").path, takeOver: false)
        let client = RepriseClient(configuration)
        try client.record(tap("a"))
        try await client.received(tap("a"))
        let event = try await client.recordEvent("checkout", properties: ["total": 12])
        try await eventually("it waits") {
            isWaiting(client, .journalOwned)
        }
        let files = home.appendingPathComponent("early/spool").path
        #expect(try FileManager.default.contentsOfDirectory(atPath: files).count == 3)
        owner.release()
        let journal = try await client.journal
        #expect(try await journal.entry(tap("a").tapID) != nil)
        #expect(try await journal.entry(event) != nil)
        #expect(try await client.ledger().accepted == 2)
        #expect(try FileManager.default.contentsOfDirectory(atPath: files).isEmpty)
        await client.close()
    }

    @Test("A tap and an event that meet a journal which is being closed are in the next one")
    func closedMeanwhile() async throws {
        let configuration = withForms()
        let client = RepriseClient(configuration)
        try await client.journal.close()
        try await client.received(tap("a"))
        let event = try await client.recordEvent("checkout")
        await client.close()
        let next = RepriseClient(configuration)
        let journal = try await next.journal
        #expect(try await journal.entry(tap("a").tapID) != nil)
        #expect(try await journal.entry(event) != nil)
        await next.close()
    }

    @Test(
        "A process that is killed while it records taps and opens its journal has all of them later",
        arguments: 0..<5)
    func killed(round: Int) async throws {
        let configuration = withForms()
        let home = try #require(configuration.folder)
        let promised = try await onThread { () -> Set<String> in
            let process = try ChildProcess(
                .sibling("AccountSwitcher"), ["taps", home.path, "100000"])
            var promised: Set<String> = []
            while promised.count < 10 << round, let line = process.readLine() {
                promised.insert(String(line.split(separator: " ")[1]))
            }
            process.signal(SIGKILL)
            while let line = process.readLine() {
                promised.insert(String(line.split(separator: " ")[1]))
            }
            #expect(process.wait() == .signal(SIGKILL))
            return promised
        }
        #expect(promised.count >= 10 << round)
        let client = RepriseClient(configuration)
        let stored = try await client.journal.read { db in
            try String.fetchAll(db, sql: "SELECT id FROM entry")
        }
        #expect(Set(stored).isSuperset(of: promised))
        // One more at most: recorded, and not promised yet.
        #expect(stored.count <= promised.count + 1)
        await client.close()
    }

    @Test("A list alone brings what others have sent, in every account")
    func listSubscribes() async throws {
        var configuration = configuration()
        configuration.tokens = { request in try AccessToken("\(request.user.text).Yg.1") }
        let client = RepriseClient(configuration)
        let general = client.channel("general", of: Note.self)
        let texts = Seen<[String]>()
        let listing = Task {
            for await list in general.messages() {
                texts.add(
                    list.map { if case .body(let note) = $0.content { note.text } else { "" } })
            }
        }
        try server.post(Note(text: "hello"), to: "general", from: "bob")
        try await running(client) {
            try await client.signIn("ada", tokens: nil)
            try await eventually("it comes") { texts.all.last == ["hello"] }
            let ofAda = texts.count
            try await client.signIn("eve", tokens: nil)
            try await eventually("it comes to eve") {
                texts.all.dropFirst(ofAda).last == ["hello"]
            }
        }
        listing.cancel()
    }

    @Test("An early reply is sent once the client runs, and does not hold up the connection")
    func earlyReply() async throws {
        var configuration = configuration()
        configuration.notices = Notices.Configuration()
        configuration.notifications = MemoryNotifications(clock: ManualClock()).connect()
        let client = RepriseClient(configuration)
        try client.record(try reply())
        try await running(client) {
            // A reply is waited for up to twenty seconds where the system gives time for it.
            try await eventually("it connects") { server.dialled > 0 }
            for await list in client.channel("general", of: Note.self).messages()
            where list.map(\.content) == [.body(Note(text: "hello"))] { break }
        }
    }

    @Test(
        "What the system has woken the app for is over in time, also while the journal is being opened",
        .limit("client.wake"), arguments: [("push", 25), ("reply", 25), ("transfers", 20)])
    func wokenDuringOpening(cause: String, seconds: Int) async throws {
        let calendar = HeldCalendar()
        let (client, reply) = (opening(calendar), try reply())
        let end = calendar.uptime() + .seconds(seconds)
        let over = Task {
            switch cause {
            case "push": await client.receivedPush(reply.notification.request.content.info)
            case "reply": try await client.received(reply)
            default: await client.transfersEnded()
            }
        }
        try await eventually("it waits") { calendar.time.sleepers.contains(end) }
        calendar.time.advance(by: .seconds(seconds))
        try await over.value
        calendar.release()
        await client.close()
    }

    @Test(
        "A reply that is not sent has what the opening of the journal has left of 25 seconds",
        .limit("client.wake"))
    func replyAfterOpening() async throws {
        let calendar = HeldCalendar()
        let (client, reply) = (opening(calendar), try reply())
        let start = calendar.uptime()
        // Nobody runs the client.
        let over = Task { try await client.received(reply) }
        try await eventually("it waits") {
            calendar.time.sleepers.contains(start + .seconds(25))
        }
        calendar.time.advance(by: .seconds(15))
        calendar.release()
        try await eventually("the journal is open") { client.state == .open(nil) }
        // Of its own twenty it has no more.
        calendar.time.advance(by: .seconds(10))
        try await over.value
        await client.close()
    }

    @Test("An early button of a reminder is done once the client runs, and holds up nothing")
    func earlyButton() async throws {
        let store = MemoryReminderStore()
        store.save(Entity(id: "g1", title: "Read"))
        var reminders = Reminders.Configuration(store: store)
        reminders.actions = [
            ReminderActionRule("log", category: "goal", title: "Log…", does: .log)
        ]
        var configuration = configuration()
        configuration.reminders = reminders
        configuration.notifications = MemoryNotifications(clock: ManualClock()).connect()
        // Nobody moves it: a wait for the effect that begins before the feature never ends.
        configuration.clock = ManualClock()
        let client = RepriseClient(configuration)
        var press = tap("a")
        press.notification.request.content.info =
            ReminderInfo(
                route: Route(sort: "goal", id: "g1"), reminder: "x", occurrence: "2027-01-15T07:30"
            ).payload
        press.notification.request.content.category = "goal"
        press.action = .button("log")
        try client.record(press)
        let received = Task { [press] in try await client.received(press) }
        try await running(client) {
            try await received.value
            #expect(store.commands.map(\.id) == [press.tapID])
            try await eventually("it connects") { server.dialled > 0 }
        }
    }

    @Test("The largest event may come early; it waits in the journal where forms were removed")
    func largestEarly() async throws {
        var configuration = withForms()
        let first = RepriseClient(configuration)
        await first.close()  // records without opening
        let text = String(repeating: "\u{1}\"é", count: 6_500)
        let id = try await first.recordEvent("checkout", properties: ["text": text])
        configuration.forms = nil
        let client = RepriseClient(configuration)
        #expect(try await client.journal.entry(id)?.state == .pending)
        await client.close()
    }

    @Test("An early file that cannot be read is moved aside, and the others are recorded")
    func damagedEarly() async throws {
        let configuration = withForms()
        let home = try #require(configuration.folder)
        let first = RepriseClient(configuration)
        await first.close()  // records without opening
        try first.record(tap("a"))
        let spool = home.appendingPathComponent("early/spool")
        try Data("nonsense".utf8).write(to: spool.appendingPathComponent("0-bad.json"))
        // A record of another version of the app.
        let payload = Data(#"{"gesture":{"id":"g"}}"#.utf8).base64EncodedString()
        let file = #"{"version":1,"id":"g","kind":"early","source":"app","recordedAt":1"#
        try Data("\(file),\"payload\":\"\(payload)\"}".utf8).write(
            to: spool.appendingPathComponent("0-later.json"))
        let client = RepriseClient(configuration)
        let journal = try await client.journal
        #expect(try await journal.entry(tap("a").tapID) != nil)
        let aside = home.appendingPathComponent("early/aside").path
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: aside).sorted()
                == ["spool-0-bad.json", "spool-0-later.json"])
        await client.close()
    }

    @Test("4,096 taps wait; one more is refused, and says so", .limit("client.early"))
    func manyEarly() async throws {
        let configuration = withForms()
        let spool = try #require(configuration.folder).appendingPathComponent("early/spool")
        try FileManager.default.createDirectory(at: spool, withIntermediateDirectories: true)
        for number in 1..<4_096 {
            try Data().write(to: spool.appendingPathComponent("\(number).json"))
        }
        let client = RepriseClient(configuration)
        await client.close()
        try client.record(tap("last"))
        expectError(.full) { try client.record(tap("one more")) }
    }

    @Test(
        "run() goes on as soon as the process ends that had the journal", .limit("client.reopen"))
    func waits() async throws {
        let configuration = configuration()
        let home = try #require(configuration.folder)
        try FileManager.default.createDirectory(at: home, withIntermediateDirectories: true)
        let lock = home.appendingPathComponent("owner.lock").path
        let owner = try OwnerLock(at: lock, takeOver: false)
        let client = RepriseClient(configuration)
        try await running(client) {
            try await eventually("it waits") {
                isWaiting(client, .journalOwned)
            }
            owner.release()
            await client.foreground()
            try await eventually("it is open") { client.state == .open(nil) }
        }
    }

    @Test(
        "A feature that fails runs again; what only a change of the app can mend ends it",
        .limit("client.rerun"))
    func rerun() async throws {
        let runner = AccountRunner(configuration: configuration())
        let runs = Seen<Int>()
        try await runner.keep("a") {
            runs.add(runs.count)
            guard runs.count > 2 else { throw RepriseError(.diskFull, "") }
        }
        #expect(runs.count == 3)
        await expectError(.malformed) {
            try await runner.keep("b") { throw RepriseError(.malformed, "") }
        }
    }

    @Test("Of 1,001 unreadable messages an update tries 1,000 again", .limit("client.reread"))
    func reread() async throws {
        try server.fill("general", with: 1_001)
        let old = RepriseClient(configuration())
        let channel = old.channel("general", of: Note.self)
        try await channel.consume(as: "inbox") { _ in }
        try await running(old) {
            try await eventually("all are dead") {
                try await old.ledger().outcomes[.dead] == 1_001
            }
        }
        let new = RepriseClient(configuration())
        let numbers = Seen<Int>()
        let updated = new.channel("general", of: Int.self)
        try await updated.consume(as: "inbox") { message in
            if case .body(let number) = message.content { numbers.add(number) }
        }
        try await running(new) {
            try await eventually("1,000 are delivered") { numbers.count == 1_000 }
            try await eventually("one is left") {
                try await updated.failures(of: "inbox").count == 1
            }
        }
    }

    // MARK: Bad configuration

    @Test(
        "A configuration that cannot work is reported at once, with the line to write: in the state, and by run()",
        arguments: [
            ("server", "server = "), ("address", "http"), ("dialer", "dialer = "),
            ("webViews", "webViews = "), ("catalogue", "transport = "),
            ("store", "reminders = .init(store:"), ("centre", "notifications = "),
        ])
    func misconfigured(_ what: String, _ line: String) async throws {
        var bad = configuration()
        switch what {
        case "server": bad.server = ""
        case "address": bad.server = "ftp://x"
        case "dialer": bad.dialer = nil
        case "webViews": bad.forms = Forms.Configuration()
        case "catalogue":
            bad.forms = Forms.Configuration()
            bad.webViews = NoWebViews()
        case "store": bad.reminders = Reminders.Configuration()
        default: bad.notices = Notices.Configuration()
        }
        let client = RepriseClient(bad)
        guard case .failed(let error) = client.state else {
            Issue.record("it is \(client.state)")
            return
        }
        #expect(error.code == (what == "address" ? .badAddress : .badConfiguration))
        #expect(error.remedy?.contains(line) == true)
        await #expect(throws: error) { try await client.run() }
        await #expect(throws: error) {
            try await client.channel("a", of: Note.self).publish(Note(text: ""))
        }
    }

    @Test("Subscriptions to one channel that are asked for at once do not refuse one another")
    func subscribedAtOnce() async throws {
        let client = RepriseClient(configuration())
        let channel = client.channel("general", of: Note.self)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<64 {
                group.addTask {
                    try await channel.subscribe()
                    try await channel.onSnapshot { _ in }
                }
            }
            try await group.waitForAll()
        }
        await client.close()
    }

    @Test("A feature that is not configured says so, and a second run is refused")
    func refused() async throws {
        let client = RepriseClient(configuration())
        await expectError(.badConfiguration) {
            try await client.recordEvent("checkout")
        }
        try await running(client) {
            try await eventually("open") { client.state == .open(nil) }
            await expectError(.badConfiguration) { try await client.run() }
        }
        await expectError(.closed) { try await client.run() }
    }

    @Test("A configuration that fails once the journal is open ends run() with its error")
    func malformedCatalogue() async throws {
        let client = RepriseClient(withForms())
        await expectError(.malformed) { try await client.run() }
        await client.close()
    }

    // MARK: Permission

    @Test(
        "Asking for permission returns the answer, once given the same; quietly it asks nobody",
        arguments: [
            (
                NotificationSettings.Authorization.notDetermined, false,
                NotificationSettings.Authorization.authorized
            ),
            (.notDetermined, true, .provisional), (.denied, false, .denied),
            (.denied, true, .denied),
            (.authorized, true, .authorized),
        ])
    func permission(
        before: NotificationSettings.Authorization, isProvisional: Bool,
        after: NotificationSettings.Authorization
    ) async throws {
        let system = MemoryNotifications(clock: ManualClock())
        system.allow(before)
        var configuration = configuration()
        configuration.notifications = system.connect()
        let client = RepriseClient(configuration)
        for _ in 0..<2 {
            #expect(try await client.requestNotifications(provisional: isProvisional) == after)
        }
        configuration.notifications = nil
        let without = RepriseClient(configuration)
        let error = await #expect(throws: RepriseError.self) {
            try await without.requestNotifications()
        }
        #expect(error?.code == .badConfiguration)
        await client.close()
    }
}
