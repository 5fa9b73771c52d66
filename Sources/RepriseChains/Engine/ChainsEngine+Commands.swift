import Foundation
import GRDB
import RepriseCore
import RepriseJournal

/// Commands: of the app, of a tool through the spool, and of the engine to itself.
extension ChainsEngine {
    func obey(_ lent: Lent) async {
        guard let command = try? ChainCommand(lent.entry.payload) else {
            return lent.end(HandOverFailure.permanent("malformed: It is no command."))
        }
        do {
            let seq = try await journal.read { try ChainReading.seq(of: command.chain, $0) }
            guard let seq, let chain = try await chainOrQuarantine(seq, lent) else {
                return lent.end(HandOverFailure.permanent("No chain has this id."))
            }
            if try await isNameTaken(for: command.command, of: chain) {
                let reason = "Another chain of its name goes on."
                return lent.end(
                    as: .ended(command.command == .begin ? .superseded : .dead, reason: reason))
            }
            await obey(command, chain, lent)
        } catch {
            note(error)
            lent.end(HandOverFailure.notReady("The chain cannot be read: \(error)"))
        }
    }

    /// At most one chain of a name goes on; its end begins the next, and who retries one does so again then.
    private func isNameTaken(for verb: ChainCommand.Verb, of chain: LiveChain) async throws -> Bool
    {
        guard verb == .begin || verb == .retry, let name = chain.row.name,
            chain.machine.state == .queued || chain.machine.state.isEnd
        else { return false }
        let seq = chain.row.seq
        let others = try await journal.read {
            try ChainReading.goingOn(named: name, but: seq, $0)
        }
        // What is decided and not written yet is in memory.
        return others.contains { live[$0]?.machine.state.isEnd != true }
            || live.values.contains {
                $0.row.name == name && $0.row.seq != seq && !$0.machine.state.isEnd
                    && $0.machine.state != .queued
            }
    }

    private func chainOrQuarantine(_ seq: Int64, _ lent: Lent) async throws -> LiveChain? {
        do {
            return try await chain(seq)
        } catch let error as ChainRow.Broken {
            quarantine(seq, error.description, lent)
            return nil
        }
    }

    private func obey(_ command: ChainCommand, _ chain: LiveChain, _ lent: Lent) async {
        var writes = chain.writes()
        let actions: [ChainMachine.Action]
        if chain.trouble != nil,
            [.resume, .retry, .begin, .look, .release].contains(command.command),
            !chain.machine.state.isEnd, chain.machine.state != .queued || command.command == .begin
        {
            if command.command == .release, let place = command.task.flatMap(chain.place(of:)) {
                chain.tasks[place].hold = Self.released
            }
            return await park(chain, lent)
        }
        switch command.command {
        case .pause: actions = chain.machine.paused()
        case .resume: actions = chain.machine.resumed()
        case .cancel:
            writes.reason = "It was cancelled."
            actions = chain.machine.cancelled()
        case .retry:
            guard chain.plan != nil else {
                return lent.end(HandOverFailure.permanent(chain.trouble ?? "It cannot go on."))
            }
            actions = chain.machine.retried()
        case .begin: actions = chain.machine.begun()
        case .look:
            // The app may know again what a parked chain needs.
            actions =
                chain.machine.state == .parked ? chain.machine.resumed() : chain.machine.decide()
        case .release: actions = release(command.task, chain, &writes)
        case .late: actions = late(command.task, chain, &writes)
        }
        await carryOut(actions, of: chain, into: &writes)
        settle(lent, as: .applied, writes)
    }

    private func release(_ name: String?, _ chain: LiveChain, _ writes: inout ChainWrites)
        -> [ChainMachine.Action]
    {
        guard let name, let place = chain.place(of: name) else { return [] }
        let isWait = chain.plan?.tasks[place].wait != nil
        if isWait, chain.machine.slots[place].state == .held {
            // A pause does not undo what has come.
            return arrived(place, of: chain, &writes)
        }
        return chain.machine.released(place)
    }

