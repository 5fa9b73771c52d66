import Foundation
import Reprise
import RepriseCommandLine
import RepriseCore
import RepriseNIO
import RepriseNotices
import ReprisePhone
import RepriseTesting
import RepriseWire

/// One of the apps with messages in one scenario, with a person and conversations of its own.
struct NoticesSession: PhoneSession {
    let app: PlayedApp<NoticesAlgorithm>
    let fixture: NoticesDemo.Fixture
    /// The phone's user.
    let person: String
    let channels: [String]
    /// Ada, who sends.
    let sender: NoticesCaller
    /// The person, before another device.
    let elsewhere: NoticesCaller
    /// The app's push token; nil: no pushes.
    let pushToken: String?
    /// Further persons with phones of their own.
    let others: [NoticesSession]
    let notes = Shared(NoticesNotes())
    /// Ada's, once she has begun a conversation there.
    let terminal = Shared<NoticesTerminal?>(nil)

    /// Everybody with a phone.
    var all: [NoticesSession] { [self] + others }

    /// How long an effect may take before it is a fault; short for the original app where none of
    /// it runs any more.
    var timeout: Duration { isReprise ? .seconds(60) : .seconds(5) }

    // MARK: The app

    /// The person opens the app, which is not there, and it has caught up.
    func launch() async throws {
        let before = try await log().last?.number ?? 0
        try await phone.launch(id)
        try await until("it has caught up") {
            let said = try await log().filter { $0.number > before }
            return isLive(said)
                && (pushToken == nil || said.contains { $0.what == "app.registered" })
        }
    }

    /// The person comes back to the app, whether it runs or not.
    func open() async throws {
        let isThere = try await phone.app(id).process != nil
        if isThere { try await phone.launch(id) } else { try await launch() }
    }

    // MARK: People

    /// The id of a message, the same in no other run.
    func message(_ name: String) -> String { written(name)?.id ?? "\(person)-\(name)" }
    /// What was written of this name.
    func written(_ name: String) -> NoticesNotes.Message? {
        notes.value.messages.first { $0.name == name }
    }
    /// Those that were there before the app, and the one that Ada has begun since.
    var conversations: [String] { channels + notes.value.begun }
    func newest(in channel: String) -> Int64 {
        notes.value.messages.last { $0.channel == channel }?.seq ?? 0
    }

    /// Ada writes a message; returns when the server has stored it.
    func write(
        _ name: String, _ due: NoticesNotes.Message.Due = .banner, in conversation: Int = 0
    ) async throws {
        let channel = conversations[conversation]
        let seq = try await sender.publish(message(name), "Message \(name)", to: channel)
        let message = NoticesNotes.Message(
            id: message(name), channel: channel, seq: seq,
            microseconds: app.clock.microseconds, due: due)
        notes.update { $0.messages.append(message) }
    }

    /// Ada begins a conversation with the person, and writes.
    func begin(_ name: String) async throws {
        let channel = "new-\(channels[0])"
        try await fixture.make(channel, with: person, by: sender)
        notes.update { $0.begun.append(channel) }
        try await write(name, in: channels.count)
    }

    /// Ada begins one with everybody, at her terminal, and writes there.
    func beginAtTerminal(_ name: String) async throws {
        let channel = "new-\(channels[0])"
        let terminal = try NoticesTerminal(
            in: fixture.folder, clock: app.clock,
            [
                channel, "--as", "ada", "--title", "The \(channel)", "--server",
                await fixture.server.url,
            ] + all.flatMap { ["--with", $0.person] })
        self.terminal.update { $0 = terminal }
        for each in all { each.notes.update { $0.begun.append(channel) } }
        terminal.say("Message \(name)")
        let seq = try await has(name, by: "ada", in: terminal)
        // The terminal has made its id.
        let page = try await elsewhere.send("GET", ["channels", channel, "messages"])
        let stored = try page?.list("messages").map { try HTTPMembers($0) } ?? []
        guard let id = stored.first(where: { $0.integer("seq") == seq })?.text("id") else {
            throw CommandFailure(.internal, "The server has not what the terminal has said.")
        }
        for each in all { each.wrote(name, id: id, seq: seq, by: "ada") }
    }

