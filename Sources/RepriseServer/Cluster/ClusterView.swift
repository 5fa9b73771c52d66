package import Foundation
import GRDB
package import RepriseCore
package import RepriseWire
import Synchronization

/// What a gateway has applied of the journal: a log and accounts in one file, `view.sqlite`.
///
/// It may be deleted at any time: the journal makes it anew. Log, accounts and the last applied
/// entry commit together.
///
/// ```swift
/// let view = try ClusterView.open(at: "/var/lib/reprise", epoch: epoch)
/// for entry in try view.apply(entries) { settle(entry) }
/// ```
package final class ClusterView: Sendable {
    /// The settings of a view: equal on all gateways of a cluster.
    package struct Configuration: Sendable {
        /// Whether a channel that nobody made is public.
        package var implicitChannels = false
        /// The most devices whose newest hello is remembered.
        package var devices = ClusterLimits.devices
        /// The log's settings; its clock is not asked.
        package var log = SQLiteMessageLog.Configuration()
        /// The newest ``ClusterRules`` that this gateway knows; a test has an older one.
        package var newestRules = ClusterRules.newest
        /// Called before an entry is applied; a test fails or looks there.
        package var onApply: (@Sendable (StoredEntry) throws -> Void)?

        package init() {}
    }

    fileprivate struct State {
        var admission: AdmissionMachine
        var applier: CommandApplier

        /// As it is stored.
        ///
        /// - Throws: ``RepriseCore/RepriseError`` `.unknownKind` if a later version has applied
        ///   more than this one knows.
        init(
            _ db: Database, _ configuration: Configuration, _ pushes: PushQueue
        ) throws {
            let rules = try ClusterRules.inForce(db)
            guard rules <= configuration.newestRules else {
                throw RepriseError(
                    .unknownKind,
                    "The view, or the journal's base, has rules \(rules); this version knows "
                        + "\(configuration.newestRules).",
                    remedy: "Upgrade this gateway.")
            }
            admission = try AdmissionMachine(db)
            admission.newestRules = configuration.newestRules
            applier = CommandApplier(
                implicitChannels: configuration.implicitChannels, pushes: pushes,
                arrivals: try DeviceArrivals(db, limit: Int64(configuration.devices)),
                leases: try GrantedLeases(db), rules: rules)
        }
    }

    /// What others ask of it, as it was after the last commit.
    private struct Committed {
        let position: JournalPosition
        let time: WallTime
        let isTimeHeld: Bool
        let sessions: [Int64: AdmissionMachine.Session]
        let leases: [LeaseRole: Lease]
        let rules: Int64

        init(_ state: State) {
            position = state.admission.position
            time = state.admission.time
            isTimeHeld = state.admission.isTimeHeld
            sessions = state.admission.sessions
            leases = state.applier.leases.leases
            rules = state.applier.rules
        }
    }

    /// For reading; nothing is written to it.
    package let log: SQLiteMessageLog
    let accounts: AccountsDatabase
    /// The gateway's own, while it pushes.
    let pushQueue: PushQueue
    private let pushes: AccountsDatabase
    private let configuration: Configuration
    /// The view at the newest mark.
    package let marks: AsyncStream<ViewMark>
    private let marking: AsyncStream<ViewMark>.Continuation
    private let database: LogDatabase
    /// Held while entries are applied, until SQLite has written them.
    private let state: Mutex<State>
    /// Event loops ask it: nobody holds it for long.
    private let committed: Mutex<Committed>
    private let note: ApplyingNote

    /// Opens the view in a folder, or makes an empty one.
    ///
    /// - Parameters:
    ///   - path: the folder.
    ///   - epoch: the journal's.
    ///   - cluster: whose it is, if that has a name.
    ///   - configuration: the view's settings.
    /// - Returns: the view, exclusively until ``close()`` or the process's end.
    /// - Throws: as ``SQLiteMessageLog/open(at:_:)``; `.badConfiguration` if it is of another
    ///   journal; `.unknownKind` if it has later rules than this gateway knows.
    package static func open(
        at path: String, epoch: Epoch, of cluster: ClusterName? = nil,
        _ configuration: Configuration = Configuration()
    ) throws -> ClusterView {
        if let cluster { try ViewCluster.expect(cluster, in: path) }
        let database = try LogDatabase.open(
            at: path, configuration.log, kind: .view,
            migrator: ClusterSchema.migrator(epoch: epoch))
        do {
            guard database.reading.epoch == epoch else {
                throw ViewCluster.isOther(in: path, cluster)
            }
            if let cluster { ViewCluster.note(cluster, in: path) }
            return try ClusterView(database, configuration, in: path)
        } catch {
            database.close()
            throw ServerDatabase.view.typed(error)
        }
    }

    private init(
        _ database: LogDatabase, _ configuration: Configuration, in folder: String
    ) throws {
        self.database = database
        log = SQLiteMessageLog(database)
        accounts = AccountsDatabase(view: database.pool)
        self.configuration = configuration
        (marks, marking) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        pushes = AccountsDatabase(pushesOf: database.pool)
        pushQueue = PushQueue(pushes, isInCluster: true)
        let queue = pushQueue
        let state = try database.readNow { try State($0, configuration, queue) }
        note = ApplyingNote(in: folder, applied: state.admission.position.sequence)
        committed = Mutex(Committed(state))
        self.state = Mutex(state)
    }

    /// Whether a channel that nobody made is public.
    var implicitChannels: Bool { configuration.implicitChannels }

    /// See ``ClusterRules``.
    package var rules: Int64 { committed.withLock { $0.rules } }

    /// The newest of them that this gateway knows.
    package var newestRules: Int64 { configuration.newestRules }

    /// The last applied entry.
    package var position: JournalPosition { committed.withLock { $0.position } }

    /// The journal's time, and whether it stands still: see ``AdmissionMachine/isTimeHeld``.
    package var time: (WallTime, isHeld: Bool) {
        committed.withLock { ($0.time, $0.isTimeHeld) }
    }

    /// See ``AdmissionMachine/order(of:)``.
    package func order(of entry: StoredEntry) -> AdmissionMachine.Order {
        state.withLock { $0.admission.order(of: entry) }
    }

    /// See ``AdmissionMachine/digest(at:)``.
    package func digest(at sequence: Int64) -> JournalDigest? {
        state.withLock { $0.admission.digest(at: sequence) }
    }

    /// See ``AdmissionMachine/remembered``.
    package var remembered: Int64 { state.withLock { $0.admission.remembered } }

    /// Compares entries that were read with what is applied, as far as that goes.
    ///
    /// - Parameter entries: in order, without holes; the journal may begin with them.
    /// - Returns: the last that was compared, and whether all are what is applied: nil if the
    ///   journal begins behind that. Nil for no entries.
    package func compare(_ entries: [StoredEntry]) -> (through: Int64, isEqual: Bool?)? {
        guard let first = entries.first else { return nil }
        return state.withLock { state -> (through: Int64, isEqual: Bool?)? in
            let end = state.admission.position.sequence
            let past = entries.prefix { $0.sequence <= end }
            guard let last = past.last else { return (end, nil) }
            guard let digest = state.admission.digest(at: first.sequence - 1) else {
                return (end, false)
            }
            let isEqual =
                past.reduce(digest) { $0.appending($1) }
                == state.admission.digest(at: last.sequence)
            return (last.sequence, isEqual)
        }
    }

    /// Applies the next entries in one transaction: all, or those up to a mark or before a fault,
    /// or none; one alone where the process has ended before.
    ///
    /// - Parameters:
    ///   - entries: in order; the first is the next.
    ///   - isVerified: see ``AdmissionMachine/admit(_:isVerified:isSkipped:)``.
    ///   - skipped: the entries of which every command is refused.
    /// - Returns: what each came to, until a mark: ``marks`` has the view as it is there.
    /// - Throws: ``AdmissionMachine/Fault`` of the first; ``RepriseCore/RepriseError`` of the disk.
    ///   Then nothing is applied, and the gateway stops or tries again: it must not go on with the
    ///   next.
    package func apply(
        _ entries: [StoredEntry], isVerified: Bool = false, skipping skipped: Set<SkippedEntry> = []
    ) throws -> [AppliedEntry] {
        guard let first = entries.first, let last = entries.last else { return [] }
        let isSkipped = skipped.contains { $0.isEntry(first) }
        guard isSkipped || note.deaths(at: first.sequence) < ClusterLimits.deaths else {
            throw AdmissionMachine.Fault.poisonous(sequence: first.sequence, Self.ended)
        }
        if entries.count > 1, note.isSuspect(first.sequence) {
            return try apply([first], isVerified: isVerified, skipping: skipped)
        }
        note.begin(first.sequence, through: last.sequence)
        do {
            let applied = try applyNoted(entries, isVerified, skipped)
            note.applied(first.sequence)
            return applied
        } catch let fault as AdmissionMachine.Fault {
            note.end()
            guard case .poisonous(let sequence, _) = fault, sequence > first.sequence else {
                throw fault
            }
            // What stands before it can be applied.
            let count = entries.prefix { $0.sequence < sequence }.count
            return try apply(
                Array(entries.prefix(count)), isVerified: isVerified, skipping: skipped)
        } catch {
            note.end()
            throw error
        }
    }

    private static let ended = RepriseError(
        .internal, "this gateway's process has ended \(ClusterLimits.deaths) times while it did.")

    private func applyNoted(
        _ entries: [StoredEntry], _ isVerified: Bool, _ skipped: Set<SkippedEntry>
    ) throws -> [AppliedEntry] {
        let applied = try state.withLock { state -> [AppliedEntry] in
            var fault: AdmissionMachine.Fault?
            do {
                let applied: [AppliedEntry] = try database.commit { memory, db in
                    do {
                        return try apply(
                            entries, isVerified, skipped, to: &state, &memory, db)
                    } catch let error as AdmissionMachine.Fault {
                        fault = error
                        throw error
                    }
                }
                let now = Committed(state)
                committed.withLock { $0 = now }
                return applied
            } catch {
                // Nothing was written, so what is in memory is as before.
                state = try database.readNow { try State($0, configuration, pushQueue) }
                throw fault ?? error
            }
        }
        if let grant = applied.last?.mark { try mark(by: grant) }
        var (channels, hasDeleted) = ([ChannelName](), false)
        for entry in applied {
            entry.forEachChange { channel, deletes in
                if channel != channels.last { channels.append(channel) }
                hasDeleted = hasDeleted || deletes
            }
        }
        log.noteChanges(in: channels, hasDeleted: hasDeleted)
        return applied
    }

    /// In a transaction, as far as the first mark or before a fault that is not the first's.
    private func apply(
        _ entries: [StoredEntry], _ isVerified: Bool, _ skipped: Set<SkippedEntry>,
        to state: inout State, _ memory: inout LogMemory, _ db: Database
    ) throws -> [AppliedEntry] {
        let sessions = state.admission.sessions
        var applied: [AppliedEntry] = []
        for entry in entries {
            let isSkipped = skipped.contains { $0.isEntry(entry) }
            do {
                if !isSkipped { try configuration.onApply?(entry) }
                applied.append(try state.apply(entry, isVerified, isSkipped, &memory, db))
            } catch is AdmissionMachine.Fault where !applied.isEmpty {
                break  // It has changed nothing, and is the next.
            } catch {
                guard let reason = Self.poison(error) else { throw error }
                throw AdmissionMachine.Fault.poisonous(sequence: entry.sequence, reason)
            }
            if applied.last?.mark != nil { break }
        }
        try state.admission.save(since: sessions, db)
        return applied
    }

    /// Why applying fails on every gateway alike; nil if it may be this one's disk or memory.
    private static func poison(_ error: any Error) -> RepriseError? {
        switch error {
        case is AdmissionMachine.Fault, is CancellationError: return nil
        case let error as RepriseError: return ofThisGateway.contains(error.code) ? nil : error
        case let error as DatabaseError:
            guard ofTheStatement.contains(error.resultCode) else { return nil }
            return RepriseError(
                .internal, "SQLite refuses a statement: \(error.message ?? "?").", cause: error)
        default: return RepriseError(.internal, "\(type(of: error))", cause: error)
        }
    }

    private static let ofThisGateway: Set<RepriseError.Code> = [
        .corrupt, .diskFull, .diskFailed, .notWritable, .busy, .closed, .unavailable,
    ]
    private static let ofTheStatement: [ResultCode] = [
        .SQLITE_ERROR, .SQLITE_CONSTRAINT, .SQLITE_MISMATCH, .SQLITE_TOOBIG, .SQLITE_RANGE,
    ]

    /// Keeps the view as it is now: nobody else applies to it.
    private func mark(by grant: Int64) throws {
        do {
            marking.yield(
                ViewMark(
                    position: position, grant: grant, time: time.0,
                    snapshot: try database.pool.makeSnapshot()))
        } catch {
            throw ServerDatabase.view.typed(error)
        }
    }

    /// Every relevant row as text: equal for two views that applied the same.
    package func dump() throws -> [String] {
        try log.stepped.dump()
            + database.readNow { db in
                try ViewContent.tables(db).flatMap { table in
                    try Row.fetchAll(db, sql: "SELECT * FROM \(table)").map { "\(table) \($0)" }
                        .sorted()
                }
            }
    }

    /// See ``ViewContent``.
    package func contentHash() throws -> [UInt8] {
        try database.readNow { try ViewContent.hash($0, toTheEnd: true) }
    }

    /// Copies the view as it is now into a file, as a base is.
    package func copy(to file: URL) throws {
        try BaseKeeper.write(database.pool.makeSnapshot(), to: file)
    }

    /// What a user may do in a channel, as far as the journal is applied.
    package func grant(_ who: Principal, in channel: ChannelName) throws -> Grant {
        try database.readNow { db in
            if who.user == nil { return who.isAdmin ? .everything : .nothing }
            if channel.isDirectory, try ClusterRules.inForce(db) >= ClusterRules.directories {
                return .inDirectory(channel, who)
            }
            return try Grant.fetch(
                who, in: channel, implicitChannels: configuration.implicitChannels, db)
        }
    }

    /// See ``PositionStore/all(of:first:limit:)``, as far as the journal is applied.
    package func positions(
        of channel: ChannelName, first: UserID?, limit: Int
    ) throws -> [ServerFrame.Position] {
        try database.readNow { db in
            try PositionStore.all(of: channel, first: first, limit: limit, db)
        }
    }

    /// What a gateway that begins to push finds of a channel, as far as the journal is applied.
    package func pushProgress(
        _ service: PushService, in channel: ChannelName
    ) throws -> PushProgress {
        try database.readNow { try PushProgress.found(service, in: channel, $0) }
    }

    /// The sessions that have written something since so long, by the journal's time.
    package func writers(within duration: Duration) -> Set<Int64> {
        committed.withLock { committed in
            let since = committed.time.advanced(by: .zero - duration)
            return Set(committed.sessions.filter { $0.value.time >= since }.keys)
        }
    }

    /// The holder of a lease; nil: it is free.
    package func lease(_ role: LeaseRole) -> Lease? {
        committed.withLock { $0.leases[role] }
    }

    package func close() async {
        marking.finish()
        await pushes.close()
        await log.close()
    }
}