    private func late(_ name: String?, _ chain: LiveChain, _ writes: inout ChainWrites)
        -> [ChainMachine.Action]
    {
        guard let name else {
            writes.reason = "timedOut: It was not done in time."
            return chain.machine.failed()
        }
        // A retry, or a wait that began anew, has a deadline of its own: this is not it.
        guard let place = chain.place(of: name), chain.machine.slots[place].state == .held,
            let deadline = chain.tasks[place].deadline,
            deadline <= journal.now.advanced(by: .seconds(1))
        else { return [] }
        let reason = "timedOut: What it waits for did not come in time."
        writes.changes.append(
            (place, .ended(.failed, output: nil, attempts: 0, started: nil, error: reason)))
        writes.reason = "\(chain.tasks[place].name): \(reason)"
        return chain.machine.ended(place, as: .failed)
    }

    // MARK: What is waited for

    func heard(_ news: JournalNews) async {
        switch news {
        case .opened(let readiness):
            await release(where: "t.hold = ?", ["readiness:\(readiness.name)"])
        case .closed: break
        case .recorded(let newest):
            for (kind, seq) in newest where awaited.contains(kind) {
                await release(where: "t.hold = ? AND t.after < ?", ["entry:\(kind)", seq])
            }
        case .calendarMoved(let step): moveDeadlines(by: step)
        case .lost:
            failure = RepriseError(
                .ownershipLost, "Another process has taken this journal over.",
                remedy: "Close this journal and open it again.")
        }
    }

    /// The rows have moved; what is in memory does the same, so that a wait keeps its length.
    private func moveDeadlines(by step: Duration) {
        for chain in live.values {
            chain.row.deadline = chain.row.deadline?.advanced(by: step)
            for place in chain.tasks.indices {
                chain.tasks[place].deadline = chain.tasks[place].deadline?.advanced(by: step)
            }
        }
    }

    func changed(_ conditions: DeviceConditions) async {
        self.conditions = conditions
        for key in Array(running.keys) {
            guard let chain = live[key.chain], !chain.row.constraints.areMet(by: conditions) else {
                continue
            }
            stop(key, .conditions)
        }
        await release(
            where: "t.hold = 'conditions' AND c.needs & ? = 0 AND c.needsBytes <= ?",
            [ChainConstraints.missing(conditions), conditions.freeBytes])
    }

    /// A page of what is held at a time, so that ten thousand waiting chains are no pile in memory.
    func release(where condition: String, _ arguments: StatementArguments) async {
        do {
            while true {
                let count = try await journal.write { [journal] db in
                    try ChainReleases.page(where: condition, arguments, journal, db)
                }
                guard count == 500 else { return }
            }
        } catch {
            note(error)
        }
    }

    /// Of a chain that is in memory: what it waits for was there before its row was.
    func release(_ id: String, _ task: String) async {
        do {
            try await journal.write { [journal] db in
                try ChainReleases.record(id, task, journal, db)
            }
        } catch {
            note(error)
        }
    }

    /// What has changed while nobody ran: conditions that hold, entries that came, an app that knows more, tasks that are over.
    func lookAround() async throws {
        let holds = try await journal.read { try ChainReleases.holds($0) }
        for hold in holds {
            if hold.hasPrefix("readiness:") {
                let name = String(hold.dropFirst("readiness:".count))
                if journal.isOpen(Readiness(name)) {
                    await heard(.opened(Readiness(name)))
                }
            } else if hold.hasPrefix("entry:") {
                let kind = String(hold.dropFirst("entry:".count))
                awaited.insert(kind)
                let newest = try await journal.read { db in
                    try Int64.fetchOne(
                        db, sql: "SELECT MAX(seq) FROM entry WHERE kind = ?", arguments: [kind])
                }
                if let newest { await heard(.recorded([kind: newest])) }
            } else if hold == "conditions" {
                await changed(conditions)
            }
        }
        try await journal.write { [journal] db in try ChainReleases.lookAgain(journal, db) }
    }
}
