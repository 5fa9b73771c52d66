import Foundation
import Reprise
import RepriseCommandLine
import RepriseCore
import RepriseNIO
import RepriseNotices
import ReprisePhone
import RepriseWire
import Synchronization

/// One of the apps with messages in one scenario, with a person and conversations of its own.
struct NoticesSession: PhoneSession {
    let phone: Phone
    let server: NoticesServer
    let program: URL
    let id: String
    let algorithm: NoticesAlgorithm
    /// The phone's user.
    let person: String
    let channels: [String]
    /// Ada, who sends.
    let sender: NoticesCaller
    /// The person, before another device.
    let elsewhere: NoticesCaller
    /// The app's push token; nil: no pushes.
    let pushToken: String?
    let recorder = NoticesRecorder()
    let clock: LogClock
    let since: Int

    var isReprise: Bool { algorithm == .reprise }
    func hasAdvanced(by time: Duration) { clock.move(by: time) }

    /// How long an effect may take before it is a fault; short for the original app where none of
    /// it runs any more.
    var timeout: Duration { isReprise ? .seconds(20) : .milliseconds(1_500) }

    // MARK: The app

    /// Installs the app, or replaces it by one that is started in another way.
    func install(_ arguments: [String] = [], extensionArguments: [String] = []) async throws {
        var all = [
            "app", isReprise ? "notices" : "notices-seed", "--server", await server.url, "--user",
            person, "--token", elsewhere.token.secret,
        ]
        for channel in channels { all += ["--channel", channel] }
        if let pushToken { all += ["--push-token", pushToken] }
        var spec = PhoneAppSpec(id: id, executable: program.path, arguments: all + arguments)
        if isReprise {
            spec.serviceExtension = program.path
            spec.extensionArguments = ["app", "notices-extension"] + extensionArguments
        }
        try await phone.install(spec)
    }

    /// The person opens the app, which is not there, and it has caught up.
    func launch() async throws {
        let before = try await log().last?.number ?? 0
        try await phone.launch(id)
        try await until("it has caught up") {
            let said = try await log().filter { $0.number > before }
            let live = Set(said.filter { $0.what == "app.live" }.map(\.detail))
            return live.isSuperset(of: channels)
                && (pushToken == nil || said.contains { $0.what == "app.registered" })
        }
    }

    /// The person comes back to the app, whether it runs or not.
    func open() async throws {
        let isThere = try await phone.app(id).process != nil
        if isThere { try await phone.launch(id) } else { try await launch() }
    }

    // MARK: People

    /// The same message in no other run.
    func message(_ name: String) -> String { "\(person)-\(name)" }

    /// Ada writes a message; returns when the server has stored it.
    func write(
        _ name: String, _ due: NoticesRecorder.Message.Due = .banner, in conversation: Int = 0
    ) async throws {
        let channel = channels[conversation]
        let seq = try await sender.publish(message(name), "Message \(name)", to: channel)
        recorder.note(
            NoticesRecorder.Message(
                id: message(name), channel: channel, seq: seq, microseconds: clock.microseconds,
                due: due))
    }

    func isDelivered(_ name: String) async throws -> Bool {
        try await phone.app(id).delivered.contains { $0.request.id == message(name) }
    }

    /// The person taps the banner of a message, if there is one, and its conversation is on the
    /// screen.
    func tap(_ name: String) async throws {
        guard try await isDelivered(name), let message = recorder.message(message(name)) else {
            return
        }
        recorder.taps(message.channel)
        let routes = try await count("app.route")
        try await phone.tap(message.id, app: id)
        try await isTrue(within: .seconds(30)) { try await count("app.route") > routes }
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
        try await elsewhere.read(channel, through: recorder.newest(in: channel))
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
        try await isTrue(within: limit ?? timeout) {
            due.isSubset(of: try await log().filter { $0.what == what }.map(\.detail))
        }
    }

    /// The figure at the icon is what is unread by the server.
    func checkBadge() async throws {
        var (saw, due) = (Int64(0), Int64(0))
        let isRight = try await isTrue(within: timeout) {
            saw = Int64(try await phone.app(id).badge)
            due = 0
            for channel in channels { due += try await elsewhere.standing(in: channel).unread }
            return saw == due
        }
        if !isRight { recorder.note(NoticesDemo.badge(saw: saw, due: due)) }
    }

    /// The app has reported what another person does.
    func checkSign(_ what: String, _ detail: String, or fault: String) async throws {
        let isSeen = try await isTrue(within: timeout) {
            try await log().contains { $0.what == "app.\(what)" && $0.detail == detail }
        }
        if !isSeen { recorder.miss(fault) }
    }

    // MARK: The end

    /// What was seen so far.
    func run(_ scenario: NoticesScenario) async throws -> NoticesDemo.Run {
        let status = try await phone.app(id)
        var standings: [String: NoticesStatus] = [:]
        for channel in channels {
            standings[channel] = try await elsewhere.standing(in: channel)
        }
        let reading =
            isReprise
            ? try NoticesReading.read(at: folder, schemas: Reprise.featureSchemas, limit: 0) : nil
        let seen = NoticesDemo.Observation(
            messages: recorder.messages, noted: recorder.faults, routes: recorder.routes,
            badge: Int64(status.badge), standings: standings,
            delivered: status.delivered.map(\.request),
            secondAlerts: reading?.counts.first { $0.what == "secondAlert" }?.count ?? 0)
        return ScenarioRun(
            scenario: scenario, app: algorithm, log: try await log(),
            ledger: isReprise ? try ledger() : nil, seen: seen)
    }

    /// Whether the running process has caught up: one that has just started has nothing to do yet.
    func isLive(_ log: [PhoneEvent]) -> Bool {
        guard isReprise else { return true }
        let since = log.last { $0.what == "launched" }?.number ?? 0
        let live = log.filter { $0.number > since && $0.what == "app.live" }.map(\.detail)
        return Set(live).isSuperset(of: channels)
    }
}

/// Records what a scenario expects, and the faults between its steps.
final class NoticesRecorder: Sendable {
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
    }

    private struct State {
        var messages: [Message] = []
        var faults: [ScenarioFault] = []
        var routes: [String] = []
    }

    private let state = Mutex(State())

    var messages: [Message] { state.withLock { $0.messages } }
    var faults: [ScenarioFault] { state.withLock { $0.faults } }
    /// The expected targets of taps, in order.
    var routes: [String] { state.withLock { $0.routes } }

    func note(_ message: Message) { state.withLock { $0.messages.append(message) } }
    func note(_ fault: ScenarioFault) { state.withLock { $0.faults.append(fault) } }
    /// A sign of other people was not seen.
    func miss(_ what: String) {
        note(.init("missed", what, "a sign of the others was not seen: \(what)"))
    }
    func taps(_ channel: String) { state.withLock { $0.routes.append(channel) } }
    func message(_ id: String) -> Message? { messages.first { $0.id == id } }
    func newest(in channel: String) -> Int64 {
        messages.last { $0.channel == channel }?.seq ?? 0
    }
}
