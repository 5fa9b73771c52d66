import Foundation
import RepriseCommandLine
import RepriseCore
import ReprisePhone

extension FormsDemo {
    /// The server with its catalogue, the phone and its browser.
    struct Fixture: Sendable {
        let url: String
        let phone: DemoPhone
        /// The DevTools address of the phone's browser.
        let browser: String
        let hasPicture = Shared(false)
    }

    static func fixture(in folder: DemoFolder, _: DemoSettings) async throws -> Fixture {
        let url = try await folder.server().url
        let file = folder.url.appendingPathComponent("forms.json")
        try Data(FormsDemoCatalogue.json.utf8).write(to: file)
        let push = try DemoProcess(
            .reprise, ["forms", "push", file.path, "--server", url, "--json"],
            log: folder.url.appendingPathComponent("push.log"))
        _ = try await push.line()
        await push.terminate()
        let phone = try await folder.phone()
        return Fixture(url: url, phone: phone, browser: try await warmUp(phone))
    }

    /// The system's part of a web view is there before any app: no launch pays for the browser's
    /// start.
    private static func warmUp(_ demo: DemoPhone) async throws -> String {
        let phone = demo.phone
        try await phone.install(
            PhoneAppSpec(
                id: "warm", executable: demo.program,
                arguments: ["app", "forms", "--server", "none", "--warm-up"]))
        try await phone.launch("warm")
        let browser = try await phone.expects(.report("browser", app: "warm"), within: .seconds(60))
        try await phone.ask(.uninstall(app: "warm"))
        return browser.detail
    }

    static func begin(
        _ scenario: FormsScenario, as algorithm: App, on fixture: Fixture, number: Int
    ) async throws -> FormsSession {
        let app = try await fixture.phone.begin(
            scenario, as: algorithm, number: number,
            ["forms", "--as", algorithm.rawValue, "--server", fixture.url])
        try await app.install(scenario.arguments)
        try await app.phone.permit(app: app.id)
        let isPictured = fixture.hasPicture.update { has in
            guard !has, algorithm == .reprise, !scenario.forms.isEmpty else { return false }
            has = true
            return true
        }
        let observer = FormsObserver(
            app: app.id, browser: fixture.browser, takesPicture: isPictured,
            action: scenario.action, clock: app.clock)
        return FormsSession(
            app: app, observer: observer, observing: Task { await observer.watch() })
    }

    static func observe(_ session: FormsSession, of: FormsScenario) async throws -> Observation {
        try await session.settle()
        return Observation(
            sightings: await session.observer.sightings, picture: await session.observer.picture)
    }
}
