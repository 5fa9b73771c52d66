import Foundation
import GRDB
import RepriseCore
import RepriseJournal
import RepriseServer
import Synchronization

/// Opens what a writer has left behind, and says what is in it and whether it is sound.
enum StoredAcknowledgements {
    static func read(_ folder: URL, _ faults: inout [String]) async -> [String: Set<String>] {
        var stored: [String: Set<String>] = [:]
        do {
            stored["journal"] = try await journal(folder, &faults)
        } catch {
            faults.append("the journal does not open: \(error)")
        }
        do {
            stored["log"] = try await log(folder, &faults)
        } catch {
            faults.append("the log does not open: \(error)")
        }
        return stored
    }

    private static func journal(_ folder: URL, _ faults: inout [String]) async throws -> Set<String>
    {
        let journal = try await Journal.open(
            at: folder.appendingPathComponent("journal"), kinds: WriterRole.kinds)
        if journal.opening.setAside != nil { faults.append("the journal was set aside") }
        if journal.opening.quarantined > 0 { faults.append("rows were quarantined") }
        let sum = try await journal.ledger()
        if !sum.isBalanced { faults.append("the ledger does not add up: \(sum.text)") }
        let (ids, check) = try await journal.read { db in
            (
                try String.fetchAll(db, sql: "SELECT id FROM entry"),
                try String.fetchAll(db, sql: "PRAGMA integrity_check(1)")
            )
        }
        if check != ["ok"] { faults.append("the journal is damaged: \(check)") }
        await journal.close()
        return Set(ids)
    }

    private static func log(_ folder: URL, _ faults: inout [String]) async throws -> Set<String> {
        let path = folder.appendingPathComponent("log").path
        let log = try SQLiteMessageLog.open(at: path)
        try await log.probe()
        await log.close()
        let stored = try ServerLog(data: path)
        faults += stored.faults
        return Set(stored.ids)
    }
}

/// A name space of its own for mounts: nothing stays mounted, however the process ends.
enum MountSpace {
    /// Begins this program again, in one.
    static func enter() throws {
        let words =
            ["unshare", "-m", "--propagation", "private"] + CommandLine.arguments + ["--inside"]
        var pointers: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        execvp("unshare", &pointers)
        complain("mounts need a name space of their own: unshare (util-linux) is missing.")
        exit(69)
    }
}

/// Set once, from any thread.
final class LoopFlag: Sendable {
    private let value = Mutex(false)

    var isSet: Bool { value.withLock { $0 } }
    func set() { value.withLock { $0 = true } }
}