    /// The person answers in the conversation that began; returns when the app has recorded it.
    func answer(_ name: String) async throws {
        guard let channel = notes.value.begun.last else { return }
        let answer = "\(channel) \(message(name)) Message \(name)"
        try Data(answer.utf8).write(
            to: folder.appendingPathComponent(NoticesApp.answers), options: .atomic)
        try await expectReport("said", message(name))
    }

    /// The terminal has the person's answer, and the others are to see it.
    func answerArrives(_ name: String) async throws {
        guard let terminal = terminal.value else { return }
        let seq = try await has(name, by: person, in: terminal)
        for other in others { other.wrote(name, id: message(name), seq: seq, by: person) }
    }

    /// - Returns: the sequence of a message in the terminal.
    private func has(
        _ name: String, by author: String, in terminal: NoticesTerminal
    ) async throws -> Int64 {
        notes.update { $0.said.append(name) }
        var seq: Int64?
        try await until("the terminal has \(name)") {
            seq = terminal.seq(of: "\(author): Message \(name)")
            return seq != nil
        }
        return seq ?? 0
    }

    /// A banner is expected, in the conversation that began.
    private func wrote(_ name: String, id: String, seq: Int64, by author: String) {
        notes.update { notes in
            guard let channel = notes.begun.last else { return }
            notes.messages.append(
                .init(
                    id: id, channel: channel, seq: seq, microseconds: app.clock.microseconds,
                    due: .banner, author: author, written: name))
        }
    }

    func isDelivered(_ name: String) async throws -> Bool {
        try await phone.app(id).delivered.contains { $0.request.id == message(name) }
    }

    /// The person taps the banner of a message, if there is one, and its conversation is on the
    /// screen.
    func tap(_ name: String) async throws {
        guard try await isDelivered(name), let message = written(name) else { return }
        notes.update { $0.routes.append(message.channel) }
        let routes = try await count("app.route")
        try await phone.tap(message.id, app: id)
        try await Waiting.isTrue(within: .seconds(30)) { try await count("app.route") > routes }
    }

    /// The person marks a message as read without opening the app; in the original app, by opening
    /// it.
    func markRead(_ name: String) async throws {
        guard isReprise else { return try await tap(name) }
        guard try await isDelivered(name) else { return }
        try await phone.tap(message(name), .button("read"), app: id)
    }

    /// The person reads on another device, all that is there.
    func readElsewhere(_ conversation: Int = 0) async throws {
        let channel = channels[conversation]
        try await elsewhere.read(channel, through: newest(in: channel))
    }

