import Foundation
import GRDB
import RepriseCore
import RepriseJournal

/// The engine's services for a running worker.
extension ChainsEngine {
    func hooks(for key: TaskKey, entry: String, name: String, id: String) -> WorkContext.Hooks {
        let said = LastSaid()
        return WorkContext.Hooks(
            progress: { [weak self] fraction, note in
                await self?.progress(key, id, name, fraction, note, said)
            },
            checkpoint: { [journal] json in
                guard json.count <= ChainsLimits.checkpointBytes else {
                    throw RepriseError(
                        .tooLarge, "The checkpoint has \(json.count) bytes.",
                        remedy: "Keep at most \(ChainsLimits.checkpointBytes) as JSON.")
                }
                try await journal.write { db in
                    try Self.keep(checkpoint: json, of: key, entry, db)
                }
            },
            log: { [journal] line in
                // A line that cannot be written must not fail the work.
                try? await journal.write { db in
                    try ChainWriting.log(key.chain, key.place, line, at: journal.now, db)
                }
            },
            remaining: { [budget, clock] in budget.remaining(clock) })
    }

    /// An abandoned worker keeps nothing any more.
    private static func keep(
        checkpoint json: [UInt8], of key: TaskKey, _ entry: String, _ db: Database
    ) throws {
        try db.cachedStatement(
            sql: "UPDATE chainTask SET checkpoint = ? WHERE chain = ? AND place = ? AND entry = ?"
        ).execute(arguments: [Data(json), key.chain, key.place, entry])
        guard db.changesCount == 1 else { throw CancellationError() }
        // It gets on: to be killed now and then is no reason to give it up.
        try db.cachedStatement(
            sql: "UPDATE entry SET interruptions = 0 WHERE id = ? AND interruptions > 0"
        ).execute(arguments: [entry])
    }

    private func progress(
        _ key: TaskKey, _ id: String, _ name: String, _ fraction: Double, _ note: String?,
        _ said: LastSaid
    ) async {
        guard running[key] != nil, let chain = live[key.chain] else { return }
        let fraction = min(max(fraction.isNaN ? 0 : fraction, 0), 1)
        let note = note?.limited(to: ChainsLimits.noteBytes)
        watchers.announce(
            id,
            ChainProgress(
                state: chain.machine.state,
                done: chain.machine.slots.count { $0.state == .succeeded },
                total: chain.tasks.count, task: name, fraction: fraction, note: note))
        let now = clock.uptime()
        guard said.at.map({ now - $0 >= .seconds(1) }) ?? true else { return }
        said.at = now
        try? await journal.write { db in
            try db.cachedStatement(
                sql: "UPDATE chainTask SET progress = ?, note = ? WHERE chain = ? AND place = ?"
            ).execute(arguments: [fraction, note, key.chain, key.place])
        }
    }
}

/// When a task's progress was written last; read and written on the engine alone.
final class LastSaid: @unchecked Sendable {  // confined to the engine
    var at: Duration?
}
