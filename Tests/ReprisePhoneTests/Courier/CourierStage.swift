import Foundation
import RepriseCore
import RepriseNIO
import ReprisePhone
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

/// A real phone with the courier's app on it, a real server where bob writes, and the office.
final class CourierStage: Sendable {
    static let refresh = "org.example.courier.refresh"
    private static let app = "courier"

    let phone: Phone
    private let server: ChildProcess
    private let office: ChildProcess
    private let url: String
    private let officeURL: String

    /// Plays a scenario, in which ada is signed in and has order 7, due in ten minutes, or daily.
    ///
    /// A photo takes `slow` seconds. If she permits notifications the order's stands. With
    /// `hasForms` the server has the office's. Leaves nothing behind however it ends.
    static func play(
        rules: PhoneRules = PhoneRules(), slow: Double = 0, daily: Bool = false,
        permits: Bool = true, hasForms: Bool = false,
        _ body: (CourierStage) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        let phone = try await Phone.start(
            in: folder.url.appendingPathComponent("p"),
            supervisor: .init(program: .sibling("PhoneProbe"), arguments: ["phone"]), rules: rules)
        do {
            let stage = try CourierStage(phone, in: folder.url, slow: slow)
            defer { stage.end() }
            if hasForms { try await stage.pushForms() }
            try await stage.begin(daily: daily, permits: permits)
            try await body(stage)
            try await stage.checkLedger()
        } catch {
            // Whether the app slept, or was still at it.
            let log = (try? await phone.log().suffix(40)) ?? []
            for event in log { print("\(event.at.milliseconds) \(event.what) \(event.detail)") }
            await phone.end()
            throw error
        }
        await phone.end()
    }

    private init(_ phone: Phone, in folder: URL, slow: Double) throws {
        self.phone = phone
        let reprise = URL.sibling("reprise")
        server = try ChildProcess(
            reprise,
            [
                "serve", "--dev", "--port", "0", "--data",
                folder.appendingPathComponent("s").path, "--json",
            ])
        struct Ready: Decodable { var url: String }
        url = try JSONDecoder().decode(Ready.self, from: Data((server.readLine() ?? "").utf8)).url
        office = try ChildProcess(
            Command.root.appendingPathComponent("Examples/Courier/office"),
            [
                "--server", url, "--reprise", reprise.path, "serve", "--port", "0", "--slow",
                "\(slow)",
            ])
        officeURL = (office.readLine() ?? "").split(separator: " ").last.map(String.init) ?? ""
    }

    private func end() {
        _ = server.kill()
        _ = office.kill()
    }

