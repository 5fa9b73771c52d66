import Foundation
import GRDB
import RepriseCore
import RepriseJournal
import Synchronization

/// Quarantine of chains that can never continue.
extension ChainsEngine {
    /// Quarantines an unreadable chain; other chains continue.
    func quarantine(_ seq: Int64, _ why: String, _ delivery: EntryDelivery) {
        live[seq] = nil
        for key in running.keys where key.chain == seq { stop(key, .machine) }
        let retention = configuration.retention
        let name = Mutex<String?>(nil)
        delivery.end(
            as: .ended(.dead, reason: "corrupt: \(why)"),
            alongside: { [journal] db in
                let now = journal.now
                let id = try String.fetchOne(
                    db, sql: "SELECT id FROM chain WHERE seq = ?", arguments: [seq])
                name.withLock { $0 = id }
                try db.execute(
                    sql: """
                        UPDATE chain SET state = 13, reason = ?, endedAt = ?, leaves = ?
                        WHERE seq = ? AND state IS NOT 13
                        """,
                    arguments: [
                        "corrupt: \(why)".limited(to: ChainsLimits.errorBytes), now.milliseconds,
                        now.advanced(by: retention).milliseconds, seq,
                    ])
            },
            written: { [watchers] in
                guard let id = name.withLock({ $0 }) else { return }
                watchers.announce(id, ChainProgress(state: .quarantined, done: 0, total: 0))
            })
    }
}
