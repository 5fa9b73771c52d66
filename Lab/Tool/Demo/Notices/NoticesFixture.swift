import Foundation
import RepriseCommandLine
import RepriseCore
import RepriseFakes
import ReprisePhone
import RepriseWire

extension NoticesDemo {
    /// A phone, a server and what brings pushes from one to the other.
    struct Fixture: Sendable {
        let phone: DemoPhone
        let server: DemoServer
        let apple: NoticesApple
        let address: PushEndpoint.Address
    }

    static func fixture(in folder: DemoFolder, _: DemoSettings) async throws -> Fixture {
        let apple = try await NoticesApple(in: folder.url)
        folder.atEnd { await apple.end() }
        let server = try await folder.server(["--dev"] + apple.options)
        let phone = try await folder.phone()
        let address = try await address(of: phone.phone)
        let delivering = Task { await apple.deliver(to: address) }
        folder.atEnd { delivering.cancel() }
        return Fixture(phone: phone, server: server, apple: apple, address: address)
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
        let (url, person) = (await fixture.server.url, "person\(number)")
        let isReprise = algorithm == .reprise
        let ada = try await NoticesCaller.make("ada", at: url)
        let elsewhere = try await NoticesCaller.make(person, at: url)
        let channels = ["team\(number)", "club\(number)"]
        for channel in channels {
            try await ada.send(
                "PUT", ["channels", channel],
                #"{"title":"The \#(channel)","visibility":"private"}"#)
            try await ada.send("PUT", ["channels", channel, "members", person])
        }
        var app = try await fixture.phone.begin(
            scenario, as: algorithm, number: number,
            [
                isReprise ? "notices" : "notices-seed", "--server", url, "--user", person,
                "--token", elsewhere.token.secret,
            ] + channels.flatMap { ["--channel", $0] })
        let isPushed = scenario.isPushed && isReprise
        let pushToken = isPushed ? fixture.address.token(of: app.id) : nil
        if let pushToken {
            app.spec.arguments += ["--push-token", pushToken]
            fixture.apple.apns.install(pushToken)
        }
        if isReprise {
            app.spec.serviceExtension = app.spec.executable
            app.spec.extensionArguments = ["app", "notices-extension"]
        }
        try await app.install()
        try await app.phone.permit(app: app.id)
        return NoticesSession(
            app: app, fixture: fixture, person: person, channels: channels, sender: ada,
            elsewhere: elsewhere, pushToken: pushToken)
    }

    /// The person opens the app; when all is idle, or at a timeout, the result is judged.
    static func observe(_ session: NoticesSession, of scenario: NoticesScenario) async throws
        -> Observation
    {
        try await session.open()
        var seen = try await session.observation()
        let limit = session.isReprise ? .seconds(12) : session.timeout
        try await Waiting.isTrue(within: limit) {
            seen = try await session.observation()
            let run: Run = try await session.run(of: scenario, seen)
            return ScenarioResult(scenario: scenario, runs: [run]).faults(run).isEmpty
                && (!session.isReprise || session.isLive(run.log))
        }
        if let token = session.pushToken {
            session.fixture.apple.apns.uninstall(token, since: Date())
        }
        return seen
    }
}
