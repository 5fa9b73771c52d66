import Foundation
import RepriseCore
import RepriseWire

/// A cluster's data on its way into the data folder of a single server.
///
/// It reads the journal as a gateway does, from the newest base on, and writes nothing to it.
package enum ClusterExport {
    /// How far the journal is read.
    package struct Progress: Hashable, Sendable {
        package var applied: Int64
        package var last: Int64
    }

    /// How often an answer without entries is asked for again.
    private static let attempts = 20

    /// Reads a journal up to an entry, and makes a data folder of it.
    ///
    /// - Parameters:
    ///   - journal: the cluster's.
    ///   - data: the folder: empty or missing. Meanwhile a view is made beside it, in
    ///     `<data>.view`: a former one is removed.
    ///   - implicitChannels: as the cluster has it.
    ///   - seal: ends the journal, and returns its last entry: called when all before can be
    ///     applied. Then the epoch stays, since nothing else goes on with it.
    ///   - progress: is told how far it has come.
    /// - Returns: what the folder holds.
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration` if the folder is not empty,
    ///   `.unavailable`, `.corrupt`, `.diskFull`; what an entry that cannot be applied has.
    package static func run(
        _ journal: any ClusterJournal, to data: String, implicitChannels: Bool,
        seal: (() async throws -> Int64)? = nil, _ progress: @Sendable (Progress) -> Void
    ) async throws -> Backup.Report {
        try Placement.expectEmpty(data)
        let folder = data + ".view"
        try? FileManager.default.removeItem(atPath: folder)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var last = try await journal.status().last
        for isSealed in seal == nil ? [true] : [false, true] {
            if isSealed, let seal { last = try await seal() }
            let view = try await follow(
                journal, in: folder, implicitChannels: implicitChannels, through: last, progress)
            // Its files are one then.
            await view.close()
        }
        let epoch = seal == nil ? Epoch.random() : journal.epoch
        return try Placement.fill(data) { place in
            try ViewCopy.makeData(in: place, of: folder, epoch: epoch)
        }
    }

    /// Makes a view of a journal up to an entry, or brings one up to it.
    package static func follow(
        _ journal: any ClusterJournal, in folder: String, implicitChannels: Bool,
        through last: Int64, _ progress: @Sendable (Progress) -> Void
    ) async throws -> ClusterView {
        var configuration = ClusterView.Configuration()
        configuration.implicitChannels = implicitChannels
        var view = try ClusterView.open(at: folder, epoch: journal.epoch, configuration)
        do {
            var failures = 0
            while view.position.sequence < last {
                let first = try await journal.status().first
                if first > view.position.sequence + 1 {
                    await view.close()
                    guard let bases = journal.bases else { throw BaseKeeper.isMissing(first) }
                    _ = try await bases.install(in: folder, of: journal, reaching: first)
                    view = try ClusterView.open(at: folder, epoch: journal.epoch, configuration)
                }
                let before = view.position.sequence
                try await apply(journal, to: view, through: last)
                progress(Progress(applied: view.position.sequence, last: last))
                failures = view.position.sequence > before ? 0 : failures + 1
                guard failures < attempts else {
                    throw RepriseError(
                        .unavailable, "The journal's entry \(before + 1) cannot be read.",
                        remedy: "A majority of NATS' servers must be there; look with "
                            + "`reprise cluster check`.")
                }
                if failures > 0 { try await Task.sleep(for: .milliseconds(250)) }
            }
            return view
        } catch {
            await view.close()
            throw error
        }
    }

    /// Applies what one reading returns.
    private static func apply(
        _ journal: any ClusterJournal, to view: ClusterView, through last: Int64
    ) async throws {
        guard let found = try? await journal.read(after: view.position.sequence),
            found.entries.first?.sequence == view.position.sequence + 1
        else { return }
        var rest = found.entries.prefix { $0.sequence <= last }
        while !rest.isEmpty {
            do {
                // What is applied here was just read from the journal: it is its past.
                let applied = try view.apply(
                    Array(rest), isVerified: true, skipping: journal.skipped)
                rest = rest.dropFirst(applied.count)
            } catch let fault as AdmissionMachine.Fault {
                throw fault.error
            }
        }
    }
}
