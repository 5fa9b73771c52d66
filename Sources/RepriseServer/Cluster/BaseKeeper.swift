import Dispatch
package import Foundation
import GRDB
import Logging
import RepriseCore
import RepriseWire
import Synchronization

/// Makes bases: a copy of the view that stands for all entries of the journal up to a mark, which
/// then go.
///
/// Every gateway says at each mark what its view holds. The one with the lease copies its view into
/// the ``BaseStore``, reads it back, and lets it count once another gateway had the same, or none
/// is there. Views that differ stop that, and are told.
package actor BaseKeeper {
    /// When bases are made.
    package struct Schedule: Sendable {
        package var every: Duration = ClusterLimits.baseEvery
        package var fill = ClusterLimits.baseFill
        package var hashWithin: Duration = ClusterLimits.hashWithin

        package init() {}
    }

    /// Its threads block on the disk in place of those of Swift's pool; renewing the lease does not
    /// wait for a copy.
    private static let executor = QueueExecutor(
        DispatchQueue(label: "reprise.bases", attributes: .concurrent))

    private let view: ClusterView
    private let store: any BaseStore
    private let leases: ClusterLeases
    private let health: ClusterHealth
    private let submit: CommandSubmission
    private let clock: any Timekeeper
    private let logger: Logger
    private let folder: String
    private let schedule: Schedule
    private let agreement = Mutex(BaseAgreement())
    /// The view at a mark of this gateway's own, until it is copied: while it is kept, the file's
    /// write-ahead log grows.
    private var kept: ViewMark?
    private let difference = Mutex<String?>(nil)
    private let unreadable = Mutex<String?>(nil)

    init(
        view: ClusterView, store: any BaseStore, leases: ClusterLeases, health: ClusterHealth,
        submit: @escaping CommandSubmission, in folder: String, _ schedule: Schedule,
        clock: any Timekeeper, logger: Logger
    ) {
        self.view = view
        self.store = store
        self.leases = leases
        self.health = health
        self.submit = submit
        self.folder = folder
        self.schedule = schedule
        self.clock = clock
        self.logger = logger
    }

    /// Why this view could not be read at the newest mark, or what differs between the views of
    /// gateways; nil while neither is known.
    package nonisolated var problem: String? {
        unreadable.withLock { $0 } ?? difference.withLock { $0 }
    }

    /// For how long this gateway has not said what its view held at the newest mark: see
    /// ``BaseAgreement/owing(now:)``.
    package nonisolated var owing: Duration {
        let now = clock.uptime()
        return agreement.withLock { $0.owing(now: now) }
    }

    /// An entry is applied, perhaps one of this gateway; does not block.
    package nonisolated func applied(_ entry: AppliedEntry, isOwn: Bool) {
        guard entry.disposition == .accepted else { return }
        let now = clock.uptime()
        let hasHeard = agreement.withLock { agreement in
            if !isOwn { agreement.wrote(entry.session, at: entry.sequence) }
            var hasHeard = false
            for case .hashed(let hash) in entry.outcomes {
                agreement.heard(hash, from: entry.session, isOwn: isOwn)
                hasHeard = true
            }
            for case .checked(let check) in entry.outcomes {
                agreement.named(entry.session, check.name)
            }
            if entry.mark != nil { agreement.marked(at: entry.sequence, now: now) }
            return hasHeard
        }
        if hasHeard { compare() }
    }

    /// Until cancelled.
    package func run() async {
        await withTaskExecutorPreference(Self.executor) {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { for await mark in self.view.marks { await self.look(at: mark) } }
                group.addTask {
                    await self.leases.hold(.base) { lease in await self.keep(lease) }
                }
            }
        }
    }

    // MARK: What views hold

    private func look(at mark: ViewMark) async {
        do {
            let own = ViewHash(mark: mark.position.sequence, hash: try await hash(at: mark))
            agreement.withLock { $0.looked(own) }
            kept = leases.grant(of: .base) == mark.grant ? mark : nil
            try await tell(own)
        } catch {
            guard !Task.isCancelled else { return }
            logger.warning(
                "the hash of this gateway's view could not be sent", metadata: ["error": "\(error)"]
            )
        }
    }

    /// What cannot be read here cannot be served either.
    private func hash(at mark: ViewMark) async throws -> [UInt8] {
        do {
            let hash = try await mark.snapshot.read { try ViewContent.hash($0) }
            unreadable.withLock { $0 = nil }
            return hash
        } catch {
            let reason = ServerDatabase.view.typed(error)
            if !Task.isCancelled, [.corrupt, .diskFailed].contains(reason.code) {
                let text = "This gateway cannot read its view: \(reason.message)"
                unreadable.withLock { $0 = "\(text) \(reason.remedy ?? "")" }
            }
            throw reason
        }
    }

    /// Tries as long as somebody may wait for it: a journal without a leader answers nobody.
    private func tell(_ own: ViewHash) async throws {
        let end = clock.uptime() + schedule.hashWithin
        while true {
            do {
                _ = try await submit([.hashed(own)])
                return
            } catch let error as RepriseError
                where [.unavailable, .full].contains(error.code) && clock.uptime() < end
            {
                try await clock.sleep(for: .seconds(1))
            }
        }
    }

    private nonisolated func compare() {
        guard let (mark, equal, all) = agreement.withLock({ $0.comparison }) else { return }
        guard equal < all else { return difference.withLock { $0 = nil } }
        let text =
            "The views of gateways differ at entry \(mark): "
            + "\(equal) of \(all) have what this one has."
        let isNew = difference.withLock { told in
            defer { told = text }
            return told != text
        }
        guard isNew else { return }
        logger.error(
            "the views of gateways differ: remove the view of the one that differs from all others",
            metadata: ["entry": "\(mark)", "equal": "\(equal)", "of": "\(all)"])
    }

    // MARK: Making one

    private func keep(_ lease: HeldLease) async {
        var failures = 0
        while !Task.isCancelled {
            try? await clock.sleep(for: min(.seconds(60), schedule.every / 4))
            guard lease.isCurrent else { continue }
            do {
                let last = try await store.newest()
                if let last { try await removeAgain(before: last) }
                if isDue(after: last) { try await make(lease) }
                failures = 0
            } catch {
                guard !Task.isCancelled else { return }
                logger.warning("no base was made", metadata: ["error": "\(error)"])
                // It may go on failing, and each try reads the whole view.
                failures += 1
                let wait = ClusterLimits.baseRetries.ceiling(failures: failures)
                try? await clock.sleep(for: min(wait, schedule.every / 4))
            }
        }
    }

    /// By the journal's time, since gateways come and go more often than bases are made.
    private func isDue(after last: BaseManifest?) -> Bool {
        guard let last else { return true }
        // Entries may be large: 8 GiB can be fewer than 10,000. If those before the last base are
        // still there, another one would not remove them either.
        let isFull =
            health.fill >= schedule.fill
            && health.status?.first ?? 0 > last.position.sequence
        return isFull || last.time.advanced(by: schedule.every) <= view.time.0
    }

    /// Makes a base, and removes the entries before it.
    ///
    /// - Throws: ``RepriseCore/RepriseError``; then the former one counts.
    private func make(_ lease: HeldLease) async throws {
        defer { kept = nil }
        for case .refused(let error) in try await submit([.mark(grant: lease.grant)]) {
            throw error
        }
        let folder = URL(fileURLWithPath: folder)
        let file = folder.appending(path: "base.sqlite")
        let copy = folder.appending(path: "base-copy.sqlite")
        defer {
            for url in [file, copy] { try? FileManager.default.removeItem(at: url) }
        }
        var manifest = try await copyMarked(by: lease.grant, to: file)
        let mark = manifest.position.sequence
        do {
            manifest = try await store.upload(file, manifest)
            try await store.download(manifest, to: copy)
            guard try await ViewContent.hash(of: copy) == manifest.content else {
                throw RepriseError(.corrupt, "The base is not what this view holds.")
            }
            try await agreed(on: ViewHash(mark: mark, hash: manifest.content))
            guard lease.isCurrent else {
                throw RepriseError(.refused, "Another gateway does this now.")
            }
            try await store.put(manifest.encoded, as: .manifest(mark: mark))
        } catch {
            try? await store.removePieces(at: mark)
            throw error
        }
        try await remove(before: mark)
        logger.notice(
            "a base was made",
            metadata: [
                "entry": "\(mark)", "bytes": "\(manifest.bytes)",
                "pieces": "\(manifest.pieces.count)",
            ])
    }

    /// Removes what a base stands for: the entries up to its mark, and the former bases.
    private func remove(before mark: Int64) async throws {
        try await store.removeEntries(through: mark)
        // What is begun by another gateway has a later mark.
        for former in try await store.marks(complete: false) where former < mark {
            try await store.removePieces(at: former)
        }
    }

    /// Removes what the newest base stands for, if whoever made it has not come to that.
    private func removeAgain(before last: BaseManifest) async throws {
        let (sequence, digest) = (last.position.sequence, last.position.digest)
        guard let status = health.status, status.first <= sequence else { return }
        // In place of the entries of another past it stands for nothing.
        guard view.digest(at: sequence) ?? digest == digest else { return }
        try await remove(before: sequence)
    }

    /// Copies this view as it was at the mark, once it is hashed.
    private func copyMarked(by grant: Int64, to file: URL) async throws -> BaseManifest {
        let end = clock.uptime() + schedule.hashWithin
        while clock.uptime() < end {
            if let mark = kept, mark.grant == grant, let mine = agreement.withLock({ $0.mine }),
                mine.mark == mark.position.sequence
            {
                defer { kept = nil }
                try Self.write(mark.snapshot, to: file)
                return BaseManifest(position: mark.position, time: mark.time, content: mine.hash)
            }
            try await clock.sleep(for: .milliseconds(50))
        }
        throw RepriseError(.unavailable, "This view took too long to read.")
    }

    /// Returns once another gateway had the same; or none is there in time.
    private func agreed(on hash: ViewHash) async throws {
        let end = clock.uptime() + schedule.hashWithin
        while try !agreement.withLock({ $0 }).allows(hash, isLate: clock.uptime() >= end) {
            try await clock.sleep(for: .milliseconds(200))
        }
    }

    static func write(_ snapshot: DatabaseSnapshot, to file: URL) throws {
        try? FileManager.default.removeItem(at: file)
        do {
            let copy = try DatabaseQueue(path: file.path)
            defer { try? copy.close() }
            try snapshot.backup(to: copy)
            try copy.writeWithoutTransaction { db in
                try db.execute(sql: "PRAGMA journal_mode = DELETE")
            }
        } catch {
            throw ServerDatabase.view.typed(error)
        }
    }
}