extension ClusterView.State {
    mutating func apply(
        _ stored: StoredEntry, _ isVerified: Bool, _ isSkipped: Bool, _ memory: inout LogMemory,
        _ db: Database
    ) throws -> AppliedEntry {
        let admission = try admission.admit(
            stored, isVerified: isVerified, isSkipped: isSkipped)
        try self.admission.saveEntry(db)
        var outcomes: [CommandOutcome] = []
        if let count = admission.skipped {
            if admission.disposition == .accepted {
                outcomes = Array(repeating: CommandApplier.skipped, count: count)
            }
        } else if case .accepted = admission.disposition, let entry = admission.entry {
            outcomes = try applier.apply(
                entry.commands, of: stored.sequence, at: admission.time, &memory, db)
        }
        return AppliedEntry(
            sequence: stored.sequence, session: admission.entry?.session ?? 0,
            n: admission.entry?.n ?? 0, bytes: stored.bytes.count, time: admission.time,
            disposition: admission.disposition, outcomes: outcomes)
    }
}

extension AppliedEntry {
    /// The grant of who has set a mark in it.
    var mark: Int64? {
        for case .marked(let grant) in outcomes { return grant }
        return nil
    }

    /// The devices whose connections up to a generation are to end.
    package var arrivals: [Arrival] {
        outcomes.flatMap { outcome -> [Arrival] in
            guard case .arrived(let arrival, let forgotten) = outcome else { return [] }
            return [forgotten, arrival].compactMap(\.self)
        }
    }

    /// The stored messages, in order: for the subscribers.
    package var events: [ServerFrame.Event] {
        var events: [ServerFrame.Event] = []
        for case .published(let results) in outcomes {
            for result in results { result.forEachEvent { events.append($0) } }
        }
        return events
    }

    /// Calls `body` with each channel whose messages have changed, and whether one was deleted.
    func forEachChange(_ body: (ChannelName, _ hasDeleted: Bool) -> Void) {
        for outcome in outcomes {
            switch outcome {
            case .published(let results):
                for result in results {
                    result.forEachEvent { event in
                        if case .deletes = event.change {
                            body(event.channel, true)
                        } else {
                            body(event.channel, false)
                        }
                    }
                }
            case .trimmed(let channel, _): body(channel, true)
            case .nothing, .arrived, .leased, .marked, .hashed, .checked, .forgot, .changed,
                .refused:
                break
            }
        }
    }
}
