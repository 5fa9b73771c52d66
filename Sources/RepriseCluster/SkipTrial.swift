import Foundation
package import RepriseCore
package import RepriseServer

/// Whether an entry may be skipped: only one that no gateway has applied, and none can.
extension NatsJournal {
    /// How many entries behind it are looked at for a gateway that has applied it.
    private static let looked = 65_536

    /// The entry itself, if nobody has applied it.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.noSuchEntry`, `.refused` if a gateway has applied
    ///   it, or it is skipped already.
    package func unapplied(_ sequence: Int64) async throws -> StoredEntry {
        guard !skipped.contains(where: { $0.sequence == sequence }) else {
            throw RepriseError(.refused, "Entry \(sequence) is skipped already.")
        }
        let status = try await status()
        guard (status.first...max(status.first, status.last)).contains(sequence),
            let stored = try await read(after: sequence - 1).entries.first,
            stored.sequence == sequence
        else {
            throw RepriseError(
                .noSuchEntry,
                "The journal has entries \(status.first) to \(status.last), and no "
                    + "\(sequence).")
        }
        var at = sequence
        while at < status.last, at < sequence + Int64(Self.looked) {
            let (entries, _) = try await read(after: at)
            guard let last = entries.last else { break }
            at = last.sequence
            // What a writer had applied stands in each of its entries.
            for next in entries {
                guard let entry = try? ClusterEntry(headOf: next.bytes),
                    entry.base.sequence >= sequence
                else { continue }
                throw RepriseError(
                    .refused,
                    "A gateway has applied entry \(sequence): its entry "
                        + "\(next.sequence) says so.",
                    remedy: "Remove the views of gateways that cannot; skipping it would make "
                        + "them differ.")
            }
        }
        return stored
    }

    /// Applies the journal up to an entry in a folder, and then that.
    ///
    /// - Parameters:
    ///   - sequence: the entry's.
    ///   - folder: for the view.
    ///   - reached: is called before the entry is applied, which may end the process.
    /// - Returns: why it cannot be applied; nil if it can.
    /// - Throws: ``RepriseCore/RepriseError`` as ``ClusterExport``: then it is not known.
    package func trial(
        of sequence: Int64, in folder: String, reached: () -> Void
    ) async throws -> RepriseError? {
        let view = try await ClusterExport.follow(
            self, in: folder, implicitChannels: implicitChannels, through: sequence - 1
        ) { _ in }
        do {
            guard view.position.sequence == sequence - 1,
                let stored = try await read(after: sequence - 1).entries.first
            else {
                throw RepriseError(
                    .refused,
                    "The journal's base stands behind entry \(sequence): a gateway has "
                        + "applied it.")
            }
            reached()
            defer { Task { await view.close() } }
            do {
                _ = try view.apply([stored], isVerified: true)
                return nil
            } catch let fault as AdmissionMachine.Fault {
                return fault.error
            }
        } catch {
            await view.close()
            throw error
        }
    }
}