    func setQuietHours(from start: String, to end: String, in zone: String) async throws {
        try await elsewhere.send(
            "PUT", ["quiet-hours"],
            #"{"from":"\#(start)","to":"\#(end)","timeZone":"\#(zone)"}"#)
    }

    // MARK: Checks between the steps; what does not hold is a fault of the run

    /// The phone's log has events of this kind for all of these messages.
    func has(_ what: String, of names: [String], within limit: Duration? = nil) async throws {
        let due = Set(names.map(message))
        try await Waiting.isTrue(within: limit ?? timeout) {
            due.isSubset(of: try await log().filter { $0.what == what }.map(\.detail))
        }
    }

    /// The figure at the icon is what is unread by the server.
    func checkBadge() async throws {
        var (saw, due) = (Int64(0), Int64(0))
        let isRight = try await Waiting.isTrue(within: timeout) {
            saw = Int64(try await phone.app(id).badge)
            due = 0
            for channel in conversations { due += try await elsewhere.standing(in: channel).unread }
            return saw == due
        }
        if !isRight {
            let fault = NoticesDemo.badge(saw: saw, due: due)
            notes.update { $0.faults.append(fault) }
        }
    }

    /// The server knows that the person has read a message.
    func checkRead(_ name: String) async throws {
        guard let message = written(name) else { return }
        let isRead = try await Waiting.isTrue(within: timeout) {
            try await elsewhere.standing(in: message.channel).read >= message.seq
        }
        if !isRead { miss("\(name) is not read") }
    }

    /// The terminal shows who has read, and Ada's unread messages, as the server has them.
    func checkTerminal() async throws {
        guard let terminal = terminal.value, let channel = notes.value.begun.last else { return }
        let due = Set(all.map { "* \($0.person): has read everything" })
        if try await !terminal.answers("/who", within: timeout, { due.isSubset(of: $0) }) {
            miss("not read, in the terminal")
        }
        let unread = try await sender.standing(in: channel).unread
        let line = "* \(unread.grouped) unread."
        if try await !terminal.answers("/unread", within: timeout, { $0.contains(line) }) {
            miss("another count in the terminal")
        }
    }

    /// The app has reported what another person does.
    func checkSign(_ what: String, _ detail: String, or fault: String) async throws {
        let isSeen = try await Waiting.isTrue(within: timeout) {
            try await log().contains { $0.what == "app.\(what)" && $0.detail == detail }
        }
        if !isSeen { miss(fault) }
    }

    /// A sign of other people was not seen.
    func miss(_ what: String) {
        let fault = ScenarioFault("missed", what, "a sign of the others was not seen: \(what)")
        notes.update { $0.faults.append(fault) }
    }

    /// What the app has decided, the newest first; nil for the original app.
    func reading(limit: Int) throws -> NoticesReading? {
        guard isReprise else { return nil }
        return try NoticesReading.read(
            at: folder, schemas: AccountClient.featureSchemas, limit: limit)
    }

    // MARK: The end

    /// What was seen so far.
    func observation(of scenario: NoticesScenario) async throws -> NoticesDemo.Observation {
        let status = try await phone.app(id)
        var standings: [String: NoticesStatus] = [:]
        for channel in conversations {
            standings[channel] = try await elsewhere.standing(in: channel)
        }
        let reading = try reading(limit: 0)
        var runs: [NoticesDemo.Run] = []
        for other in others {
            let seen = try await other.observation(of: scenario)
            runs.append(try await other.run(of: scenario, seen))
        }
        return NoticesDemo.Observation(
            notes: notes.value, badge: Int64(status.badge), standings: standings,
            delivered: status.delivered.map(\.request),
            secondAlerts: reading?.counts.first { $0.what == "secondAlert" }?.count ?? 0,
            others: runs, terminal: terminal.value?.lines ?? [])
    }

    /// Whether the running process has caught up: one that has just started has nothing to do yet.
    func isLive(_ log: [PhoneEvent]) -> Bool {
        let since = log.last { $0.what == "launched" }?.number ?? 0
        let live = log.filter { $0.number > since && $0.what == "app.live" }.map(\.detail)
        return Set(live).isSuperset(of: channels)
    }
}

/// What a scenario expects, and the faults between its steps.
struct NoticesNotes: Sendable {
    /// One message, and what a person is to see of it.
    struct Message: Hashable, Sendable {
        /// The expected notification of a message.
        enum Due: Hashable, Sendable {
            /// A banner, before the app is opened.
            case banner
            /// At the latest when the app is opened.
            case atOpen
            /// No banner.
            case quiet
            /// Either way.
            case any
        }

        let id: String
        let channel: String
        let seq: Int64
        /// When the server had stored it, on the clock of the phone's log.
        let microseconds: Int64
        let due: Due
        /// Whose name a banner has.
        var author = "ada"
        /// Its name in the scenario; nil: its id ends with it.
        var written: String?

        var name: String { written ?? NoticesNotes.name(of: id) }
    }

    /// What a message of this id is called in the scenario.
    static func name(of id: String) -> String { String(id.split(separator: "-").last ?? "") }

    var messages: [Message] = []
    /// The conversations that began while the scenario was played.
    var begun: [String] = []
    var faults: [ScenarioFault] = []
    /// The expected targets of taps, in order.
    var routes: [String] = []
    /// What a terminal is to have, in order.
    var said: [String] = []
}
