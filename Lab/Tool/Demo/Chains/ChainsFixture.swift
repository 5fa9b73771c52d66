import Foundation
import RepriseCore
import ReprisePhone

extension ChainsDemo {
    /// The phone and the server of files.
    struct Fixture: Sendable {
        let folder: URL
        let phone: DemoPhone
        let server: ChainsServer
        let url: String
    }

    static func withFixture<T: Sendable>(
        _ settings: DemoSettings, _ body: (Fixture) async throws -> T
    ) async throws -> T {
        try await DemoFolder.with { folder in
            let server = ChainsServer(bytes: ChainsScenario.downloadBytes(settings))
            return try await server.run { url in
                try await folder.withPhone { phone in
                    try await body(
                        Fixture(folder: folder.url, phone: phone, server: server, url: url))
                }
            }
        }
    }

    static func begin(
        _ scenario: ChainsScenario, as algorithm: App, on fixture: Fixture, number: Int
    ) async throws -> ChainsSession {
        let place = fixture.folder.appendingPathComponent("\(number)")
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        let file = place.appendingPathComponent("effects").path
        var rules = PhoneRules()
        rules.backgroundSeconds = scenario.backgroundSeconds
        var app = try await fixture.phone.begin(
            scenario, as: algorithm, number: number, rules: rules,
            [
                "chains", "--as", algorithm.rawValue, "--plan", scenario.plan, "--chains",
                "\(scenario.chains)", "--effects", file, "--server", fixture.url,
            ])
        app.spec.backgroundTasks = [ChainsSession.slotID]
        try await app.install()
        fixture.server.reset()
        let checker = ChainsChecker(file)
        let meter = ChainsMeter(checker)
        let data = app.phone.folder.data(of: app.id)
        return ChainsSession(
            app: app, chains: scenario.chains, checker: checker, server: fixture.server,
            meter: meter, metering: Task { await meter.watch() },
            disk: scenario.isOnSmallDisk ? SmallDisk(at: data) : nil)
    }

    static func observe(_ session: ChainsSession, of: ChainsScenario) async throws -> Observation {
        await session.meter.look()
        let states = try await session.states().mapValues(\.state)
        let notes = session.notes.value
        return Observation(
            effects: session.effects, states: states.merging(notes.states) { $1 },
            written: await session.meter.bytes, notes: notes)
    }
}