extension BaseStore {
    /// The newest base that counts.
    package func newest() async throws -> BaseManifest? {
        guard let mark = try await marks(complete: true).last,
            let bytes = try await get(.manifest(mark: mark))
        else { return nil }
        return try BaseManifest(bytes)
    }

    /// Keeps a file as the pieces of a base, which counts once its manifest is kept too.
    ///
    /// - Parameters:
    ///   - file: the copy of a view.
    ///   - manifest: of the base, without pieces.
    ///   - told: how many bytes are kept.
    /// - Returns: the manifest with the pieces.
    /// - Throws: ``RepriseCore/RepriseError`` `.tooLarge` beyond ``ClusterLimits/basePieces``;
    ///   what the store throws.
    package func upload(
        _ file: URL, _ manifest: BaseManifest, _ told: (Int64) -> Void = { _ in }
    ) async throws -> BaseManifest {
        var manifest = manifest
        let handle = try FileHandle(forReadingFrom: file)
        defer { try? handle.close() }
        let most = UInt64(ClusterLimits.basePieces) * UInt64(ClusterLimits.basePiece)
        guard try handle.seekToEnd() <= most else {
            throw RepriseError(
                .tooLarge, "A base has at most \(most) bytes, and this view more.",
                remedy: "Let channels keep fewer messages.")
        }
        try handle.seek(toOffset: 0)
        while let data = try handle.read(upToCount: ClusterLimits.basePiece), !data.isEmpty {
            let bytes = Array(data)
            try await put(
                bytes,
                as: .piece(mark: manifest.position.sequence, number: manifest.pieces.count))
            manifest.append(bytes)
            told(manifest.bytes)
        }
        return manifest
    }

