import Foundation
import Reprise
import RepriseCore
import ReprisePhone

/// The server, the phone and its browser; each play has an app of its own on it.
actor FormsDemoFixture {
    private let folder: URL
    private let server: DemoProcess
    private let url: String
    private let phone: Phone
    /// The DevTools address of the phone's browser.
    private let browser: String
    private let program: String
    private let clock = FormsClock()
    private var plays = 0

    private init(
        folder: URL, server: DemoProcess, url: String, phone: Phone, browser: String,
        program: String
    ) {
        self.folder = folder
        self.server = server
        self.url = url
        self.phone = phone
        self.browser = browser
        self.program = program
    }

    /// Sets up the fixture, calls `body` with it, and removes it.
    ///
    /// - Throws: ``CommandFailure``, ``RepriseError``; what `body` throws.
    static func with<T>(_ body: (FormsDemoFixture) async throws -> T) async throws -> T {
        try await DemoFolder.with { folder in
            try await with(folder.url, folder.program, body)
        }
    }

    private static func with<T>(
        _ folder: URL, _ program: URL, _ body: (FormsDemoFixture) async throws -> T
    ) async throws -> T {
        let server = try DemoProcess(
            [
                "serve", "--port", "0", "--data", folder.appendingPathComponent("server").path,
                "--json", "--until-input-ends",
            ], log: folder.appendingPathComponent("server.log"))
        var phone: Phone?
        do {
            let url = try DemoFixture.url(in: try await server.line())
            try await pushCatalogue(to: url, folder)
            let started = try await Phone.start(
                in: folder.appendingPathComponent("phone"), supervisor: .tool(program))
            phone = started
            let browser = try await warmUp(started, program)
            let stage = FormsDemoFixture(
                folder: folder, server: server, url: url, phone: started, browser: browser,
                program: program.path)
            let result = try await body(stage)
            await started.end()
            await server.terminate()
            return result
        } catch {
            await phone?.end()
            await server.terminate()
            throw error
        }
    }

    private static func pushCatalogue(to url: String, _ folder: URL) async throws {
        let file = folder.appendingPathComponent("forms.json")
        try Data(FormsDemoCatalogue.json.utf8).write(to: file)
        let push = try DemoProcess(
            ["forms", "push", file.path, "--server", url, "--json"],
            log: folder.appendingPathComponent("push.log"))
        _ = try await push.line()
        await push.terminate()
    }

    /// The system's part of a web view is there before any app: no launch pays for the browser's
    /// start.
    private static func warmUp(_ phone: Phone, _ program: URL) async throws -> String {
        try await phone.install(
            PhoneAppSpec(
                id: "warm", executable: program.path,
                arguments: ["app", "forms", "--server", "none", "--warm-up"]))
        try await phone.launch("warm")
        let browser = try await phone.expects(.report("browser", app: "warm"), within: .seconds(60))
        try await phone.ask(.uninstall(app: "warm"))
        return browser.detail
    }

    /// Plays a scenario with one of the apps.
    func play(
        _ scenario: FormsScenario, as algorithm: FormsAlgorithm, takingPicture: Bool
    ) async throws -> FormsRun {
        plays += 1
        let app = PhoneAppSpec(
            id: "p\(plays)-\(scenario.name)", executable: program,
            arguments: ["app", "forms", "--as", algorithm.rawValue, "--server", url]
                + scenario.arguments)
        let since = try await phone.status().lastEvent
        try await phone.online()
        try await phone.ask(.rules(scenario.rules))
        try await phone.install(app)
        try await phone.permit(app: app.id)
        let eyes = FormsEyes(
            app: app.id, browser: browser, takesPicture: takingPicture, deed: scenario.deed,
            clock: clock)
        let play = FormsScenarioRunner(
            phone: phone, app: app, algorithm: algorithm, eyes: eyes, clock: clock, since: since)
        let watching = Task { await eyes.watch() }
        defer { watching.cancel() }
        try await scenario.play(play)
        try await play.settles()
        let run = FormsRun(
            algorithm: algorithm, sightings: await eyes.sightings, log: try await play.log(),
            ledger: algorithm == .reprise ? try play.ledger() : nil, picture: await eyes.picture)
        try await phone.ask(.uninstall(app: app.id))
        return run
    }
}

/// The results of one app in a scenario.
struct FormsRun: Sendable {
    let algorithm: FormsAlgorithm
    let sightings: [FormsEyes.Observation]
    let log: [PhoneEvent]
    let ledger: LedgerSum?
    var picture: Data?
}