    private func begin(daily: Bool, permits: Bool) async throws {
        try await tell(
            "PUT", "channels/orders", #"{"title":"Orders","visibility":"private"}"#, "office")
        try await tell("PUT", "channels/orders/members/ada", "{}", "office")
        try await tell("PUT", "channels/order-7", #"{"title":"7","visibility":"private"}"#, "bob")
        try await tell("PUT", "channels/order-7/members/ada", "{}", "bob")
        try await phone.install(
            PhoneAppSpec(
                id: Self.app, executable: URL.sibling("CourierOnPhone").path,
                arguments: [url, officeURL],
                serviceExtension: URL.sibling("CourierOnPhone").path,
                extensionArguments: ["extension"],
                backgroundTasks: ["reprise.chains", Self.refresh],
                readableWhileLocked: ["reprise/early"]))
        try await phone.launch()
        try await does("signIn ada")
        if permits { try await does("permit") }
        try await announces("7", daily: daily)
        try await phone.expects(.report("orders", "7 active"))
        if permits { try await phone.expects(.phone(.delivered, "o7")) }
    }

    // MARK: The person and the system

    /// The person does something in the app.
    func does(_ deed: String) async throws {
        let file = phone.folder.data(of: Self.app).appendingPathComponent("deeds")
        try Data(deed.utf8).write(to: file, options: .atomic)
        try await phone.expects(.report("did", deed))
    }

    /// The app is suspended in the background, with nothing left to do.
    func sleeps() async throws {
        try await phone.home()
        try await phone.expects(.phone(.background))
        // The client keeps its connection for most of its time. Where it heard of that after the
        // clock was moved, the system ends it, at its pace: 3 s later, and 3 s until it kills.
        try await phone.advance(by: .seconds(24))
        try await phone.expects(.phone(.suspended))
    }

    /// The system ends the app.
    func dies() async throws {
        try await phone.kill()
        try await phone.expects(.phone(.terminated))
    }

    /// The order's reminder is in the notification centre.
    func rings(within time: Duration = .seconds(660)) async throws {
        try await eventually("it is planned") { try await !phone.app().pending.isEmpty }
        let id = try #require(try await phone.app().pending.first?.id)
        try await dies()
        try await phone.advance(by: time)
        try await phone.expects(.phone(.delivered, id))
    }

    /// What stands in the notification centre, and the number on the icon.
    func shows(_ badge: Int, _ standing: [String]) async throws {
        try await eventually("the badge is \(badge), and \(standing) stands") {
            let app = try await phone.app()
            return app.badge == badge
                && app.delivered.map(\.request.id).sorted() == standing.sorted()
        }
    }

    /// How often an order came to the screen.
    func screens() async throws -> [String] {
        try await phone.log().filter { $0.what == "app.screen" }.map(\.detail)
    }

    /// The earliest time of the app's refresh task comes while the app is dead: it asks for no
    /// later one.
    func refreshIsDue() async throws {
        try await eventually("it is asked for") {
            try await phone.app().tasks.contains { $0.id == Self.refresh }
        }
        try await dies()
        let task = try await phone.app().tasks.first { $0.id == Self.refresh }
        let earliest = task?.earliest ?? WallTime(milliseconds: 0)
        let wait = try await phone.status().now.duration(to: earliest)
        if wait > .zero { try await phone.advance(by: wait + .seconds(1)) }
    }

    // MARK: Bob and the office

    /// The office announces an order, due in ten minutes.
    func announces(_ id: String, daily: Bool = false) async throws {
        let (day, time) = try await phone.status().now.minuteInUTC(plus: 10)
        let days = daily ? #"{"on":"day"}"# : #"{"on":"once","day":"\#(day)"}"#
        try await tell(
            "POST", "channels/orders/messages",
            #"{"id":"o\#(id)","body":{"id":"\#(id)","customer":"bob","street":"Elm","due":{"v":1,"days":\#(days),"times":["\#(time)"]}}}"#,
            "office")
    }

    /// The office's forms are there, and the channel of their answers.
    private func pushForms() async throws {
        try await tell(
            "PUT", "channels/forms-answers", #"{"title":"Answers","visibility":"inbox"}"#, "office")
        let file = Command.root.appendingPathComponent("Examples/Courier/forms.json").path
        let said = try await Tool.run("forms", "push", file, "--as", "root", "--server", url)
        try #require(said.status == 0, "\(said.error)")
    }

    /// Bob writes about the order.
    func writes(_ id: String, _ text: String = "Ring twice") async throws {
        try await tell(
            "POST", "channels/order-7/messages", #"{"id":"\#(id)","body":{"text":"\#(text)"}}"#,
            "bob")
    }

    /// The office begins a conversation.
    func talks(_ id: String, _ text: String = "Who takes Sunday?") async throws {
        try await tell(
            "PUT", "channels/shift", #"{"title":"The shift","visibility":"private"}"#, "office")
        try await tell("PUT", "channels/shift/members/ada", "{}", "office")
        try await tell(
            "POST", "channels/shift/messages",
            #"{"id":"\#(id)","body":{"text":"\#(text)","notice":{"sender":"Office"}}}"#, "office")
    }

    /// Ada reads on another device.
    func readsElsewhere(through seq: Int64) async throws {
        try await tell("PUT", "channels/order-7/positions", #"{"read":\#(seq)}"#, "ada")
    }

    /// The server's push of a message.
    func push(_ id: String, seq: Int64, badge: Int64) async throws {
        var hint = PushHint(kind: .alert, channel: try ChannelName("order-7"), seq: seq, head: seq)
        hint.id = try EntryID(id)
        hint.from = try UserID("bob")
        hint.sender = "Bob"
        hint.badge = .init(count: badge, asOf: WallTime(milliseconds: 1_800_000_000_000 + seq))
        let json = String(decoding: hint.json, as: UTF8.self)
        try await phone.push(
            #"{"aps":{"alert":{"title":"bob","body":"Ring twice"},"badge":\#(badge),"category":"message","mutable-content":1},"reprise":\#(json)}"#,
            headers: ["apns-collapse-id": id])
    }

    /// The server's push that shows nothing and wakes the app.
    func wake(seq: Int64, head: Int64) async throws {
        let hint = PushHint(
            kind: .dismiss, channel: try ChannelName("order-7"), seq: seq, head: head)
        let json = String(decoding: hint.json, as: UTF8.self)
        try await phone.push(
            #"{"aps":{"content-available":1},"reprise":\#(json)}"#, headers: Phone.silentHeaders)
    }

    /// How often a text stands in a channel, by the server.
    func count(
        of text: String, in channel: String = "order-7", by user: String = "ada"
    ) async throws -> Int {
        try await ask("channels/\(channel)/messages", user).components(separatedBy: text).count - 1
    }

    /// What stands in the notification centre.
    func content(of id: String) async throws -> NotificationContent? {
        try await phone.app().delivered.first { $0.request.id == id }?.request.content
    }

    /// The office answers nothing that it is asked, until ``officeGoesOn()``.
    func officeStops() { office.signal(SIGSTOP) }

    func officeGoesOn() { office.signal(SIGCONT) }

    /// The office's next line that says this.
    func officeSays(_ words: String) async throws -> String {
        let office = office
        // Its end ends the wait for a line.
        let limit = Task {
            try await Task.sleep(for: .seconds(40))
            _ = office.kill()
        }
        defer { limit.cancel() }
        return try await onThread {
            while let line = office.readLine() { if line.contains(words) { return line } }
            throw RepriseError(.timedOut, "The office has not said “\(words)”.")
        }
    }

    /// The customer is told once, after three uploads each of which took effect once.
    func isProved() async throws {
        try await becomes("the customer is told", 1) { try await count(of: "It is delivered") }
        var places: [String] = []
        while places.count < 3 {
            let line = try await officeSays("gets /")
            if line.contains("again") { continue }
            let place = line.split(separator: " ").last { $0.hasPrefix("/") }
            places.append(String(place ?? "nowhere"))
        }
        #expect(places.sorted() == ["/archive/7:", "/customer/7:", "/office/7:"])
    }

    private func token(_ user: String) async throws -> String {
        struct Answer: Decodable { var token: String }
        let answer = try await NIOTransport().fetch(
            HTTPCall(url: "\(url)/v1/dev/token?user=\(user)"), limit: 65_536)
        return try JSONDecoder().decode(Answer.self, from: Data(answer.body)).token
    }

    private func tell(_ method: String, _ path: String, _ json: String, _ user: String)
        async throws
    {
        let answer = try await NIOTransport().fetch(
            HTTPCall(
                method: method, url: "\(url)/v1/\(path)",
                headers: [
                    "authorization": "Bearer " + token(user), "content-type": "application/json",
                ], body: .bytes(Array(json.utf8))), limit: 1_048_576)
        let words = String(decoding: answer.body, as: UTF8.self)
        try #require(answer.status < 300, "\(method) \(path): \(words)")
    }

    private func ask(_ path: String, _ user: String) async throws -> String {
        let answer = try await NIOTransport().fetch(
            HTTPCall(
                url: "\(url)/v1/\(path)", headers: ["authorization": "Bearer " + token(user)]),
            limit: 1_048_576)
        return String(decoding: answer.body, as: UTF8.self)
    }

    // MARK: The ledger

    /// When the app is dead its journal's sum adds up, and has nothing dead and nothing lost.
    private func checkLedger() async throws {
        struct Sum: Decodable {
            var accepted: Int
            var outcomes: [String: Int]
            var lost: Int
            var balanced: Bool
        }
        if try await phone.app().process != nil { try await dies() }
        let home = phone.folder.data(of: Self.app).appendingPathComponent("reprise")
        let paths = FileManager.default.enumerator(atPath: home.path)?.compactMap { $0 as? String }
        let journals = (paths ?? []).filter { $0.hasSuffix("journal.sqlite") }
        try #require(!journals.isEmpty)
        for journal in journals {
            let folder = home.appendingPathComponent(journal).deletingLastPathComponent()
            let said = try await Tool.run("ledger", "--journal", folder.path, "--json")
            let sum = try JSONDecoder().decode(Sum.self, from: Data(said.output.utf8))
            #expect(sum.balanced && sum.lost == 0, "\(said.output)")
            #expect(sum.outcomes["dead"] == 0 && sum.outcomes["unconfirmed"] == 0, "\(said.output)")
        }
    }
}

extension WallTime {
    /// The day and the time of day in the phone's zone, so many minutes later.
    fileprivate func minuteInUTC(plus minutes: Int) -> (day: String, time: String) {
        let date = Date(timeIntervalSince1970: Double(milliseconds) / 1_000 + Double(minutes) * 60)
        let text = date.formatted(.iso8601)
        return (String(text.prefix(10)), String(text.dropFirst(11).prefix(5)))
    }
}
