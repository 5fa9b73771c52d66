import Foundation
import GRDB
public import RepriseCore
import RepriseJournal

/// What happens when a chain is started under a name that another one has which has not ended.
public enum NameConflict: String, Hashable, Sendable {
    /// The one that is there stays, and nothing is started.
    case keep
    /// The one that is there is cancelled, and the new one begins when that has ended.
    case replace
    /// The new one begins when those before it have ended, in whatever way.
    case append
}

extension RepriseError.Code {
    /// No worker of this identifier is registered.
    public static let unknownWorker = Self("unknownWorker")
    /// No chain has this id, or it left after its retention.
    public static let noSuchChain = Self("noSuchChain")
}

/// Starting, and having a say.
extension Chains {
    /// Starts a chain; returns once that is durable.
    ///
    /// It may be called before ``run(conditions:scheduler:)``: then it begins with that.
    ///
    /// - Parameters:
    ///   - chain: one of the configured definitions.
    ///   - input: at most 262,144 bytes as JSON.
    ///   - name: at most one chain of a name goes on at a time; 1 to 64 bytes. Nil: it has none.
    ///   - onConflict: what happens if there is one of this name.
    ///   - constraints: what it needs of the device.
    ///   - delay: not before so long from now.
    ///   - deadline: how long from now it may take in all; then it fails.
    /// - Returns: its id; with `.keep` that of the one that is there.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed`, `.tooLarge`, `.unknownWorker`,
    ///   `.badConfiguration` if the definition is not configured, `.full`, and what the journal
    ///   throws.
    @discardableResult
    public func start<Input: Codable & Sendable>(
        _ chain: Chain<Input>, input: Input, name: String? = nil,
        onConflict: NameConflict = .keep, constraints: ChainConstraints = ChainConstraints(),
        after delay: Duration? = nil, deadline: Duration? = nil
    ) async throws -> ChainID {
        let json = try ChainJSON.encode(input)
        guard json.count <= ChainsLimits.inputBytes else {
            throw RepriseError(
                .tooLarge, "The input of \(chain.name) has \(json.count) bytes.",
                remedy:
                    "Give it at most \(ChainsLimits.inputBytes) bytes, and files by their names.")
        }
        if let name, !(1...ChainsLimits.nameBytes).contains(name.utf8.count) {
            throw RepriseError(
                .malformed, "“\(name.prefix(80))” is no name of a chain.",
                remedy: "Names have 1 to \(ChainsLimits.nameBytes) bytes.")
        }
        let start = NewChain(
            id: EntryID.random().text, definition: chain.name, version: chain.version,
            plan: try checked(try chain.plan(for: json), of: chain.name), input: json, name: name,
            onConflict: onConflict, constraints: constraints, delay: delay, deadline: deadline)
        return ChainID(
            try await journal.write { [journal, room] db in
                try room.take(db)
                return try start.insert(db, journal)
            })
    }

    private func checked(_ plan: ChainPlan, of name: String) throws -> ChainPlan {
        guard engine.definitions[name] != nil else {
            throw RepriseError(
                .badConfiguration, "The chain \(name) is not configured.",
                remedy:
                    "Add it to Chains.Configuration.chains, so that it can go on after a restart.")
        }
        if let worker = plan.workers.sorted().first(where: { engine.registry?[$0] == nil }) {
            throw RepriseError(
                .unknownWorker, "The chain \(name) needs a worker named \(worker).",
                remedy: "Add it to Chains.Configuration.workers.")
        }
        return plan
    }

    /// Stops a chain where it stands: what runs is told to stop, and its checkpoints are kept.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.noSuchChain`, and what the journal throws.
    public func pause(_ id: ChainID) async throws { try await command(.pause, id) }

    /// Lets a chain go on that was paused or parked.
    ///
    /// - Throws: as ``pause(_:)``.
    public func resume(_ id: ChainID) async throws { try await command(.resume, id) }

    /// Cancels a chain: what runs is told to stop, and given up if it does not; then effects are
    /// taken back.
    ///
    /// - Throws: as ``pause(_:)``.
    public func cancel(_ id: ChainID) async throws { try await command(.cancel, id) }

    /// Does again what is not done of a chain that has failed or was cancelled.
    ///
    /// - Throws: as ``pause(_:)``.
    public func retry(_ id: ChainID) async throws { try await command(.retry, id) }

    private func command(_ verb: ChainCommand.Verb, _ id: ChainID) async throws {
        try await journal.write { [journal] db in
            guard try ChainReading.seq(of: id.text, db) != nil else {
                throw RepriseError(.noSuchChain, "No chain has the id \(id.text.prefix(80)).")
            }
            try journal.record(
                NewEntry(
                    kind: Chains.commandKind,
                    payload: ChainCommand(verb, chain: id.text).bytes), in: db)
        }
    }

    // MARK: Seeing

    /// How a chain and its tasks stand.
    ///
    /// - Parameter id: of a chain.
    /// - Returns: nil if there is none, or if it left after its retention.
    /// - Throws: what the journal throws.
    public func status(_ id: ChainID) async throws -> ChainStatus? {
        try await journal.read { db in try ChainStatus.read(id.text, db) }
    }

    /// What a task has made, as long as its chain is there.
    ///
    /// - Parameters:
    ///   - task: its name.
    ///   - worker: the type of the worker that did it.
    ///   - id: of its chain.
    /// - Returns: nil if there is no such task of this worker, if it is not done, or if it was
    ///   taken back.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed` if it cannot be read as that; what the
    ///   journal throws.
    public func output<W: Worker>(
        of task: String, by worker: W.Type, in id: ChainID
    ) async throws -> W.Output? {
        do {
            let output = try await journal.read { db in
                try ChainReading.output(of: task, by: W.identifier, in: id.text, db)
            }
            return try output.map {
                try ChainJSON.decode(W.Output.self, from: engine.files.read($0))
            }
        } catch let error where error is ChainRow.Broken || error is DecodingError {
            throw RepriseError(
                .malformed, "The output of \(task.prefix(80)) cannot be read.",
                remedy: "Look at the chain with `reprise chains show`.", cause: error)
        }
    }

    /// The chains, the newest first, without their tasks.
    ///
    /// - Parameters:
    ///   - before: the last one of the page before.
    ///   - limit: at most 1,000.
    /// - Returns: fewer than `limit` at the end.
    /// - Throws: what the journal throws.
    public func list(before: ChainID? = nil, limit: Int = 100) async throws -> [ChainStatus] {
        try await journal.read { db in
            try ChainStatus.list(before: before?.text, limit: limit, db)
        }
    }

    /// How far a chain is: first now, then each change, until it has ended.
    ///
    /// Who reads slowly gets the newest 64.
    ///
    /// - Parameter id: of a chain.
    /// - Returns: ends at once if there is no such chain.
    public func progress(of id: ChainID) -> AsyncStream<ChainProgress> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: ChainProgress.self, bufferingPolicy: .bufferingNewest(64))
        // Watched before it is read, so that no change falls between the two.
        let changes = engine.watchers.watch(id.text, first: nil)
        let task = Task {
            if let status = try? await status(id) {
                let now = ChainProgress(
                    state: status.state, done: status.done, total: status.total)
                continuation.yield(now)
                if !now.state.isEnd {
                    for await change in changes { continuation.yield(change) }
                }
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }
}
