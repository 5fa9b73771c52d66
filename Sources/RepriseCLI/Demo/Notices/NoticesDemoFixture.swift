import Foundation
import Reprise
import RepriseCore
import RepriseFakes
import RepriseNIO
import RepriseNotices
import ReprisePhone

/// A phone, a server and what brings pushes from one to the other; each play has an app, a person
/// and conversations of its own on it.
actor NoticesDemoFixture {
    private let phone: Phone
    private let server: NoticesServer
    private let program: URL
    private let address: PushEndpoint.Address
    private let clock = FormsClock()
    private var plays = 0

    private init(
        phone: Phone, server: NoticesServer, program: URL, address: PushEndpoint.Address
    ) {
        self.phone = phone
        self.server = server
        self.program = program
        self.address = address
    }

    /// Sets up the fixture, calls `body` with it, and removes it.
    ///
    /// - Throws: ``CommandFailure``, ``RepriseError``; what `body` throws.
    static func with<T: Sendable>(_ body: (NoticesDemoFixture) async throws -> T) async throws -> T
    {
        try await DemoFolder.with { folder in
            let (pushes, taken) = AsyncStream<FakeRequest>.makeStream(
                bufferingPolicy: .bufferingNewest(10_000))
            let server = try await NoticesServer(
                in: folder.url.appendingPathComponent("server")
            ) { taken.yield($0) }
            var phone: Phone?
            var carrying: Task<Void, Never>?
            do {
                let started = try await Phone.start(
                    in: folder.url.appendingPathComponent("phone"),
                    supervisor: .tool(folder.program))
                phone = started
                let address = try await address(of: started)
                carrying = Task { await carry(pushes, to: address) }
                let stage = NoticesDemoFixture(
                    phone: started, server: server, program: folder.program, address: address)
                let result = try await body(stage)
                carrying?.cancel()
                await started.end()
                await server.end()
                return result
            } catch {
                carrying?.cancel()
                await phone?.end()
                await server.end()
                throw error
            }
        }
    }

    /// The phone's push address, once it listens.
    private static func address(of phone: Phone) async throws -> PushEndpoint.Address {
        let deadline = ContinuousClock.now + DemoTimeout.most
        while ContinuousClock.now < deadline {
            if let address = PushEndpoint.Address(in: phone.folder) { return address }
            try await Task.sleep(for: .milliseconds(5))
        }
        throw CommandFailure(.internal, "The phone takes no pushes.")
    }

    /// Delivers pushes from Apple's stand-in to the phone, one after the other.
    private static func carry(
        _ pushes: AsyncStream<FakeRequest>, to address: PushEndpoint.Address
    ) async {
        for await push in pushes {
            var headers = Dictionary(
                push.headers.filter { $0.name.hasPrefix("apns-") }.map { ($0.name, $0.value) }
            ) { first, _ in first }
            // On the phone each app of the demo is one of its own.
            headers["apns-topic"] = nil
            _ = try? await NIOFetcher().send(
                "POST", address.url + push.path, headers: headers, body: push.body, limit: 65_536)
        }
    }

    // MARK: Playing

    /// Plays a scenario with one of the apps.
    func play(_ scenario: NoticesScenario, as algorithm: NoticesAlgorithm) async throws
        -> NoticesRun
    {
        plays += 1
        let play = try await prepare(scenario, algorithm, "p\(plays)-\(scenario.name)")
        try await scenario.play(play)
        let run = try await play.ends()
        if let token = play.pushToken { server.apns.uninstall(token, since: Date()) }
        try await phone.ask(.uninstall(app: play.app))
        return run
    }

    private func prepare(
        _ scenario: NoticesScenario, _ algorithm: NoticesAlgorithm, _ app: String
    ) async throws -> NoticesScenarioRunner {
        let since = try await phone.status().lastEvent
        try await phone.online()
        try await phone.ask(.rules(scenario.rules))
        let url = await server.url
        let person = "person\(plays)"
        let team = try await NoticesCaller.make("ada", at: url)
        let play = NoticesScenarioRunner(
            phone: phone, server: server, program: program, app: app, algorithm: algorithm,
            person: person, channels: ["team\(plays)", "club\(plays)"], sender: team,
            elsewhere: try await NoticesCaller.make(person, at: url),
            pushToken: scenario.isPushed && algorithm == .reprise ? address.token(of: app) : nil,
            book: NoticesRecorder(), clock: clock, since: since)
        for channel in play.channels {
            try await team.send(
                "PUT", ["channels", channel],
                #"{"title":"The \#(channel)","visibility":"private"}"#)
            try await team.send("PUT", ["channels", channel, "members", person])
        }
        if let token = play.pushToken { server.apns.install(token) }
        try await play.installs()
        try await phone.permit(app: app)
        return play
    }
}
