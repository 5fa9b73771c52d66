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
        /// How users are authenticated: equal on all gateways; nil: it is not compared.
        package var access: AccessMode?
        /// See ``RepriseServer/ClusterRules``; a test has a former version's.
        package var rules = ClusterRules.newest

        package init() {}

        package init(_ access: AccessMode) {
            self.access = access
            implicitChannels = access.implicitChannels
        }
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
    package var cluster: ClusterName? { stream.cluster }
    package let formerEpochs: Set<Epoch>
    package var skipped: Set<SkippedEntry> { state.withLock { $0.skipped } }
    package var rules: Int64 { state.withLock { $0.rules } }
    /// Whether a channel that nobody made is public.
    package let implicitChannels: Bool
    /// How many servers keep each entry.
    package let replicas: Int
    /// Of the nats-server that answered for the stream.
    let version: String
    private let connection: NatsConnection
    private let stream: JournalStream
    /// Of a gateway; nil for a tool.
    private let settings: Settings?
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
        let stream = JournalStream(cluster: cluster)
        let waiting = StartNotice(
            "no server of NATS is reached at \(configuration.description)", logger)
        defer { waiting.end() }
        let connection = try await dial(configuration, cluster, logger)
        waiting.note("JetStream has not answered for \(stream.name)")
        do {
            guard connection.maxPayload >= Int64(ClusterLimits.entryBytes) else {
                throw RepriseError(
                    .badConfiguration,
                    "NATS takes messages of \(connection.maxPayload) bytes; an entry of the journal "
                        + "may have \(ClusterLimits.entryBytes).",
                    remedy: "Set max_payload: 1MB in nats-server's configuration.")
            }
            let clock = SystemTimekeeper()
            let end = clock.uptime() + openTimeout
            while true {
                do {
                    return try await agree(on: stream, settings, connection, logger)
                } catch let error as RepriseError
                    where error.code == .unavailable && clock.uptime() < end
                {
                    // No leader yet.
                    waiting.note(error.message)
                    try await clock.sleep(for: .milliseconds(250))
                }
            }
        } catch {
            let explained = await stream.explained(error, connection)
            await connection.close()
            throw explained
        }
    }

    /// Finds the stream, or makes it, and takes it if it has these settings.
    private static func agree(
        on stream: JournalStream, _ settings: Settings, _ connection: NatsConnection,
        _ logger: Logger
    ) async throws -> NatsJournal {
        let found = try await find(stream, settings, connection, logger)
        let agreement = try stream.check(found)
        if let error = agreement.difference(from: settings, in: stream) { throw error }
        agreement.warn(logger, settings, in: stream)
        let replicas = found.replicas ?? 1
        if replicas < 3 {
            logger.warning(
                "the journal has fewer than three replicas: a lost disk can lose it",
                metadata: ["servers": "\(replicas)"])
        }
        return try NatsJournal(
            connection, stream, agreement, replicas: replicas, version: stream.version(found),
            settings: settings, logger)
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
        _ agreement: JournalStream.Agreement, replicas: Int, version: String,
        settings: Settings? = nil, _ logger: Logger
    ) throws {
        self.connection = connection
        self.stream = stream
        epoch = agreement.epoch
        formerEpochs = agreement.formerEpochs
        implicitChannels = agreement.implicitChannels
        self.replicas = replicas
        self.version = version
        self.settings = settings
        self.logger = logger
        answers = connection.inbox()
        state.withLock { ($0.skipped, $0.rules) = (agreement.skipped, agreement.rules) }
        try connection.subscribe(to: answers + ".*") { [weak self] in self?.answered($0, at: $1) }
    }

    /// Connects to a journal that exists; a sealed one too, to read it.
    ///
    /// - Throws: as ``open(_:cluster:_:logger:)``; `.badConfiguration` if there is none.
    package static func find(
        _ configuration: NatsConfiguration, cluster: ClusterName, logger: Logger
    ) async throws -> NatsJournal {
        let connection = try await NatsConnection.open(
            configuration, name: "reprise \(cluster.text)", logger: logger)
        let stream = JournalStream(cluster: cluster)
        do {
            guard let found = try await info(stream, connection)?.config else {
                let others = await stream.others(connection).map { " Others here: \($0)." }
                throw RepriseError(
                    .badConfiguration, "There is no stream \(stream.name).",
                    remedy: "Name the cluster by --cluster; its first gateway makes the stream."
                        + (others ?? ""))
            }
            return try NatsJournal(
                connection, stream, try stream.check(found, allowsSealed: true),
                replicas: found.replicas ?? 1, version: stream.version(found), logger)
        } catch {
            let explained = await stream.explained(error, connection)
            await connection.close()
            throw explained
        }
    }

    var streamName: String { stream.name }

    /// Whether a server is there now.
    package var isConnected: Bool { connection.isConnected }

    /// The servers that it knows.
    package var serverCount: Int { connection.serverCount }

    package func close() async {
        leave()
        let hearers = state.withLock { state in
            defer { state.hearers = [:] }
            return state.hearers.values
        }
        for hearer in hearers { hearer.finish() }
        await connection.close()
    }

    /// Who follows it ends.
    private func leave() { state.withLock { $0.heard.take() }?(nil) }

    // MARK: The stream

    private static func find(
        _ stream: JournalStream, _ settings: Settings, _ connection: NatsConnection,
        _ logger: Logger
    ) async throws -> JournalStream.Settings {
        if let found = try await info(stream, connection)?.config { return found }
        let wanted = stream.settings(
            replicas: replicas(of: connection), maxBytes: settings.maxBytes,
            .init(
                epoch: .random(), implicitChannels: settings.implicitChannels,
                access: settings.access?.rawValue, rules: settings.rules))
        let answer = try decode(
            try await connection.ask("$JS.API.STREAM.CREATE.\(stream.name)", wanted))
        if let made = answer.config, answer.error == nil {
            await stream.tellMade(made, connection, logger)
            return made
        }
        // Another gateway was faster, and not every server knows of its stream yet; or servers that
        // have just started do not know of each other. Whoever opens a journal tries again.
        if let found = try await info(stream, connection)?.config { return found }
        throw stream.notMade(wanted, answer.error)
    }

    /// On how many servers a new stream is.
    private static func replicas(of connection: NatsConnection) -> Int {
        connection.serverCount >= 3 ? 3 : 1
    }

    /// - Returns: nil if there is no such stream.
    private static func info(
        _ stream: JournalStream, _ connection: NatsConnection
    ) async throws -> JournalStream.Answer? {
        let answer = try decode(
            try await connection.ask(stream.infoSubject, [String: String](), isRepeated: true))
        guard let error = answer.error else {
            guard answer.state?.isSound ?? true else { throw unreadable() }
            return answer
        }
        if error.number == JournalStream.Failure.noSuchStream { return nil }
        if error.number == JournalStream.Failure.noLeader { throw NatsFailure.noLeader }
        throw RepriseError(
            .unavailable, "JetStream does not answer for \(stream.name): \(error.text).",
            remedy: "A majority of its servers must be there, with JetStream.")
    }

    private static func decode(_ message: NatsMessage) throws -> JournalStream.Answer {
        do {
            return try JSONDecoder().decode(
                JournalStream.Answer.self, from: Data(message.bytes))
        } catch {
            throw unreadable(error)
        }
    }

    private static func unreadable(_ cause: (any Error)? = nil) -> RepriseError {
        RepriseError(.unavailable, "JetStream's answer cannot be read.", cause: cause)
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
        connection.onLoss { [weak self] in self?.leave() }
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
            "$JS.API.STREAM.MSG.GET.\(stream.name)", ["seq": sequence + 1], isRepeated: true)
        guard let entry = try Self.stored(answer), entry.sequence == sequence + 1 else {
            return (entries, last)
        }
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
                leave()
                throw RepriseError(
                    .corrupt, "The journal was restored: it has another epoch.",
                    remedy: "Start this gateway again, with its view removed.")
            }
            self.state.withLock { ($0.skipped, $0.rules) = (agreement.skipped, agreement.rules) }
        }
        let bound = answer.config?.maxBytes ?? -1
        var status = JournalStatus(
            bytes: state.bytes,
            maxBytes: bound > 0 && JournalStream.amounts.contains(bound) ? bound : nil,
            first: state.firstSequence, last: state.lastSequence)
        status.isSealed = answer.config?.sealed ?? false
        status.difference = settings.flatMap { settings in
            stream.agreement(answer.config)?.difference(from: settings, in: stream)?.message
        }
        status.time = answer.ts.flatMap { NatsMessage.time($0) }
        status.servers = answer.cluster?.servers ?? []
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

