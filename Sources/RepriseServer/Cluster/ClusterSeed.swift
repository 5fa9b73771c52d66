import Foundation
package import RepriseCore
package import RepriseWire

/// A single server's data on its way into a cluster: locked until it is closed.
///
/// It becomes the base of a journal that has no entries yet: gateways begin with it as with any
/// other base. The journal's stream is made after the base is whole; before that no gateway sees
/// anything of it, so that a kill leaves nothing half moved.
///
/// ```swift
/// let seed = try await ClusterSeed.open("/var/lib/reprise")
/// let file = try await seed.makeView(now: clock.wall())
/// try await seed.upload(file, to: bases) { print($0) }
/// _ = try await seed.setMoved(true)
/// // Make the stream, with `first_seq` behind the mark.
/// await seed.close()
/// ```
package struct ClusterSeed: Sendable {
    /// Where the base stands; the journal's first entry is the next.
    package static let mark: Int64 = 1

    /// The log's, which the journal takes over.
    package let epoch: Epoch
    private let log: SQLiteMessageLog
    private let accounts: Accounts
    private let data: String

    private var work: URL { URL(fileURLWithPath: data).appending(path: ".seed") }

    /// A view's file, and what it is.
    package struct View: Sendable {
        let file: URL
        var manifest: BaseManifest

        /// Equal for equal data.
        package var fingerprint: String {
            manifest.content.map { String(format: "%02x", $0) }.joined()
        }
    }

    /// What is done with how many bytes.
    package enum Progress: Hashable, Sendable {
        case copying
        case uploading(Int64, of: Int64)
        case checking
    }

    /// Locks the data folder; brings its files to this version's schema.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.notAJournal` without a log, `.journalOwned` while a
    ///   server uses it, and as ``SQLiteMessageLog/open(at:_:)``.
    package static func open(_ data: String) async throws -> ClusterSeed {
        try LogFolder.expectDatabase(in: data, to: "move")
        var configuration = SQLiteMessageLog.Configuration()
        configuration.takesMoved = true
        let log = try SQLiteMessageLog.open(at: data, configuration)
        do {
            let accounts = try Accounts.open(
                at: data, implicitChannels: false, heads: { try log.head(of: $0) })
            do {
                try accounts.belong(to: log.epoch, isRestored: false)
                return ClusterSeed(epoch: log.epoch, log: log, accounts: accounts, data: data)
            } catch {
                await accounts.close()
                throw error
            }
        } catch {
            await log.close()
            throw error
        }
    }

    /// Makes a view of the data, in a folder inside.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.diskFull`, `.diskFailed`, `.corrupt`.
    package func makeView(now: WallTime) async throws -> View {
        try? FileManager.default.removeItem(at: work)
        do {
            try FileManager.default.createDirectory(
                at: work, withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
        } catch {
            throw RepriseError(
                .notWritable, "The folder \(work.path) cannot be made.",
                remedy: "Let this user write to the data folder.", cause: error)
        }
        let file = work.appending(path: "view.sqlite")
        var manifest = try ViewCopy.makeView(
            at: file, of: data, epoch: epoch, sequence: Self.mark, now: now)
        manifest.content = try await ViewContent.hash(of: file)
        return View(file: file, manifest: manifest)
    }

    /// Copies a view into a store of bases, reads it back, and lets it count.
    ///
    /// - Returns: its manifest.
    /// - Throws: ``RepriseCore/RepriseError`` `.corrupt` if what is read is not what was written,
    ///   `.tooLarge`, and what the store throws.
    package func upload(
        _ view: View, to store: any BaseStore, _ progress: @Sendable (Progress) -> Void
    ) async throws -> BaseManifest {
        let total = Int64((try? FileHandle(forReadingFrom: view.file).seekToEnd()) ?? 0)
        let manifest = try await store.upload(view.file, view.manifest) {
            progress(.uploading($0, of: total))
        }
        progress(.checking)
        let copy = work.appending(path: "copy.sqlite")
        try await store.download(manifest, to: copy)
        guard try await ViewContent.hash(of: copy) == manifest.content else {
            throw RepriseError(
                .corrupt, "What was copied into NATS is not what was read from it.",
                remedy: "Look at the disks of NATS, and begin again.")
        }
        try await store.put(manifest.encoded, as: .manifest(mark: Self.mark))
        return manifest
    }

    /// Has a single server refuse the data folder, or take it again; durable.
    ///
    /// - Returns: whether it was refused before.
    package func setMoved(_ isMoved: Bool) async throws -> Bool {
        try await log.setMoved(isMoved)
    }

    /// What the data holds.
    package func report() throws -> Backup.Report { try log.report() }

    /// Gives the data folder free.
    package func close() async {
        try? FileManager.default.removeItem(at: work)
        await accounts.close()
        await log.close()
    }
}
