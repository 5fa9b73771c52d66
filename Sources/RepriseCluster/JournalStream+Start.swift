import Foundation
import Logging
import RepriseCore
import RepriseServer

/// What a gateway that starts tells of its journal, and of those beside it.
extension JournalStream {
    var infoSubject: String { "$JS.API.STREAM.INFO.\(name)" }

    /// What JetStream says to a question for all journals.
    private enum Listing {
        /// The names of their streams.
        case names([String])
        case noLeader
        /// No answer, or the right to ask is missing.
        case unknown
    }

    private struct NamesAnswer: Decodable {
        var streams: [String]?
        var error: Failure?
    }

    private static let listTimeout: Duration = .seconds(1)
    /// How many other clusters are named.
    private static let named = 8

    private static func list(_ connection: NatsConnection) async -> Listing {
        let answer = try? await connection.ask(
            "$JS.API.STREAM.NAMES", ["subject": "rp.*.j"], within: listTimeout)
        guard let answer,
            let found = try? JSONDecoder().decode(NamesAnswer.self, from: Data(answer.bytes))
        else { return .unknown }
        guard let error = found.error else { return .names(found.streams ?? []) }
        return error.number == Failure.noLeader ? .noLeader : .unknown
    }

    /// The other clusters in this NATS: `chat, team`; nil if there is none, or nobody says.
    func others(_ connection: NatsConnection) async -> String? {
        guard case .names(let names) = await Self.list(connection) else { return nil }
        let others = names.filter {
            $0 != name && $0.hasPrefix(Self.prefix) && $0.hasSuffix(Self.suffix)
        }.map { String($0.dropFirst(Self.prefix.count).dropLast(Self.suffix.count)) }.sorted()
        guard !others.isEmpty else { return nil }
        let more = others.count - Self.named
        return others.prefix(Self.named).map { $0.limited(to: 32) }.joined(separator: ", ")
            + (more > 0 ? " and \(more) more" : "")
    }

    /// Says that there was no journal: a name that is misspelt makes one.
    func tellMade(_ made: Settings, _ connection: NatsConnection, _ logger: Logger) async {
        let others = await others(connection)
        let count = made.replicas ?? 1
        logger.log(
            level: others == nil ? .notice : .warning,
            """
            There was no journal of the cluster \(cluster.text) in NATS: made one with \(count) \
            \(count == 1 ? "replica" : "replicas"). If the name is misspelt, stop this gateway, \
            and remove the stream and its view.
            """, metadata: ["stream": "\(name)", "other_clusters": "\(others ?? "none known")"])
    }

    /// JetStream has refused to make the journal.
    func notMade(_ wanted: Settings, _ failure: Failure?) -> RepriseError {
        let (bytes, count) = (wanted.maxBytes ?? 0, wanted.replicas ?? 1)
        return RepriseError(
            .unavailable,
            "JetStream does not make the stream \(name) of \(bytes) bytes on "
                + "\(count == 1 ? "1 server" : "\(count) servers"): \(failure?.text ?? "?").",
            remedy: "Each needs this much space below its max_file, or give fewer --journal-bytes; "
                + "this user needs the right to make it.")
    }

    /// The error of a start where nobody answered for the stream, as far as JetStream says why.
    func explained(_ error: any Error, _ connection: NatsConnection) async -> any Error {
        guard error as? RepriseError == NatsFailure.noAnswer(infoSubject) else { return error }
        switch await Self.list(connection) {
        case .names(let names) where names.contains(name):
            return RepriseError(
                .unavailable,
                "The stream \(name) is there, and the node that leads it does not answer, or none "
                    + "leads it.",
                remedy: "A majority of its servers must be there, none of them frozen, and this "
                    + "user must have the right to ask \(infoSubject).")
        case .noLeader: return NatsFailure.noLeader
        case .names, .unknown: return error
        }
    }
}

extension JournalStream.Agreement {
    /// Why a gateway with these settings must not be in the cluster; nil if it may.
    func difference(
        from settings: NatsJournal.Settings, in stream: JournalStream
    ) -> RepriseError? {
        // Before it was noted, channels told keys from the others.
        let theirs = access ?? (implicitChannels ? nil : AccessMode.keys.rawValue)
        if let ours = settings.access, let theirs, theirs != ours.rawValue {
            let flags = AccessMode(rawValue: theirs)?.flags ?? "with \(theirs)"
            return RepriseError(
                .badConfiguration,
                "This gateway runs \(ours.flags), and those of the cluster "
                    + "\(stream.cluster.text) \(flags).",
                remedy: "All need --keys or --jwks, or all --dev, or none of them: one that "
                    + "differs lets in whoever the others refuse.")
        }
        guard implicitChannels != settings.implicitChannels else { return nil }
        let (here, there) =
            settings.implicitChannels ? ("public", "refused") : ("refused", "public")
        return RepriseError(
            .badConfiguration,
            "A channel that nobody made is \(here) with these flags, and \(there) in the cluster.",
            remedy: "All gateways need --keys or --jwks, or all --dev, or none of them.")
    }

    /// Says that nothing tells `--dev` from no keys, where an earlier version made the journal.
    func warn(_ logger: Logger, _ settings: NatsJournal.Settings, in stream: JournalStream) {
        guard access == nil, implicitChannels, settings.access != nil else { return }
        logger.warning(
            """
            The journal does not say whether its gateways run with --dev or without keys: all must \
            have the same. docs/cluster-operations.md says how to note it.
            """, metadata: ["stream": "\(stream.name)", "key": "\(JournalStream.accessKey)"])
    }
}
