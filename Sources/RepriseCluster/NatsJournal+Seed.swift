import Foundation
package import Logging
import RepriseCore
package import RepriseServer
package import RepriseWire

/// Moving a single server's data in.
extension NatsJournal {
    /// What was moved in.
    package struct Moved: Sendable {
        package let stream: String
        package let epoch: Epoch
        package let report: Backup.Report
        /// Whether an earlier call had moved the same data.
        package let wasThere: Bool
    }

    /// Makes the journal of a cluster that begins with a data folder's content.
    ///
    /// The stream is made last, and at once: until then there is no journal. A call that was killed
    /// is made again.
    ///
    /// - Parameters:
    ///   - configuration: where NATS is.
    ///   - cluster: which of its journals: there must be none.
    ///   - settings: of the journal.
    ///   - data: the data folder; no server may use it.
    ///   - logger: receives what becomes of the connection.
    ///   - progress: is told how far it has come.
    /// - Returns: what is in the journal now.
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration` if there is a journal, or there
    ///   are bases of one; as ``ClusterSeed`` and ``open(_:cluster:_:logger:)``.
    package static func seed(
        _ configuration: NatsConfiguration, cluster: ClusterName, _ settings: Settings,
        from data: String, logger: Logger,
        _ progress: @escaping @Sendable (ClusterSeed.Progress) -> Void
    ) async throws -> Moved {
        let seed = try await ClusterSeed.open(data)
        do {
            let connection = try await NatsConnection.open(
                configuration, name: "reprise seed \(cluster.text)", logger: logger)
            do {
                let stream = JournalStream(cluster: cluster)
                let wasThere = try await move(seed, to: stream, settings, connection, progress)
                let moved = Moved(
                    stream: stream.name, epoch: seed.epoch, report: try seed.report(),
                    wasThere: wasThere)
                await connection.close()
                await seed.close()
                return moved
            } catch {
                await connection.close()
                throw error
            }
        } catch {
            await seed.close()
            throw error
        }
    }

    /// - Returns: whether it was there.
    private static func move(
        _ seed: ClusterSeed, to stream: JournalStream, _ settings: Settings,
        _ connection: NatsConnection, _ progress: @escaping @Sendable (ClusterSeed.Progress) -> Void
    ) async throws -> Bool {
        let found = try await info(stream, connection)?.config.map { try stream.check($0) }
        if let found, found.epoch != seed.epoch || found.seed == nil { throw isThere(stream) }
        progress(.copying)
        let view = try await seed.makeView(now: SystemTimekeeper().wall())
        if let found {
            guard found.seed == view.fingerprint else { throw hasOther(stream) }
            _ = try await seed.setMoved(true)
            return true
        }
        let bases = NatsBases(
            connection: connection, stream: stream, replicas: replicas(of: connection))
        let marks = try await bases.marks(complete: false)
        guard marks.allSatisfy({ $0 == ClusterSeed.mark }) else {
            throw RepriseError(
                .badConfiguration, "The stream \(stream.baseName) has bases of a former journal.",
                remedy: "Choose another --cluster, or remove that stream.")
        }
        // Of a call that was killed.
        if !marks.isEmpty { try await bases.removePieces(at: ClusterSeed.mark) }
        let manifest = try await seed.upload(view, to: bases, progress)
        let wanted = stream.settings(
            replicas: replicas(of: connection), maxBytes: settings.maxBytes,
            .init(
                epoch: seed.epoch, implicitChannels: settings.implicitChannels,
                access: settings.access?.rawValue, seed: view.fingerprint))
        // First: when the journal is there, no kill may leave a folder that a server would take.
        let wasMoved = try await seed.setMoved(true)
        let answer = try decode(
            try await connection.ask("$JS.API.STREAM.CREATE.\(stream.name)", wanted))
        if let error = answer.error {
            if !wasMoved { _ = try await seed.setMoved(false) }
            if error.number == JournalStream.Failure.exists { throw isThere(stream) }
            throw stream.notMade(wanted, error)
        }
        guard try await bases.newest() == manifest else {
            throw RepriseError(
                .corrupt, "Somebody else has moved data into \(stream.name) at the same time.",
                remedy: "Remove the streams \(stream.name) and \(stream.baseName), and begin "
                    + "again.")
        }
        return false
    }

    private static func isThere(_ stream: JournalStream) -> RepriseError {
        RepriseError(
            .badConfiguration,
            "There is a journal already, \(stream.name), and it is not of this data.",
            remedy:
                "Data is moved into a new cluster only: choose another --cluster, or remove the "
                + "streams \(stream.name) and \(stream.baseName), with what they hold.")
    }

    private static func hasOther(_ stream: JournalStream) -> RepriseError {
        RepriseError(
            .badConfiguration,
            "\(stream.name) began with this data as it was before: it has changed since.",
            remedy: "What came since is in the data folder alone. Remove the streams "
                + "\(stream.name) and \(stream.baseName), with what they hold, to begin again.")
    }
}
