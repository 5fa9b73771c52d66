import Foundation
import GRDB
import Reprise
import RepriseChains
import RepriseCommandLine
import RepriseCore
import ReprisePhone

/// One of the apps with chains in one scenario.
struct ChainsSession: PhoneSession {
    /// How the app names its request for time in the background.
    static let slotID = "reprise.chains"
    static let chainEnds: Set<String> = ["succeeded", "failed", "cancelled", "quarantined"]

    let app: PlayedApp<ChainsAlgorithm>
    let chains: Int
    /// Of effects.
    let checker: ChainsDemoChecker
    let server: ChainsServer
    let meter: ChainsMeter
    let metering: Task<Void, Never>
    let disk: SmallDisk?
    let notes = Shared(ChainsNotes())

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
        do {
            try await kill()
        } catch let error as RepriseError where error.code == .unavailable {
            // The system has ended it already, as it does where the machine is busy.
        }
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
        let viewer = ChainViewer(at: folder, schemas: AccountClient.featureSchemas)
        try await until("every chain has come to its end") {
            let ends = try viewer.list(limit: 100).chains.compactMap { chain in
                chain.state.flatMap { state in
                    state.isEnd ? (chain.name?.dropFirst() ?? "", state) : nil
                }
            }
            notes.update { notes in
                for (name, state) in ends { Int(name).map { notes.states[$0] = "\(state)" } }
            }
            return ends.count >= chains
        }
    }

    /// Returns when this number of chains wait, and nothing else is left to do.
    func waits(_ count: Int) async throws {
        try await until("\(count) chains wait") { try ledger().pending <= Int64(count) }
    }

    func remark(_ words: String) { notes.update { $0.remarks.append(words) } }

    /// Takes note of a violation, unless it holds.
    func check(_ holds: Bool, _ fault: String) {
        if !holds { notes.update { $0.faults.append(fault) } }
    }

    // MARK: Another process on the app's data, which no phone has launched

    func otherProcess(_ more: [String] = []) throws -> DemoProcess {
        try DemoProcess(
            .lab, app.spec.arguments + ["--folder", folder.path] + more,
            log: phone.folder.url.appendingPathComponent("other-\(id).log"))
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
struct ChainsNotes: Sendable {
    /// For people.
    var remarks: [String] = []
    var faults: [String] = []
    /// The chains' states, where the app's own report is not the last.
    var states: [Int: String] = [:]
    /// The repeated work, where it is not counted in tasks.
    var again: String?
}