/// What an operator changes of a journal: its stream's settings, with rights that gateways do not
/// have.
extension NatsJournal {
    /// Ends the journal: what is in it stays, and nothing more is stored.
    ///
    /// There is no way back.
    ///
    /// - Returns: its last entry.
    /// - Throws: ``RepriseCore/RepriseError`` `.unavailable`, also without the right.
    package func seal() async throws -> Int64 {
        if try await !status().isSealed {
            try await update { config in
                config["sealed"] = true
                // What a sealed stream has.
                config["deny_delete"] = true
                config["deny_purge"] = true
            }
        }
        let status = try await status()
        guard status.isSealed else {
            throw RepriseError(
                .unavailable, "The stream \(streamName) is not sealed yet.", remedy: "Try again.")
        }
        return status.last
    }

    /// Has an entry skipped by all gateways.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.full` beyond ``ClusterLimits/skipped``;
    ///   `.unavailable`, also without the right.
    package func skip(_ entry: StoredEntry) async throws {
        let first = try await status().first
        var all = skipped.filter { $0.sequence >= first }
        all.insert(SkippedEntry(entry))
        guard all.count <= ClusterLimits.skipped else {
            throw RepriseError(
                .full, "\(ClusterLimits.skipped) entries are skipped already.",
                remedy: "Wait for a base: those before it are forgotten.")
        }
        let text = JournalStream.text(of: all)
        try await update { config in
            var metadata = config["metadata"] as? [String: Any] ?? [:]
            metadata[JournalStream.skippedKey] = text
            config["metadata"] = metadata
        }
        _ = try await status()
    }

