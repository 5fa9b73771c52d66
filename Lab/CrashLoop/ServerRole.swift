import Logging
import RepriseCore
import RepriseServer
import RepriseTesting
import RepriseWire
import ServiceLifecycle
import Synchronization

/// `crash-loop server`: a server that is killed.
struct ServerRole: Sendable {
    private let data: String
    private let port: Int
    private let log: String

    init(_ arguments: Arguments) throws {
        data = try arguments.needed("data")
        port = try arguments.number("port") ?? 0
        log = try arguments.needed("log")
    }

    func run() async throws {
        ChildStart.begin(log: log)
        var logger = Logger(label: "server") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .error
        let server = Server(
            configuration: ServerConfiguration(port: port, data: data), logger: logger,
            onReady: { _, _ in LineFile.output.append(Phase.working.rawValue) },
            openLog: { [data] in
                let log = try SQLiteMessageLog.open(at: data)
                return LoopMutation.current == .acknowledgeBeforeCommit ? EagerLog(log) : log
            })
        try await ServiceGroup(services: [server], logger: logger).run()
    }
}

/// A log that says "stored" and stores 20 ms later: the mutation
/// ``LoopMutation/acknowledgeBeforeCommit``.
final class EagerLog: MessageLog {
    private struct State {
        var heads: [ChannelName: Int64] = [:]
        var last: Task<Void, Never>?
    }

    private let log: SQLiteMessageLog
    private let state = Mutex(State())

    init(_ log: SQLiteMessageLog) { self.log = log }

    func append(_ batch: [NewMessage]) async throws -> [AppendResult] {
        var results: [AppendResult] = []
        for message in batch {
            let known = state.withLock { $0.heads[message.channel] }
            let head = if let known { known } else { try await log.state(of: message.channel).head }
            state.withLock { $0.heads[message.channel] = head + 1 }
            results.append(
                .stored(
                    ServerFrame.Event(
                        channel: message.channel, seq: head + 1, prev: head, id: message.id,
                        time: SystemTimekeeper().wall(), body: message.body)))
        }
        state.withLock { state in
            state.last = Task { [log, last = state.last] in
                await last?.value
                try? await Task.sleep(for: .milliseconds(20))
                _ = try? await log.append(batch)
            }
        }
        return results
    }

    func probe() async throws { try await log.probe() }

    func state(of channel: ChannelName) async throws -> LogChannelState {
        try await log.state(of: channel)
    }

    func head(of channel: ChannelName) throws -> Int64 { try log.head(of: channel) }

    func page(
        of channel: ChannelName, missing: [SequenceRange], limit: Int, byteLimit: Int
    ) async throws -> LogPage {
        try await log.page(of: channel, missing: missing, limit: limit, byteLimit: byteLimit)
    }

    func unread(
        of user: UserID, in channel: ChannelName, after: Int64
    ) async throws -> Unread {
        try await log.unread(of: user, in: channel, after: after)
    }

    func trim(_ channel: ChannelName, through: Int64) async throws -> LogChannelState {
        try await log.trim(channel, through: through)
    }

    func trim(
        _ policy: RetentionPolicy, now: WallTime, overrides: RetentionOverrides?
    ) async throws {
        try await log.trim(policy, now: now, overrides: overrides)
    }

    func close() async { await log.close() }
}
