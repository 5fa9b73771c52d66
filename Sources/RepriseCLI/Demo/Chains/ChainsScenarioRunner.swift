import Foundation
import GRDB
import Reprise
import RepriseChains
import RepriseCore
import ReprisePhone

/// One run of a scenario by one app: the actions and expectations of scenarios.
///
/// Each call returns when its effect has happened; none of them waits for a fixed time.
struct ChainsScenarioRunner: Sendable {
    /// Timeout after which the demo reports that it is stuck.
    static let timeout = Duration.seconds(40)
    /// How the app names its request for time in the background.
    static let slotID = "reprise.chains"

    let phone: Phone
    let app: PhoneAppSpec
    let algorithm: ChainsAlgorithm
    let scenario: ChainsScenario
    /// The checker of effects.
    let checker: ChainsDemoChecker
    let server: ChainsServer
    let meter: ChainsMeter
    /// The scenario's other observations.
    let notes: ChainsNotes
    /// The number of the last event before.
    let since: Int

    // MARK: Actions

    /// The person opens the app.
    func launch() async throws {
        let count = try await log().count { $0.what == "app.started" }
        try await phone.launch(app.id)
        try await until("the app has started its chains") {
            try await log().count { $0.what == "app.started" } > count
        }
    }

    /// SIGKILL.
    func kill() async throws {
        await meter.look()
        try await phone.kill(app.id)
        try await phone.expects(.phone(.terminated, app: app.id), within: Self.timeout)
    }

    /// The person throws the app out of the app switcher.
    func forceQuit() async throws {
        await meter.look()
        try await phone.forceQuit(app.id)
        try await phone.expects(.phone(.terminated, app: app.id), within: Self.timeout)
    }

    /// The person goes to the home screen; the app's time in the background passes.
    func goesHome(untilSuspended: Bool = true) async throws {
        try await phone.home()
        try await phone.expects(.phone(.background, app: app.id), within: Self.timeout)
        guard untilSuspended else { return }
        try await phone.expects(.phone(.suspended, app: app.id), within: Self.timeout)
    }

    /// The system gives time for the app's request, and takes it back when so many more tasks are
    /// done; then it kills the app.
    ///
    /// - Returns: false if the app has not asked for time, or may have none.
    func slot(tasks: Int) async throws -> Bool {
        let before = done
        do {
            try await phone.runBackground(Self.slotID, app: app.id)
        } catch let error as RepriseError
            where [.noSuchEntry, .refused, .unavailable].contains(error.code)
        {
            return false
        }
        try await phone.expects(.phone(.taskBegan, app: app.id), within: Self.timeout)
        try await until("the slot is used") {
            if done >= before + tasks { return true }
            return try await hasEnded()
        }
        // It may have been complete already.
        try? await phone.expireBackground(app.id)
        try await phone.expects(.phone(.taskCompleted, app: app.id), within: Self.timeout)
        try await kill()
        return true
    }

    /// The app is replaced by another version.
    func update(to version: Int) async throws {
        await meter.look()
        var newer = app
        newer.arguments += ["--version", "\(version)"]
        try await phone.install(newer)
        try await phone.expects(.phone(.terminated, app: app.id), within: Self.timeout)
    }

    /// Another process on the app's data, which no phone has launched.
    func otherProcess(_ more: [String] = []) throws -> DemoProcess {
        try DemoProcess(
            app.arguments + ["--folder", folder.path] + more,
            log: checker.file.deletingLastPathComponent().appendingPathComponent("other.log"))
    }

    // MARK: Disk

    /// Changes rows of a journal without an owner.
    func sqlite(_ sql: String) throws {
        let queue = try DatabaseQueue(path: folder.appendingPathComponent("journal.sqlite").path)
        try queue.writeWithoutTransaction { db in try db.execute(sql: sql) }
        try queue.close()
    }

    /// The only value of a query on the journal.
    func text(_ sql: String) throws -> String? {
        let queue = try DatabaseQueue(path: folder.appendingPathComponent("journal.sqlite").path)
        defer { try? queue.close() }
        return try queue.read { db in try String.fetchOne(db, sql: sql) }
    }

    /// One byte goes bad.
    func damage(_ file: URL) throws {
        var bytes = try Data(contentsOf: file)
        guard !bytes.isEmpty else { return }
        bytes[bytes.startIndex + bytes.count / 2] = 0x01
        try bytes.write(to: file)
    }

    /// The app's data folder.
    var folder: URL { phone.folder.data(of: app.id) }

    // MARK: Expectations

    var effects: [ChainsEffects.Line] { checker.lines }
    /// The effects that have taken place.
    var done: Int { effects.count { $0.verb == .done } }

    /// Waits for this number of effects.
    func does(_ count: Int) async throws {
        try await until("\(count) effects have taken place") { done >= count }
    }

    /// Waits until this number of tasks of the first chain are done, as far as the app may know.
    func finishes(_ count: Int) async throws {
        guard algorithm == .reprise else { return try await does(count) }
        try await until("\(count) tasks are done") {
            try await states()[0].map { $0.done >= count } ?? false
        }
    }

    /// A task has begun, so often.
    func begins(_ label: String, times: Int = 1) async throws {
        try await until("\(label) has begun") {
            effects.count { $0.verb == .began && $0.label == label } >= times
        }
    }

    /// The chains' states, by the app's last report and their numbers.
    func states() async throws -> [Int: (state: String, done: Int)] {
        try await log().reduce(into: [:]) { states, event in
            guard event.what == "app.chain" else { return }
            let words = event.detail.split(separator: " ")
            guard words.count == 3, let number = Int(words[0]), let done = Int(words[2]) else {
                return
            }
            states[number] = (String(words[1]), done)
        }
    }

    static let ends: Set<String> = ["succeeded", "failed", "cancelled", "quarantined"]

    func hasEnded() async throws -> Bool {
        try await states().values.count { Self.ends.contains($0.state) } >= scenario.chains
    }

    /// Every chain has come to an end.
    func settles() async throws {
        try await until("every chain has come to its end") { try await hasEnded() }
    }

    /// Waits until this number of chains wait, and nothing else is left to do.
    func waits(_ count: Int) async throws {
        try await until("\(count) chains wait") {
            try Reprise.ledger(at: folder).pending <= Int64(count)
        }
    }

    /// Waits until every chain has ended, by an outside reader of the journal.
    func settlesInJournal() async throws {
        let viewer = ChainViewer(at: folder, schemas: Reprise.featureSchemas)
        try await until("every chain has come to its end") {
            let ends = try viewer.list(limit: 100).chains.compactMap { chain in
                chain.state.flatMap { state in
                    state.isEnd ? (chain.name?.dropFirst() ?? "", state) : nil
                }
            }
            for (name, state) in ends { Int(name).map { notes.set($0, "\(state)") } }
            return ends.count >= scenario.chains
        }
    }

    /// The phone's log of this app.
    func log() async throws -> [PhoneEvent] {
        try await phone.log().filter {
            $0.number > since && ($0.app == app.id || $0.app == nil)
        }
    }

    func until(_ what: String, _ condition: () async throws -> Bool) async throws {
        let deadline = ContinuousClock.now + Self.timeout
        while try await !condition() {
            guard ContinuousClock.now < deadline else {
                let lines = try await log().suffix(40).map { "  \($0.what) \($0.detail)" }
                throw CommandFailure(
                    .incomplete,
                    "The demo got stuck in \(app.id): not in time: \(what).\n"
                        + lines.joined(separator: "\n"))
            }
            try await Task.sleep(for: .milliseconds(4))
        }
    }
}
