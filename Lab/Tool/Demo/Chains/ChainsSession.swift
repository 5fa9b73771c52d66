import Foundation
import GRDB
import Reprise
import RepriseChains
import RepriseCommandLine
import RepriseCore
import ReprisePhone
import Synchronization

/// One of the apps with chains in one scenario.
struct ChainsSession: PhoneSession {
    /// How the app names its request for time in the background.
    static let slotID = "reprise.chains"
    static let chainEnds: Set<String> = ["succeeded", "failed", "cancelled", "quarantined"]

    let phone: Phone
    let app: PhoneAppSpec
    let algorithm: ChainsAlgorithm
    let chains: Int
    /// The checker of effects.
    let checker: ChainsDemoChecker
    let server: ChainsServer
    let meter: ChainsMeter
    let metering: Task<Void, Never>
    let disk: SmallDisk?
    let recorder = ChainsRecorder()
    let since: Int

    var id: String { app.id }
    var isReprise: Bool { algorithm == .reprise }
    func willKill() async throws { await meter.look() }
    func stop() {
        metering.cancel()
        disk?.unmount()
    }

    var effects: [ChainsEffects.Line] { checker.lines }
    /// The effects that have taken place.
    var done: Int { effects.count { $0.verb == .done } }

    func launch() async throws {
        let before = try await count("app.started")
        try await phone.launch(id)
        try await until("the app has started its chains") {
            try await count("app.started") > before
        }
    }

    /// Returns when this number of effects have taken place.
    func does(_ count: Int) async throws {
        try await until("\(count) effects have taken place") { done >= count }
    }

    /// The system gives time for the app's request, and takes it back when so many more tasks are
    /// done; then it kills the app.
    ///
    /// - Returns: false if the app has not asked for time, or may have none.
    func slot(tasks: Int) async throws -> Bool {
        let before = done
        do {
            try await phone.runBackground(Self.slotID, app: id)
        } catch let error as RepriseError
            where [.noSuchEntry, .refused, .unavailable].contains(error.code)
        {
            return false
        }
        try await expect(.taskBegan)
        try await until("the slot is used") {
            if done >= before + tasks { return true }
            return try await hasEnded()
        }
        // It may have been complete already.
        try? await phone.expireBackground(id)
        try await expect(.taskCompleted)
        try await kill()
        return true
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

    func hasEnded() async throws -> Bool {
        try await states().values.count { Self.chainEnds.contains($0.state) } >= chains
    }

    /// Every chain has come to an end.
    func settle() async throws {
        try await until("every chain has come to its end") { try await hasEnded() }
    }

    /// The same, by an outside reader of the journal.
    func settleInJournal() async throws {
        let viewer = ChainViewer(at: folder, schemas: Reprise.featureSchemas)
        try await until("every chain has come to its end") {
            let ends = try viewer.list(limit: 100).chains.compactMap { chain in
                chain.state.flatMap { state in
                    state.isEnd ? (chain.name?.dropFirst() ?? "", state) : nil
                }
            }
            for (name, state) in ends { Int(name).map { recorder.set($0, "\(state)") } }
            return ends.count >= chains
        }
    }

    /// Returns when this number of chains wait, and nothing else is left to do.
    func waits(_ count: Int) async throws {
        try await until("\(count) chains wait") { try ledger().pending <= Int64(count) }
    }

    // MARK: Another process on the app's data, which no phone has launched

    func otherProcess(_ more: [String] = []) throws -> DemoProcess {
        try DemoProcess(
            .lab, app.arguments + ["--folder", folder.path] + more,
            log: checker.file.deletingLastPathComponent().appendingPathComponent("other.log"))
    }

    /// The next line of such a process that says whether it has the journal.
    func answer(of process: DemoProcess) async throws -> String {
        while true {
            let line = try await process.line()
            if ["started", "stopped"].contains(where: { line.hasPrefix($0) }) { return line }
        }
    }

    // MARK: Disk

    /// Works on the journal's database, which has no owner.
    func withDatabase<T>(_ body: (Database) throws -> T) throws -> T {
        let queue = try DatabaseQueue(path: folder.appendingPathComponent("journal.sqlite").path)
        defer { try? queue.close() }
        return try queue.writeWithoutTransaction(body)
    }

    /// One byte goes bad.
    func damage(_ file: URL) throws {
        var bytes = try Data(contentsOf: file)
        guard !bytes.isEmpty else { return }
        bytes[bytes.startIndex + bytes.count / 2] = 0x01
        try bytes.write(to: file)
    }
}

/// A scenario's observations besides effects and states.
final class ChainsRecorder: Sendable {
    private struct State {
        var remarks: [String] = []
        var faults: [String] = []
        var states: [Int: String] = [:]
        var again: String?
    }

    private let state = Mutex(State())

    /// For people.
    var remarks: [String] { state.withLock { $0.remarks } }
    var faults: [String] { state.withLock { $0.faults } }
    /// The chains' states, where the app's own report is not the last.
    var states: [Int: String] { state.withLock { $0.states } }
    /// The repeated work, where it is not counted in tasks.
    var again: String? { state.withLock { $0.again } }

