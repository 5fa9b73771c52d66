import Foundation
package import Logging
import RepriseCore
package import RepriseServer
package import RepriseWire
import Synchronization

/// A cluster's journal in JetStream.
///
/// ```swift
/// let journal = try await NatsJournal.open(
///     try NatsConfiguration("nats://n1:4222,n2,n3"), cluster: try ClusterName("chat"),
///     NatsJournal.Settings(), logger: logger)
/// ```
package final class NatsJournal: ClusterJournal {
    /// Of a journal that is made; one that exists has its own.
    package struct Settings: Hashable, Sendable {
        /// The most bytes of the journal on each server.
        package var maxBytes: Int64 = 8 << 30
        /// Whether a channel that nobody made is public: equal on all gateways.
        package var implicitChannels = false
        /// See ``RepriseServer/ClusterRules``; a test has a former version's.
        package var rules = ClusterRules.newest

        package init() {}
    }

    private struct State {
        /// What was sent and not answered, to be sent again if nobody was there to take it.
        var sent: [UInt64: [UInt8]] = [:]
        var next: UInt64 = 0
        var heard: (@Sendable (StoredEntry?) -> Void)?
        var hearers: [NewsSubject: AsyncStream<[UInt8]>.Continuation] = [:]
        var hasRefused = false
        var skipped: Set<SkippedEntry> = []
        var rules = ClusterRules.first
    }

    package let epoch: Epoch
    package let formerEpochs: Set<Epoch>
    package var skipped: Set<SkippedEntry> { state.withLock { $0.skipped } }
    package var rules: Int64 { state.withLock { $0.rules } }
    /// Whether a channel that nobody made is public.
    package let implicitChannels: Bool
    /// How many servers keep each entry.
    package let replicas: Int
    /// Of the nats-server that answered for the stream.
    let version: String
    let connection: NatsConnection
    let stream: JournalStream
    private let answers: String
    private let state = Mutex(State())
    private let logger: Logger

    /// The most news that wait.
    private static let waitingNews = 1_024
    /// How many entries one reading returns, and about how many bytes.
    private static let pageEntries = 1_024
    private static let pageBytes = 16 << 20
    /// How long a server may take for each entry of a reading.
    private static let readTimeout: Duration = .seconds(2)
    /// How long a journal may be without a leader when a gateway starts.
    private static let openTimeout: Duration = .seconds(20)
    private static let error = Array(#""error""#.utf8)
    /// After this pause, what found nobody is sent again.
    private static let resendPause: DispatchTimeInterval = .milliseconds(100)

    /// Connects, and makes the journal if there is none: on three servers if there are as many.
    ///
    /// - Parameters:
    ///   - configuration: where NATS is.
    ///   - cluster: which of its journals.
    ///   - settings: of a new journal.
    ///   - logger: receives what becomes of the connection.
    /// - Returns: the journal, until ``close()``.
    /// - Throws: ``RepriseCore/RepriseError`` `.unreachable`, `.refused`, `.unavailable`;
    ///   `.badConfiguration` if the stream has other settings.
    package static func open(
        _ configuration: NatsConfiguration, cluster: ClusterName, _ settings: Settings,
        logger: Logger
    ) async throws -> NatsJournal {
        let connection = try await dial(configuration, cluster, logger)
        do {
            guard connection.maxPayload >= Int64(ClusterLimits.entryBytes) else {
                throw RepriseError(
                    .badConfiguration,
                    "NATS takes messages of \(connection.maxPayload) bytes; an entry of the journal "
                        + "may have \(ClusterLimits.entryBytes).",
                    remedy: "Set max_payload: 1MB in nats-server's configuration.")
            }
            let stream = JournalStream(cluster: cluster)
            let clock = SystemTimekeeper()
            let end = clock.uptime() + openTimeout
            while true {
                do {
                    let found = try await find(stream, settings, connection)
                    let agreement = try stream.check(found)
                    guard agreement.implicitChannels == settings.implicitChannels else {
                        throw differs(settings)
                    }
                    let replicas = found.replicas ?? 1
                    if replicas < 3 {
                        logger.warning(
                            "the journal has fewer than three replicas: a lost disk can lose it",
                            metadata: ["servers": "\(replicas)"])
                    }
                    return try NatsJournal(
                        connection, stream, agreement, replicas: replicas,
                        version: stream.version(found), logger)
                } catch let error as RepriseError
                    where error.code == .unavailable && clock.uptime() < end
                {
                    // No leader yet.
                    try await clock.sleep(for: .milliseconds(250))
                }
            }
        } catch {
            await connection.close()
            throw error
        }
    }

    /// Dials for a while where no server is there: all may have been started at once.
    private static func dial(
        _ configuration: NatsConfiguration, _ cluster: ClusterName, _ logger: Logger
    ) async throws -> NatsConnection {
        let clock = SystemTimekeeper()
        let end = clock.uptime() + openTimeout
        var isTold = false
        while true {
            do {
                return try await NatsConnection.open(
                    configuration, name: "reprise \(cluster.text)", logger: logger)
            } catch let error as RepriseError
                where error.code == .unreachable && clock.uptime() < end
            {
                if !isTold {
                    logger.notice(
                        "NATS is not reachable yet: connecting again for a while",
                        metadata: ["servers": "\(configuration.description)"])
                }
                isTold = true
                try await clock.sleep(for: .milliseconds(500))
            }
        }
    }

    private init(
        _ connection: NatsConnection, _ stream: JournalStream,
        _ agreement: JournalStream.Agreement, replicas: Int, version: String, _ logger: Logger
    ) throws {
        self.connection = connection
        self.stream = stream
        epoch = agreement.epoch
        formerEpochs = agreement.formerEpochs
        implicitChannels = agreement.implicitChannels
        self.replicas = replicas
        self.version = version
        self.logger = logger
        answers = connection.inbox()
        state.withLock { ($0.skipped, $0.rules) = (agreement.skipped, agreement.rules) }
        try connection.subscribe(to: answers + ".*") { [weak self] in self?.answered($0, at: $1) }
    }

    private static func differs(_ settings: Settings) -> RepriseError {
        let (ours, theirs) =
            settings.implicitChannels
            ? ("public", "refused") : ("refused", "public")
        return RepriseError(
            .badConfiguration,
            "A channel that nobody made is \(ours) with these flags, and \(theirs) in the cluster.",
            remedy: "All gateways need --keys or --jwks, or all --dev, or none of them.")
    }

    /// Connects to a journal that exists; a sealed one too, to read it.
    ///
    /// - Throws: as ``open(_:cluster:_:logger:)``; `.badConfiguration` if there is none.
    package static func find(
        _ configuration: NatsConfiguration, cluster: ClusterName, logger: Logger
    ) async throws -> NatsJournal {
        let connection = try await NatsConnection.open(
            configuration, name: "reprise \(cluster.text)", logger: logger)
        do {
            let stream = JournalStream(cluster: cluster)
            guard let found = try await info(stream, connection)?.config else {
                throw RepriseError(
                    .badConfiguration, "There is no stream \(stream.name).",
                    remedy: "Name the cluster by --cluster; its first gateway makes the stream.")
            }
            return try NatsJournal(
                connection, stream, try stream.check(found, allowsSealed: true),
                replicas: found.replicas ?? 1, version: stream.version(found), logger)
        } catch {
            await connection.close()
            throw error
        }
    }

    var streamName: String { stream.name }

    /// Whether a server is there now.
    package var isConnected: Bool { connection.isConnected }

    /// The servers that it knows.
    package var serverCount: Int { connection.serverCount }

    package func close() async {
        state.withLock { $0.heard.take() }?(nil)
        let hearers = state.withLock { state in
            defer { state.hearers = [:] }
            return state.hearers.values
        }
        for hearer in hearers { hearer.finish() }
        await connection.close()
    }

    // MARK: The stream

    private static func find(
        _ stream: JournalStream, _ settings: Settings, _ connection: NatsConnection
    ) async throws -> JournalStream.Settings {
        if let found = try await info(stream, connection)?.config { return found }
        let wanted = stream.settings(
            replicas: replicas(of: connection), maxBytes: settings.maxBytes,
            .init(
                epoch: .random(), implicitChannels: settings.implicitChannels,
                rules: settings.rules))
        let answer = try decode(
            try await connection.ask("$JS.API.STREAM.CREATE.\(stream.name)", wanted))
        if let made = answer.config, answer.error == nil { return made }
        // Another gateway was faster, and not every server knows of its stream yet; or servers that
        // have just started do not know of each other. Whoever opens a journal tries again.
        if let found = try await info(stream, connection)?.config { return found }
        throw RepriseError(
            .unavailable,
            "JetStream does not make the stream \(stream.name): \(answer.error?.text ?? "?").",
            remedy: "It needs JetStream on as many servers, with this much space, and the right "
                + "to make it.")
    }

    /// On how many servers a new stream is.
    static func replicas(of connection: NatsConnection) -> Int {
        connection.serverCount >= 3 ? 3 : 1
    }

    /// - Returns: nil if there is no such stream.
    static func info(
        _ stream: JournalStream, _ connection: NatsConnection
    ) async throws -> JournalStream.Answer? {
        let answer = try decode(
            try await connection.ask("$JS.API.STREAM.INFO.\(stream.name)", [String: String]()))
        guard let error = answer.error else { return answer }
        if error.number == JournalStream.Failure.noSuchStream { return nil }
        throw RepriseError(
            .unavailable, "JetStream does not answer for \(stream.name): \(error.text).",
            remedy: "A majority of its servers must be there, with JetStream.")
    }

    static func decode(_ message: NatsMessage) throws -> JournalStream.Answer {
        do {
            return try JSONDecoder().decode(
                JournalStream.Answer.self, from: Data(message.bytes))
        } catch {
            throw RepriseError(.unavailable, "JetStream's answer cannot be read.", cause: error)
        }
    }

    // MARK: ClusterJournal

    package func send(_ bytes: [UInt8]) async {
        let number = state.withLock { state in
            state.next += 1
            state.sent[state.next] = bytes
            state.sent[state.next &- UInt64(2 * ClusterLimits.entriesInFlight)] = nil
            return state.next
        }
        publish(bytes, number)
    }

    private func publish(_ bytes: [UInt8], _ number: UInt64) {
        connection.publish(bytes, to: stream.subject, answer: "\(answers).\(number)")
    }

    /// What the journal says to an entry: whether it was stored shows in the journal alone.
    private func answered(_ message: NatsMessage, at subject: String) {
        guard let number = subject.split(separator: ".").last.flatMap({ UInt64($0) }) else {
            return
        }
        if message.status == 503 {
            // No leader: the next may be there soon.
            DispatchQueue.global().asyncAfter(deadline: .now() + Self.resendPause) { [weak self] in
                guard let self, let bytes = state.withLock({ $0.sent[number] }) else { return }
                publish(bytes, number)
            }
            return
        }
        // Most answers tell of no error: they are not decoded.
        let refusal =
            message.bytes.firstRange(of: Self.error) == nil
            ? nil : (try? Self.decode(message))?.error
        let isFirst = state.withLock { state in
            state.sent[number] = nil
            defer { state.hasRefused = refusal != nil }
            return refusal != nil && !state.hasRefused
        }
        if let refusal, isFirst {
            logger.error(
                "the journal does not store this gateway's entries",
                metadata: ["error": "\(refusal.text)"])
        }
    }

    package func follow(_ heard: @escaping @Sendable (StoredEntry?) -> Void) {
        state.withLock { $0.heard = heard }
        do {
            try connection.subscribe(to: stream.live) { message, _ in
                if let entry = message.entry { heard(entry) }
            }
        } catch {
            logger.error(
                "the live entries of the journal cannot be received",
                metadata: ["error": "\(error)"])
            heard(nil)
        }
    }

    package func read(
        after sequence: Int64
    ) async throws -> (entries: [StoredEntry], last: Int64) {
        let answers = try await connection.ask(
            "$JS.API.DIRECT.GET.\(stream.name)",
            [
                "seq": sequence + 1, "batch": Int64(Self.pageEntries),
                "max_bytes": Int64(Self.pageBytes),
            ],
            within: Self.readTimeout, isLast: { $0.status != nil })
        let found = answers.compactMap(\.entry)
        // A damaged copy of the stream has holes.
        let entries = zip(found, (found.first?.sequence ?? 0)...).prefix { $0.sequence == $1 }
            .map { $0.0 }
        if let last = found.last, found.first?.sequence == sequence + 1 {
            return (entries, last.sequence + (answers.last?.pending ?? 0))
        }
        // Who answered may lack what the others have: the leader says how long the journal is.
        let last = try await Self.info(stream, connection)?.state?.lastSequence
        guard let last, last > sequence else { return ([], last ?? 0) }
        let answer = try await connection.ask(
            "$JS.API.STREAM.MSG.GET.\(stream.name)", ["seq": sequence + 1])
        guard let entry = try Self.stored(answer) else { return (entries, last) }
        return ([entry], last)
    }

    package func status() async throws -> JournalStatus {
        guard let answer = try await Self.info(stream, connection), let state = answer.state else {
            throw RepriseError(
                .unavailable, "The stream \(stream.name) is not there.",
                remedy: "Somebody removed it: restore it, or choose another --cluster.")
        }
        if let agreement = stream.agreement(answer.config) {
            guard agreement.epoch == epoch else {
                // Who follows it ends.
                self.state.withLock { $0.heard.take() }?(nil)
                throw RepriseError(
                    .corrupt, "The journal was restored: it has another epoch.",
                    remedy: "Start this gateway again, with its view removed.")
            }
            self.state.withLock { ($0.skipped, $0.rules) = (agreement.skipped, agreement.rules) }
        }
        let bound = answer.config?.maxBytes ?? -1
        var status = JournalStatus(
            bytes: state.bytes, maxBytes: bound > 0 ? bound : nil, first: state.firstSequence,
            last: state.lastSequence)
        status.isSealed = answer.config?.sealed ?? false
        status.time = answer.ts.flatMap { NatsMessage.time($0) }
        guard let peers = answer.cluster else { return status }
        if let name = peers.leader, !name.isEmpty {
            var leader = JournalStatus.Server(name: name.limited(to: 64))
            leader.isLeader = true
            status.servers.append(leader)
        }
        for peer in (peers.replicas ?? []).prefix(16) {
            var server = JournalStatus.Server(name: peer.name.limited(to: 64))
            server.isCurrent = peer.current ?? false
            server.isOffline = peer.offline ?? false
            server.lag = peer.lag ?? 0
            server.unheard = .nanoseconds(peer.active ?? 0)
            status.servers.append(server)
        }
        status.servers.sort { $0.name < $1.name }
        return status
    }

    package var connectionNumber: UInt64? { connection.number }

    package func say(_ bytes: [UInt8], on subject: NewsSubject) {
        connection.publish(bytes, to: stream.news(subject))
    }

    package func said(on subject: NewsSubject) -> AsyncStream<[UInt8]> {
        let (news, hearer) = AsyncStream.makeStream(
            of: [UInt8].self, bufferingPolicy: .bufferingNewest(Self.waitingNews))
        state.withLock { $0.hearers[subject] = hearer }
        do {
            try connection.subscribe(to: stream.news(subject)) { message, _ in
                hearer.yield(message.bytes)
            }
        } catch {
            logger.warning(
                "the messages of other gateways cannot be received", metadata: ["error": "\(error)"]
            )
            hearer.finish()
        }
        return news
    }

    package var bases: (any BaseStore)? {
        NatsBases(connection: connection, stream: stream, replicas: replicas)
    }

    /// An entry as the leader gives it.
    private static func stored(_ answer: NatsMessage) throws -> StoredEntry? {
        struct Found: Decodable {
            struct Message: Decodable {
                var seq: Int64
                var time: String
                var data: Data?
            }
            var message: Message?
        }
        guard
            let found = try? JSONDecoder().decode(Found.self, from: Data(answer.bytes)).message,
            let stamp = NatsMessage.time(found.time)
        else { return nil }
        return StoredEntry(
            sequence: found.seq, stamp: stamp, bytes: Array(found.data ?? Data()))
    }
}

extension JournalStream.Failure {
    var text: String { "\(description ?? "code \(code)")".limited(to: 200) }
}
