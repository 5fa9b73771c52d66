import Foundation
import RepriseCommandLine
import RepriseCore
import RepriseFakes
import ReprisePhone
import RepriseTesting
import RepriseWire

extension NoticesDemo {
    /// A phone, a server and what brings pushes from one to the other.
    struct Fixture: Sendable {
        let folder: DemoFolder
        let phone: DemoPhone
        let server: DemoServer
        let apple: NoticesApple

        /// Ada makes a conversation with a person.
        func make(
            _ channel: String, with person: String, by ada: NoticesCaller
        ) async throws {
            try await ada.send(
                "PUT", ["channels", channel],
                #"{"title":"The \#(channel)","visibility":"private"}"#)
            try await ada.send("PUT", ["channels", channel, "members", person])
        }
    }

    static func fixture(in folder: DemoFolder, _: DemoSettings) async throws -> Fixture {
        let apple = try await NoticesApple(in: folder.url)
        folder.atEnd { await apple.end() }
        let server = try await folder.server(["--dev"] + apple.options)
        let phone = try await folder.phone()
        let delivering = Task { await apple.deliver() }
        folder.atEnd { delivering.cancel() }
        return Fixture(folder: folder, phone: phone, server: server, apple: apple)
    }

    /// The phone's push address, once it listens.
    private static func address(of phone: Phone) async throws -> PushEndpoint.Address {
        var address: PushEndpoint.Address?
        try await Waiting.isTrue(within: .seconds(30)) {
            address = PushEndpoint.Address(in: phone.folder)
            return address != nil
        }
        guard let address else { throw CommandFailure(.internal, "The phone takes no pushes.") }
        return address
    }

    static func begin(
        _ scenario: NoticesScenario, as algorithm: App, on fixture: Fixture, number: Int
    ) async throws -> NoticesSession {
        var others: [NoticesSession] = []
        for place in 1..<scenario.phones {
            let phone = try await fixture.folder.phone("phone\(number)-\(place)")
            others.append(
                try await session(
                    "\(number)-\(place)", of: scenario, as: algorithm, on: phone, fixture,
                    number: number))
        }
        return try await session(
            "\(number)", of: scenario, as: algorithm, on: fixture.phone, fixture, number: number,
            others: others)
    }

    /// A person with a phone; `suffix` is in no other's names.
    private static func session(
        _ suffix: String, of scenario: NoticesScenario, as algorithm: App, on phone: DemoPhone,
        _ fixture: Fixture, number: Int, others: [NoticesSession] = []
    ) async throws -> NoticesSession {
        let (url, person) = (await fixture.server.url, "person\(suffix)")
        let isReprise = algorithm == .reprise
        let ada = try await NoticesCaller.make("ada", at: url)
        let elsewhere = try await NoticesCaller.make(person, at: url)
        let channels = ["team\(suffix)", "club\(suffix)"]
        for channel in channels { try await fixture.make(channel, with: person, by: ada) }
        var app = try await phone.begin(
            scenario, as: algorithm, number: number,
            [
                isReprise ? "notices" : "notices-seed", "--server", url, "--user", person,
                "--token", elsewhere.token.secret,
            ] + channels.flatMap { ["--channel", $0] })
        var pushToken: String?
        if scenario.isPushed && isReprise {
            let token = fixture.apple.install(app.id, at: try await address(of: phone.phone))
            app.spec.arguments += ["--push-token", token]
            pushToken = token
        }
        if isReprise {
            app.spec.serviceExtension = app.spec.executable
            app.spec.extensionArguments = ["app", "notices-extension"]
        }
        try await app.install()
        try await app.phone.permit(app: app.id)
        return NoticesSession(
            app: app, fixture: fixture, person: person, channels: channels, sender: ada,
            elsewhere: elsewhere, pushToken: pushToken, others: others)
    }

    /// The person opens the app; when all is idle, or at a timeout, the result is judged.
    static func observe(_ session: NoticesSession, of scenario: NoticesScenario) async throws
        -> Observation
    {
        for each in session.all { try await each.open() }
        var seen = try await session.observation(of: scenario)
        try await Waiting.isTrue(within: session.timeout) {
            seen = try await session.observation(of: scenario)
            let run: Run = try await session.run(of: scenario, seen)
            return ScenarioResult(scenario: scenario, runs: [run]).faults(run).isEmpty
                && (!session.isReprise
                    || zip(session.all, [run] + seen.others).allSatisfy { $0.isLive($1.log) })
        }
        await session.terminal.value?.end()
        for token in session.all.compactMap(\.pushToken) {
            session.fixture.apple.apns.uninstall(token, since: Date())
        }
        return seen
    }
}