    func remark(_ words: String) { state.withLock { $0.remarks.append(words) } }
    func set(_ chain: Int, _ word: String) { state.withLock { $0.states[chain] = word } }
    func setAgain(_ word: String) { state.withLock { $0.again = word } }

    /// Takes note of a violation, unless it holds.
    func expect(_ holds: Bool, _ fault: String) {
        if !holds { state.withLock { $0.faults.append(fault) } }
    }
}

extension Step<ChainsSession> {
    // MARK: The app

    static var launch: Step { Step("launch") { try await $0.launch() } }
    static var settle: Step { Step("settle") { try await $0.settle() } }
    static func does(_ count: Int) -> Step {
        Step("does(\(count))") { try await $0.does(count) }
    }
    /// This number of tasks of the first chain are done, as far as the app may know.
    static func finishes(_ count: Int) -> Step {
        Step("finishes(\(count))") { session in
            guard session.isReprise else { return try await session.does(count) }
            try await session.until("\(count) tasks are done") {
                try await session.states()[0].map { $0.done >= count } ?? false
            }
        }
    }
    /// A task has begun.
    static func begins(_ label: String) -> Step {
        Step("begins(\(label))") { session in
            try await session.until("\(label) has begun") {
                session.effects.contains { $0.verb == .began && $0.label == label }
            }
        }
    }
    /// A task has had its effect.
    static func hasDone(_ label: String) -> Step {
        Step("hasDone(\(label))") { session in
            try await session.until("\(label) has had its effect") {
                session.effects.contains { $0.verb == .done && $0.label == label }
            }
        }
    }
    /// The app is replaced by another version.
    static func update(to version: Int) -> Step {
        Step("update(to: \(version))") { session in
            await session.meter.look()
            var newer = session.app
            newer.arguments += ["--version", "\(version)"]
            try await session.phone.install(newer)
            try await session.expect(.terminated)
        }
    }
    static var isSuspended: Step {
        Step("isSuspended") { session in
            try await session.until("it is suspended") {
                try await session.states()[0]?.state == "suspended"
            }
        }
    }
    /// The app's time in the background passes.
    static var homeUntilSuspended: Step {
        Step("homeUntilSuspended") { session in
            try await session.goHome()
            try await session.expect(.suspended)
        }
    }
    /// Something that must hold now, of Reprise.
    static func check(
        _ fault: String, _ holds: @escaping @Sendable (ChainsSession) async throws -> Bool
    ) -> Step {
        Step(fault) { session in
            guard session.isReprise else { return }
            session.recorder.expect(try await holds(session), fault)
        }
    }

    // MARK: Downloads and transfers

    /// The server has sent so much of the film.
    static func hasSent(_ bytes: Int) -> Step {
        Step("hasSent(\(bytes))") { session in
            try await session.until("\(bytes) bytes were sent") {
                session.server.position >= bytes && session.effects.last?.label == "0.film"
            }
        }
    }
    static func checkFilm(_ count: Int) -> Step {
        Step("checkFilm") { session in
            let file = session.folder.appendingPathComponent("files/film")
            let bytes = (try? Data(contentsOf: file)).map { Array($0) } ?? []
            session.recorder.expect(
                bytes == session.server.content, "The file is not what the server has.")
            let again = max(0, session.server.sent - count)
            session.recorder.setAgain("\((again + 500_000) / 1_000_000) MB")
            // A position is kept each 4 MiB, and the network holds something.
            session.recorder.expect(
                again < 3 * 6_000_000, "\(again) bytes were fetched again.")
        }
    }
    /// SIGKILL while the phone fetches; it wakes the app when it has the file.
    static var killDuringTransfer: Step {
        Step("killDuringTransfer") { session in
            try await session.expect(.transferRuns)
            try await session.goHome()
            try await session.kill()
            let killed = session.effects.count { $0.verb == .life }
            try await session.settle()
            session.recorder.expect(
                session.effects.count { $0.verb == .life } == killed + 1,
                "The phone did not wake it.")
        }
    }

    // MARK: The background

    /// Slots, until every chain has come to its end; the app is killed after each.
    static func slots(tasks: Int) -> Step {
        Step("slots") { session in
            var slots = 0
            while try await !session.hasEnded(), slots < 20, try await session.slot(tasks: tasks) {
                slots += 1
            }
            session.recorder.remark("\(slots) slots")
            guard session.isReprise else { return }
            session.recorder.expect(slots > 2, "It took \(slots) slots: that shows nothing.")
        }
    }
    static var noSlot: Step {
        Step("noSlot") { session in
            let hasRun = try await session.slot(tasks: 1)
            session.recorder.expect(!hasRun, "A force-quit app was given time.")
        }
    }

    // MARK: The disk

