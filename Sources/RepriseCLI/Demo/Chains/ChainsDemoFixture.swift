import Foundation
import Reprise
import RepriseCore
import ReprisePhone
import Synchronization

/// The phone and the server of files; each play has an app of its own on it.
actor ChainsDemoFixture {
    private let folder: URL
    private let phone: Phone
    private let server: ChainsServer
    private let url: String
    private let program: String
    private let output: URL?
    private var plays = 0

    private init(
        folder: URL, phone: Phone, server: ChainsServer, url: String, program: String, output: URL?
    ) {
        self.folder = folder
        self.phone = phone
        self.server = server
        self.url = url
        self.program = program
        self.output = output
    }

    /// Sets up the fixture, calls `body` with it, and leaves only what goes to `output`.
    ///
    /// - Throws: ``CommandFailure``, ``RepriseError``; what `body` throws.
    static func with<T: Sendable>(
        output: URL?, scale: ChainsScale, _ body: (ChainsDemoFixture) async throws -> T
    ) async throws -> T {
        guard let program = Bundle.main.executableURL else {
            throw CommandFailure(.internal, "The tool does not find its own executable.")
        }
        // A short path: it contains a socket.
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "reprise-demo-\(EntryID.random().text.prefix(8))")
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            if let output {
                try FileManager.default.createDirectory(
                    at: output, withIntermediateDirectories: true)
            }
        } catch {
            throw CommandFailure(.cannotCreate, "A folder cannot be created: \(error)")
        }
        defer { try? FileManager.default.removeItem(at: folder) }
        let server = ChainsServer(bytes: scale.downloadBytes)
        return try await server.run { url in
            let phone = try await Phone.start(
                in: folder.appendingPathComponent("phone"), supervisor: .tool(program))
            do {
                let stage = ChainsDemoFixture(
                    folder: folder, phone: phone, server: server, url: url,
                    program: program.path, output: output)
                let result = try await body(stage)
                await phone.end()
                return result
            } catch {
                await phone.end()
                throw error
            }
        }
    }

    /// Plays a scenario with one of the apps.
    func play(_ scenario: ChainsScenario, as algorithm: ChainsAlgorithm) async throws -> ChainsRun {
        plays += 1
        let place = folder.appendingPathComponent("\(plays)")
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        let file = place.appendingPathComponent("effects")
        var app = PhoneAppSpec(
            id: "p\(plays)-\(scenario.name)", executable: program,
            arguments: [
                "app", "chains", "--as", algorithm.rawValue, "--plan", scenario.plan, "--chains",
                "\(scenario.chains)", "--effects", file.path, "--server", url,
            ])
        app.backgroundTasks = [ChainsScenarioRunner.slotID]
        let since = try await phone.status().lastEvent
        var rules = PhoneRules()
        rules.backgroundSeconds = scenario.backgroundSeconds
        try await phone.ask(.rules(rules))
        try await phone.install(app)
        server.reset()
        let checker = ChainsDemoChecker(file)
        let meter = ChainsMeter(checker)
        let play = ChainsScenarioRunner(
            phone: phone, app: app, algorithm: algorithm, scenario: scenario, checker: checker,
            server: server, meter: meter, notes: ChainsNotes(), since: since)
        let watching = Task { await meter.watch() }
        defer { watching.cancel() }
        let disk = scenario.isOnSmallDisk ? SmallDisk(at: play.folder) : nil
        defer { disk?.unmount() }
        try await scenario.play(play)
        await meter.look()
        let run = try await result(of: play)
        if let output {
            try? FileManager.default.copyItem(
                at: file,
                to: output.appendingPathComponent("\(scenario.name).\(algorithm.rawValue).txt"))
        }
        disk?.unmount()
        try await phone.ask(.uninstall(app: app.id))
        return run
    }

    private func result(of play: ChainsScenarioRunner) async throws -> ChainsRun {
        var states = try await play.states().mapValues(\.state)
        for (number, state) in play.notes.states { states[number] = state }
        return ChainsRun(
            algorithm: play.algorithm, effects: play.effects, states: states,
            log: try await play.log(), written: await play.meter.bytes,
            ledger: play.algorithm == .reprise ? try Reprise.ledger(at: play.folder) : nil,
            notes: play.notes)
    }
}

/// A scenario's observations besides effects and states.
final class ChainsNotes: Sendable {
    private struct State {
        var words: [String] = []
        var faults: [String] = []
        var states: [Int: String] = [:]
        var again: String?
    }

    private let state = Mutex(State())

    /// For people.
    var words: [String] { state.withLock { $0.words } }
    /// Broken promises.
    var faults: [String] { state.withLock { $0.faults } }
    /// The chains' states, where the app's own report is not the last.
    var states: [Int: String] { state.withLock { $0.states } }
    /// The repeated work, where it is not counted in tasks.
    var again: String? { state.withLock { $0.again } }

    func say(_ words: String) { state.withLock { $0.words.append(words) } }
    func set(_ chain: Int, _ word: String) { state.withLock { $0.states[chain] = word } }
    func setAgain(_ word: String) { state.withLock { $0.again = word } }

    /// Takes note of a broken promise, unless it holds.
    func expect(_ holds: Bool, _ fault: String) {
        if !holds { state.withLock { $0.faults.append(fault) } }
    }
}

/// The results of one app in a scenario.
struct ChainsRun: Sendable {
    let algorithm: ChainsAlgorithm
    let effects: [ChainsEffects.Line]
    /// The chains' final states, by their numbers.
    let states: [Int: String]
    let log: [PhoneEvent]
    /// The bytes written by the processes; nil where the kernel does not count them.
    let written: Int?
    let ledger: LedgerSum?
    let notes: ChainsNotes

    var done: [ChainsEffects.Line] { effects.filter { $0.verb == .done } }
    /// Effects that took place a second time.
    var repeated: Int { done.count - Set(done.map(\.label)).count }
}
