package import Foundation
package import RepriseCore
package import RepriseServer
package import RepriseWire

/// The log of tier (b): the shipping SQLite log, on real files.
///
/// A crash is what a kill leaves: database and WAL are copied as they are, without a checkpoint,
/// and the copy is opened. It commits with `synchronous = FULL`, so a loss of power takes nothing
/// more; that is tried on a real file system elsewhere (`docs/reliability/processes.md`). A commit
/// whose sync fails is rolled back, as SQLite does, and made again after a crash if that is to find
/// it.
package final class SQLiteLogStore: LogStore {
    private let folder: URL
    private let firstEpoch: Epoch
    private let configure: (inout SQLiteMessageLog.Configuration) -> Void
    private var generation = 0
    private var log: SteppedLog
    private var hasBackup = false
    /// Makes what a commit left behind whose sync failed.
    private var unsynced: ((SteppedLog) throws -> [ServerFrame.Event])?

    /// Makes an empty log.
    ///
    /// - Parameters:
    ///   - folder: where its files are; the caller removes it.
    ///   - epoch: of the first log.
    ///   - configure: how it is kept.
    /// - Throws: what opening the log throws.
    package init(
        in folder: URL, epoch: Epoch,
        configure: @escaping (inout SQLiteMessageLog.Configuration) -> Void = { _ in }
    ) throws {
        self.folder = folder
        self.configure = configure
        firstEpoch = epoch
        log = try Self.open(Self.place(0, in: folder), epoch, isRestored: false, configure)
    }

    deinit { log.close() }

    package func append(
        _ batch: [NewMessage], now: WallTime, fate: Fate
    ) throws -> [AppendResult] {
        try log.append(batch, now: now) { results in
            guard results.contains(where: { $0.event != nil }) else { return }
            try meet(fate()) { try $0.append(batch, now: now).flatMap(\.events) }
        }
    }

    /// `again` makes the commit, should its sync fail and a crash find it nevertheless.
    private func meet(
        _ fate: SimulatedDisk.Fate,
        again: @escaping (SteppedLog) throws -> [ServerFrame.Event]
    ) throws {
        switch fate {
        case .done: unsynced = nil
        case .full: throw ModelLogStore.full
        case .syncFailed:
            unsynced = again
            throw ModelLogStore.failed
        }
    }

    package func preview(_ batch: [NewMessage], now: WallTime) throws -> [AppendResult] {
        var preview: [AppendResult] = []
        do {
            _ = try log.append(batch, now: now) { results in
                preview = results
                throw ModelLogStore.failed
            }
        } catch let error as RepriseError where error.code == ModelLogStore.failed.code {}
        return preview
    }

    package func state(of channel: ChannelName) throws -> LogChannelState {
        try log.state(of: channel)
    }

    package func page(
        of channel: ChannelName, missing: [SequenceRange], limit: Int, byteLimit: Int
    ) throws -> LogPage {
        try log.page(of: channel, missing: missing, limit: limit, byteLimit: byteLimit)
    }

    package func trim(_ policy: RetentionPolicy, now: WallTime, fate: Fate) throws {
        guard try log.trims(policy, now: now) else { return }
        try meet(fate()) {
            try $0.trim(policy, now: now)
            return []
        }
        try log.trim(policy, now: now)
    }

    package func crash(losingPower: Bool, keepsUnsynced: Bool) throws -> [ServerFrame.Event] {
        let again = unsynced
        try replaceLog(epoch: nil, isRestored: false, from: place)
        guard keepsUnsynced, let again else { return [] }
        return try again(log)
    }

    package func backUp() throws {
        try? FileManager.default.removeItem(at: backup)
        try Self.copy(from: place, to: backup)
        hasBackup = true
    }

    package func restore(epoch: Epoch?) throws {
        try replaceLog(
            epoch: epoch, isRestored: hasBackup && epoch != nil, from: hasBackup ? backup : nil)
    }

    package func replace(epoch: Epoch) throws {
        hasBackup = false
        try replaceLog(epoch: epoch, isRestored: false, from: nil)
    }

    package func dump() throws -> [String] { try log.dump() }

    // MARK: Files

    private var place: URL { Self.place(generation, in: folder) }
    private var backup: URL { folder.appendingPathComponent("backup") }

    private static func place(_ generation: Int, in folder: URL) -> URL {
        folder.appendingPathComponent("log-\(generation)")
    }

    private func replaceLog(epoch: Epoch?, isRestored: Bool, from source: URL?) throws {
        let former = place
        generation += 1
        if let source { try Self.copy(from: source, to: place) }
        log.close()
        try FileManager.default.removeItem(at: former)
        log = try Self.open(place, epoch ?? firstEpoch, isRestored: isRestored, configure)
        unsynced = nil
    }

    private static func open(
        _ place: URL, _ epoch: Epoch, isRestored: Bool,
        _ configure: (inout SQLiteMessageLog.Configuration) -> Void
    ) throws -> SteppedLog {
        var configuration = SQLiteMessageLog.Configuration()
        configuration.readers = 1
        configure(&configuration)
        configuration.newEpoch = { epoch }
        configuration.isRestored = isRestored
        return try SQLiteMessageLog.open(at: place.path, configuration).stepped
    }

    /// As a killed process leaves them: nothing is written back to the database first.
    private static func copy(from source: URL, to target: URL) throws {
        let files = FileManager.default
        try files.createDirectory(at: target, withIntermediateDirectories: true)
        for name in ["messages.sqlite", "messages.sqlite-wal"] {
            let file = source.appendingPathComponent(name)
            guard files.fileExists(atPath: file.path) else { continue }
            try files.copyItem(at: file, to: target.appendingPathComponent(name))
        }
    }
}