    /// Has the gateways raise the rules to this version's.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.unavailable`, also without the right.
    package func raiseRules() async throws {
        try await update { config in
            var metadata = config["metadata"] as? [String: Any] ?? [:]
            metadata[JournalStream.rulesKey] = "\(ClusterRules.newest)"
            config["metadata"] = metadata
        }
        _ = try await status()
    }

    /// Gives a journal that was restored from a backup a new epoch: what was stored after the
    /// backup is gone, and its numbers are used again.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.corrupt` if the newest base is behind the last
    ///   entry; `.unavailable`, also without the right.
    package func restored() async throws -> Epoch {
        let last = try await status().last
        if let base = try await bases?.newest(), base.position.sequence > last {
            throw RepriseError(
                .corrupt,
                "The newest base stands at entry \(base.position.sequence), and the journal ends "
                    + "at \(last).",
                remedy: "Restore both streams from the same backup.")
        }
        let (former, new) = (epoch, Epoch.random())
        let formers = formerEpochs.union([former]).map(\.text).sorted().joined(separator: ",")
        try await update { config in
            var metadata = config["metadata"] as? [String: Any] ?? [:]
            metadata[JournalStream.epochKey] = new.text
            metadata[JournalStream.formerEpochsKey] = formers
            config["metadata"] = metadata
        }
        return new
    }

    /// Changes the stream's settings, and leaves those that this version does not know.
    private func update(_ change: (inout [String: Any]) -> Void) async throws {
        let answer = try await connection.ask(
            "$JS.API.STREAM.INFO.\(stream.name)", [String: String]())
        let found = try? JSONSerialization.jsonObject(with: Data(answer.bytes)) as? [String: Any]
        guard var config = found?["config"] as? [String: Any] else {
            throw Self.unreadable()
        }
        change(&config)
        let bytes = Array(try JSONSerialization.data(withJSONObject: config))
        let made: JournalStream.Answer
        do {
            made = try Self.decode(
                try await connection.askAside(
                    "$JS.API.STREAM.UPDATE.\(stream.name)", bytes: bytes, within: .seconds(10)))
        } catch let error as RepriseError where error.code == .unavailable {
            throw RepriseError(
                .unavailable, "Nobody in NATS changes the stream \(stream.name) for this user.",
                remedy: "Use the operator's credentials: gateways may not change it; or a majority "
                    + "of its servers is missing.", cause: error)
        }
        guard let error = made.error else { return }
        throw RepriseError(
            .unavailable, "JetStream does not change \(stream.name): \(error.text).")
    }
}

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
        try await make(stream, wanted, of: seed, connection)
        guard try await bases.newest() == manifest else {
            throw RepriseError(
                .corrupt, "Somebody else has moved data into \(stream.name) at the same time.",
                remedy: "Remove the streams \(stream.name) and \(stream.baseName), and begin "
                    + "again.")
        }
        return false
    }

    private static func make(
        _ stream: JournalStream, _ wanted: JournalStream.Settings, of seed: ClusterSeed,
        _ connection: NatsConnection
    ) async throws {
        // First: when the journal is there, no kill may leave a folder that a server would take.
        let wasMoved = try await seed.setMoved(true)
        let answer = try decode(
            try await connection.ask("$JS.API.STREAM.CREATE.\(stream.name)", wanted))
        guard let error = answer.error else { return }
        if !wasMoved { _ = try await seed.setMoved(false) }
        if error.number == JournalStream.Failure.exists { throw isThere(stream) }
        throw stream.notMade(wanted, error)
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

extension JournalStream.Peers {
    /// By their names.
    fileprivate var servers: [JournalStatus.Server] {
        let first = leader.flatMap { $0.isEmpty ? nil : JournalStatus.Server(leader: $0) }
        let others = (replicas ?? []).prefix(16).map(JournalStatus.Server.init(peer:))
        return ([first].compactMap(\.self) + others).sorted { $0.name < $1.name }
    }
}

extension JournalStatus.Server {
    fileprivate init(leader name: String) {
        self.init(name: name.limited(to: 64))
        isLeader = true
    }

    fileprivate init(peer: JournalStream.Peers.Peer) {
        self.init(name: peer.name.limited(to: 64))
        isCurrent = peer.current ?? false
        isOffline = peer.offline ?? false
        lag = peer.lag ?? 0
        unheard = .nanoseconds(peer.active ?? 0)
    }
}
