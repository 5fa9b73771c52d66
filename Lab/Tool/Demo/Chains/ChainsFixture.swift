import Foundation
import RepriseCore
import ReprisePhone

extension ChainsDemo {
    /// The phone and the server of files.
    struct Fixture: Sendable {
        let folder: URL
        let phone: DemoPhone
        let server: ChainsServer
    }

    static func fixture(in folder: DemoFolder, _ settings: DemoSettings) async throws -> Fixture {
        let server = try await ChainsServer(
            bytes: ChainsScenario.downloadBytes(settings), in: folder)
        return Fixture(folder: folder.url, phone: try await folder.phone(), server: server)
    }

    static func begin(
        _ scenario: ChainsScenario, as algorithm: App, on fixture: Fixture, number: Int
    ) async throws -> ChainsSession {
        let place = fixture.folder.appendingPathComponent("\(number)")
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        let file = place.appendingPathComponent("effects").path
        var app = try await fixture.phone.begin(
            scenario, as: algorithm, number: number,
            [
                "chains", "--as", algorithm.rawValue, "--plan", scenario.plan, "--chains",
                "\(scenario.chains)", "--effects", file, "--server", fixture.server.url,
            ])
        app.spec.backgroundTasks = [ChainsSession.slotID]
        try await app.install()
        fixture.server.reset()
        let checker = ChainsDemoChecker(file)
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
