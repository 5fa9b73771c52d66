import Foundation
import RepriseCommandLine
import RepriseCore
import ReprisePhone
import Synchronization

/// The server with its catalogue, the phone and its browser.
final class FormsDemoFixture: Sendable {
    private let url: String
    private let phone: Phone
    /// The DevTools address of the phone's browser.
    private let browser: String
    private let program: String
    private let clock = LogClock()
    private let hasPicture = Mutex(false)

    private init(url: String, phone: Phone, browser: String, program: String) {
        (self.url, self.phone, self.browser, self.program) = (url, phone, browser, program)
    }

    /// Sets up the fixture, calls `body` with it, and removes it.
    ///
    /// - Throws: ``CommandFailure``, ``RepriseError``; what `body` throws.
    static func with<T: Sendable>(_ body: (FormsDemoFixture) async throws -> T) async throws -> T {
        try await DemoFolder.with { folder in
            try await folder.withServer { url in
                let file = folder.url.appendingPathComponent("forms.json")
                try Data(FormsDemoCatalogue.json.utf8).write(to: file)
                let push = try DemoProcess(
                    .reprise, ["forms", "push", file.path, "--server", url, "--json"],
                    log: folder.url.appendingPathComponent("push.log"))
                _ = try await push.line()
                await push.terminate()
                return try await folder.withPhone { phone in
                    let browser = try await warmUp(phone, folder.program)
                    return try await body(
                        FormsDemoFixture(
                            url: url, phone: phone, browser: browser, program: folder.program.path))
                }
            }
        }
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

    func begin(_ scenario: FormsScenario, as algorithm: FormsAlgorithm, number: Int) async throws
        -> FormsSession
    {
        let app = PhoneAppSpec(
            id: "p\(number)-\(scenario.name)", executable: program,
            arguments: ["app", "forms", "--as", algorithm.rawValue, "--server", url]
                + scenario.arguments)
        let since = try await phone.status().lastEvent
        try await phone.online()
        try await phone.ask(.rules(scenario.rules))
        try await phone.install(app)
        try await phone.permit(app: app.id)
        let isPictured = hasPicture.withLock { has in
            guard !has, algorithm == .reprise, !scenario.forms.isEmpty else { return false }
            has = true
            return true
        }
        let observer = FormsObserver(
            app: app.id, browser: browser, takesPicture: isPictured, action: scenario.action,
            clock: clock)
        return FormsSession(
            phone: phone, app: app, algorithm: algorithm, observer: observer,
            observing: Task { await observer.watch() }, clock: clock, since: since)
    }
}