    /// Damages the input of the first chain and an output of the second; the original app's only
    /// value.
    static var damage: Step {
        Step("damage") { session in
            guard session.isReprise else {
                return try session.damage(
                    session.folder.appendingPathComponent("com.brewkits.native_workmanager.json"))
            }
            let name = try session.withDatabase { db in
                try db.execute(sql: "UPDATE chain SET input = x'7b' WHERE name = 'c0'")
                return try String.fetchOne(
                    db,
                    sql: """
                        SELECT outputFile FROM chainTask AS t JOIN chain AS c ON c.seq = t.chain
                        WHERE c.name = 'c1' AND outputFile IS NOT NULL
                        """)
            }
            if let name {
                try session.damage(session.folder.appendingPathComponent("outputs/\(name)"))
            }
        }
    }
    static var settleInJournal: Step {
        Step("settleInJournal") { session in
            if session.isReprise { try await session.settleInJournal() }
        }
    }
    static var isFull: Step {
        Step("isFull") { session in
            try await session.until("the app was told") { try await session.count("app.full") > 0 }
        }
    }
    /// There is space again, and the app is launched; the original app has ended before, without
    /// knowing it.
    static var goesOnWithRoom: Step {
        Step("goesOnWithRoom") { session in
            let hasSucceeded = { @Sendable (event: PhoneEvent) in
                event.what == "app.chain" && event.detail.hasPrefix("0 succeeded")
            }
            let ends = try await session.log().count(where: hasSucceeded)
            SmallDisk.makeRoom(session.folder)
            try await session.launch()
            try await session.until("the chain has come to its end") {
                try await session.log().count(where: hasSucceeded) > ends
            }
            guard session.isReprise else { return }
            let log = try await session.log()
            let told = log.filter { $0.what == "app.full" }.map(\.detail)
            session.recorder.expect(told == ["diskFull"], "The worker was told \(told).")
            let positions = log.filter { $0.what == "app.position" }.map(\.detail)
            session.recorder.expect(
                positions.first == "-" && positions.dropFirst().allSatisfy { $0 == "first" }
                    && positions.count > 1, "It began at \(positions).")
            session.recorder.remark("the worker was told, and went on from the position before")
        }
    }

    // MARK: Other processes

    /// A second process is refused.
    static var secondProcess: Step {
        Step("secondProcess") { session in
            guard session.isReprise else { return }
            let other = try session.otherProcess()
            let said = try await session.answer(of: other)
            await other.terminate()
            session.recorder.expect(
                said == "stopped journalOwned", "A second process said: \(said).")
        }
    }
    /// SIGSTOP to the app; another process takes over, and ends the chain.
    static var takeOver: Step {
        Step("takeOver") { session in
            var owner: DemoProcess?
            for _ in 0..<20 where owner == nil {
                try await session.phone.suspend(session.id)
                try await session.expect(.suspended)
                let other = try session.otherProcess(session.isReprise ? ["--take-over"] : [])
                if try await session.answer(of: other).hasPrefix("started") {
                    owner = other
                } else {
                    // Suspended inside a transaction: SQLite's lock stays held.
                    await other.terminate()
                    try await session.phone.resume(session.id)
                }
            }
            guard let owner else {
                return session.recorder.expect(false, "The journal was not taken over.")
            }
            try await session.advance(by: .days(3))
            while true {
                let words = try await owner.line().split(separator: " ")
                guard words.count == 4, words[0] == "chain", words[2] == "succeeded" else {
                    continue
                }
                session.recorder.set(0, "succeeded")
                break
            }
            await owner.terminate()
        }
    }
    /// The app wakes, and finds that it has lost the journal.
    static var wakes: Step {
        Step("wakes") { session in
            try await session.phone.launch(session.id)
            guard session.isReprise else { return try await session.settle() }
            let report = try await session.expectReport("stopped")
            session.recorder.expect(
                report.detail == "ownershipLost", "It woke and \(report.detail).")
        }
    }

    // MARK: Many chains

    /// Chains that wait; then the app is started among them.
    static func startAmong(_ count: Int) -> Step {
        Step("startAmong(\(count))") { session in
            var app = session.app
            app.arguments = app.arguments.map { $0 == "0" ? "\(count)" : $0 }
            try await session.phone.install(app)
            try await session.launch()
            try await session.waits(count)
            try await session.kill()
            let alone = session.effects.count
            app.arguments += ["--then", "one"]
            try await session.phone.install(app)
            try await session.launch()
            try await session.until("the first task has run") {
                session.effects.dropFirst(alone).contains { $0.verb == .done }
            }
            try await session.waits(count)
            let log = try await session.log()
            let opened = log.last { $0.what == "app.journal" }?.microseconds
            let began = log.last { $0.what == "app.process" }?.microseconds
            if let opened, let began {
                let first = session.effects.last { $0.verb == .done }?.microseconds ?? 0
                session.recorder.remark(
                    "first task done after \((first - began) / 1_000) ms, "
                        + "journal open after \((opened - began) / 1_000) ms")
            }
            if let process = session.checker.process, let bytes = ChainsMeter.memory(of: process) {
                session.recorder.remark(
                    "\(bytes / 1_000_000) MB in memory, of all that the tool is")
            }
        }
    }
}