    /// Writes a base into a file, piece by piece.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.corrupt` for a piece that is not there, or another.
    func download(_ manifest: BaseManifest, to file: URL) async throws {
        try? FileManager.default.removeItem(at: file)
        guard FileManager.default.createFile(atPath: file.path, contents: nil),
            let handle = try? FileHandle(forWritingTo: file)
        else {
            throw RepriseError(
                .notWritable, "\(file.path) cannot be written.",
                remedy: "Look at the data folder's permissions and space.")
        }
        defer { try? handle.close() }
        for number in manifest.pieces.indices {
            let name = BasePiece.piece(mark: manifest.position.sequence, number: number)
            guard let bytes = try await get(name), manifest.hasPiece(bytes, at: number) else {
                throw RepriseError(
                    .corrupt, "Piece \(number) of the journal's base is not what it was.",
                    remedy: "Start again; if it stays so, restore the journal's base stream.")
            }
            try handle.write(contentsOf: bytes)
        }
        try handle.synchronize()
    }

    /// Makes a view anew in a folder, as the journal's base has it.
    ///
    /// A base of before a journal was restored gets the journal's new epoch.
    ///
    /// - Parameters:
    ///   - folder: the view's; what it holds stays where no base can take its place.
    ///   - journal: whose base it is.
    ///   - first: the journal's first entry, which the base has to reach.
    /// - Returns: where it stands.
    /// - Throws: ``RepriseCore/RepriseError`` `.unavailable` if no base reaches the entry.
    func install(
        in folder: String, of journal: some ClusterJournal, reaching first: Int64
    ) async throws -> JournalPosition {
        guard var manifest = try await newest(), manifest.position.sequence >= first - 1 else {
            throw BaseKeeper.isMissing(first)
        }
        let folder = URL(fileURLWithPath: folder)
        let file = folder.appending(path: "base-copy.sqlite")
        defer { try? FileManager.default.removeItem(at: file) }
        while true {
            do {
                try await download(manifest, to: file)
                break
            } catch let error as RepriseError where error.code == .corrupt {
                // Another base may have taken its place meanwhile.
                guard let newer = try await newest(),
                    newer.position.sequence > manifest.position.sequence
                else { throw error }
                manifest = newer
            }
        }
        guard try await ViewContent.hash(of: file) == manifest.content else {
            throw RepriseError(
                .corrupt, "The journal's base does not hold what it should.",
                remedy: "Restore the journal's base stream.")
        }
        if !journal.formerEpochs.isEmpty {
            try Self.renew(journal.epoch, after: journal.formerEpochs, in: file)
        }
        let view = folder.appending(path: "\(ServerDatabase.view.file).sqlite")
        for suffix in ["-wal", "-shm", ""] {
            try? FileManager.default.removeItem(atPath: view.path + suffix)
        }
        try FileManager.default.moveItem(at: file, to: view)
        return manifest.position
    }

    private static func renew(_ epoch: Epoch, after former: Set<Epoch>, in file: URL) throws {
        do {
            let queue = try DatabaseQueue(path: file.path)
            defer { try? queue.close() }
            try queue.write { db in
                if former.contains(try LogSchema.epoch(db)) { try LogSchema.setEpoch(epoch, db) }
            }
        } catch {
            throw ServerDatabase.view.typed(error)
        }
    }
}

extension BaseKeeper {
    /// A journal whose beginning is gone.
    ///
    /// Gateways remove only what a base holds. But where the first blocks of a node's copy are
    /// damaged, NATS says that the journal begins behind them.
    static func isMissing(_ first: Int64) -> RepriseError {
        RepriseError(
            .unavailable,
            "The journal begins at entry \(first) on the node that leads, and no base reaches it.",
            remedy: "If that node's copy is damaged, let another one lead; else restore the "
                + "journal, with its base stream.")
    }
}
