import Foundation
import GRDB
public import RepriseCore
import RepriseJournal
import Synchronization

/// The policy at the start of a chain when an open one has its name.
public enum NameConflict: String, Hashable, Sendable {
    /// The existing one stays, and no new one is started.
    case keep
    /// The existing one is cancelled, and the new one begins when that has ended.
    case replace
    /// The new one begins when those before it have ended, in whatever way.
    case append
}

extension RepriseError.Code {
    /// No worker of this identifier is registered.
    public static let unknownWorker = Self(ChainsErrorCode.unknownWorker.rawValue)
    /// No chain has this id, or it left after its retention.
    public static let noSuchChain = Self(ChainsErrorCode.noSuchChain.rawValue)
    /// The chain has not ended: only one that has can be deleted.
    public static let chainNotEnded = Self(ChainsErrorCode.chainNotEnded.rawValue)
}

/// Starting, and having a say.
extension Chains {
    /// Starts a chain; returns once that is durable.
    ///
    /// May be called before `run`: then it begins with that.
    ///
    /// - Parameters:
    ///   - chain: one of the configured definitions.
    ///   - input: at most 262,144 bytes as JSON.
    ///   - name: 1 to 64 bytes; at most one open chain has it. Nil: no name.
    ///   - onConflict: what happens if an open chain has this name.
    ///   - constraints: the device conditions it needs.
    ///   - delay: the shortest time until it begins.
    ///   - deadline: for the whole chain, from now; then it fails.
    /// - Returns: its id; with `.keep` that of the existing one.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed`, `.tooLarge`, `.unknownWorker`,
    ///   `.badConfiguration` if the definition is not configured, `.full`, and what the journal
    ///   throws.
    @discardableResult
    public func start<Input: Codable & Sendable>(
        _ chain: Chain<Input>, input: Input, name: String? = nil,
        onConflict: NameConflict = .keep, constraints: ChainConstraints = ChainConstraints(),
        after delay: Duration? = nil, deadline: Duration? = nil
    ) async throws -> ChainID {
        let json = try checked(input, of: chain, name: name)
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

    /// - Returns: the input as JSON.
    func checked<Input: Codable & Sendable>(
        _ input: Input, of chain: Chain<Input>, name: String?
    ) throws -> [UInt8] {
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
        return json
    }

    func checked(_ plan: ChainPlan, of name: String) throws -> ChainPlan {
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

    /// Pauses a chain: running tasks are cancelled, and their checkpoints are kept.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.noSuchChain`, and what the journal throws.
    public func pause(_ id: ChainID) async throws { try await command(.pause, id) }

    /// Resumes a paused or suspended chain.
    ///
    /// - Throws: as ``pause(_:)``.
    public func resume(_ id: ChainID) async throws { try await command(.resume, id) }

    /// Cancels a chain: running tasks are cancelled, and abandoned if they do not end; then effects
    /// are compensated.
    ///
    /// - Throws: as ``pause(_:)``.
    public func cancel(_ id: ChainID) async throws { try await command(.cancel, id) }

    /// Runs the unfinished part of a failed or cancelled chain again.
    ///
    /// - Throws: as ``pause(_:)``.
    public func retry(_ id: ChainID) async throws { try await command(.retry, id) }

    /// Removes a chain that has ended, with its tasks, its log and the files of its outputs.
    ///
    /// It is durable when this returns. The ledger still counts the chain.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.noSuchChain`, `.chainNotEnded`, and what the
    ///   journal throws.
    public func delete(_ id: ChainID) async throws {
        switch try await engine.ended.remove(id.text) {
        case .removed: return
        case .isOpen:
            throw RepriseError(
                .chainNotEnded, "The chain \(id.text.prefix(80)) has not ended.",
                remedy: "Cancel it, and wait until it has.")
        case .isGone:
            throw RepriseError(.noSuchChain, "No chain has the id \(id.text.prefix(80)).")
        }
    }

    /// Removes all chains that ended at least so long ago, as ``delete(_:)`` does, before their
    /// retention is over.
    ///
    /// - Parameter age: by the device's calendar; zero: all that have ended.
    /// - Returns: how many were removed.
    /// - Throws: what the journal throws; those removed before that stay removed.
    @discardableResult
    public func clear(olderThan age: Duration) async throws -> Int {
        try await engine.ended.clear(olderThan: age)
    }

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

    /// The status of a chain and its tasks.
    ///
    /// - Parameter id: of a chain.
    /// - Returns: nil if it does not exist, or was removed after its retention.
    /// - Throws: what the journal throws.
    public func status(_ id: ChainID) async throws -> ChainStatus? {
        try await journal.read { db in try ChainStatus.read(id.text, db) }
    }

    /// The output of a task, as long as its chain exists.
    ///
    /// - Parameters:
    ///   - task: its name.
    ///   - worker: the type of its worker.
    ///   - id: of its chain.
    /// - Returns: nil if the chain has no such task of this worker, or if it is not done or was
    ///   compensated.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed` if it cannot be decoded; what the
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
    ///   - filter: which; without one all of them.
    ///   - before: the last one of the page before; one that has left since begins anew.
    ///   - limit: at most 1,000.
    /// - Returns: fewer than `limit` at the end.
    /// - Throws: what the journal throws.
    public func list(
        _ filter: ChainFilter = ChainFilter(), before: ChainID? = nil, limit: Int = 100
    ) async throws -> [ChainStatus] {
        try await journal.read { [journal] db in
            try ChainStatus.list(
                filter, before: before?.text, limit: limit, at: journal.now, db)
        }
    }

    /// The changes of all chains from now on, for a loop that ends with its task.
    ///
    /// Of each chain the newest change waits: a slow reader misses those before it, and the changes
    /// of more than 1,024 chains (``ChainChange/missed``). Begin to read, then list what is there
    /// with ``list(_:before:limit:)``. A removal is no change.
    ///
    /// - Returns: the changes, for one reader; ask again for another.
    public func changes() -> ChainChanges { engine.watchers.watchAll() }

    /// The progress of a chain: the current one first, then each change, until it has ended.
    ///
    /// Buffers the newest 64 changes; older ones are dropped.
    ///
    /// - Parameter id: of a chain.
    /// - Returns: a stream; it ends at once if the chain does not exist.
    public func progress(of id: ChainID) -> AsyncStream<ChainProgress> {
        progress(of: id, endsWithChain: true)
    }

    /// The same; if it does not end with the chain, the changes of a retry follow.
    package func progress(of id: ChainID, endsWithChain: Bool) -> AsyncStream<ChainProgress> {
        // Observed before it is read, so that no change falls between the two.
        let changes = engine.watchers.watch(id.text)
        let current = Task { () -> ChainProgress? in
            guard let status = try? await status(id) else { return nil }
            return ChainProgress(state: status.state, done: status.done, total: status.total)
        }
        let asked = Mutex(Asked.nothing)
        return AsyncStream {
            let next: ChainProgress?
            switch asked.withLock({ $0 }) {
            case .nothing: next = await current.value
            case .first:
                var iterator = changes.makeAsyncIterator()
                next = await iterator.next()
            case .last: next = nil
            }
            let isLast = next.map { endsWithChain && $0.state.isEnd } ?? true
            asked.withLock { $0 = isLast ? .last : .first }
            return next
        }
    }

    /// What an observer of the progress has got.
    private enum Asked { case nothing, first, last }
}
