import Foundation
import GRDB
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Synchronization
import Testing

/// One implementation of ``MessageLog`` that the shared tests run against; add another to ``all``
/// and it must keep the same promises.
struct LogUnderTest: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Whether the time of no message is before that of another one's channel.
    var hasOneTime = false
    /// Makes an empty store and opens it.
    let make: @Sendable (ManualClock) async throws -> any LogUnderTestStore

    static let all = [sqlite, cluster, nats]

    /// A gateway of two, over a journal that loses, doubles, delays and reorders.
    static let cluster = LogUnderTest(testDescription: "cluster", hasOneTime: true) { clock in
        let store = try ClusterStore(clock: clock)
        try await store.reopen()
        return store
    }

    /// A gateway of two, over a real nats-server.
    static let nats = LogUnderTest(testDescription: "NATS", hasOneTime: true) { clock in
        let store = try await NatsStore(clock: clock)
        try await store.reopen()
        return store
    }

    static let sqlite = LogUnderTest(testDescription: "SQLite") { clock in
        let store = try SQLiteStore(clock: clock)
        try await store.reopen()
        return store
    }

    /// Runs `body` on a store of its own and removes it.
    func run(
        clock: ManualClock = ManualClock(),
        _ body: (any LogUnderTestStore) async throws -> Void
    ) async throws {
        let store = try await make(clock)
        do {
            try await body(store)
        } catch {
            await store.remove()
            throw error
        }
        await store.remove()
    }
}

/// What lies under a log and outlives it.
protocol LogUnderTestStore: AnyObject, Sendable {
    var log: any MessageLog { get }
    /// Closes the log, as a restart of the server does, and opens it again.
    func reopen() async throws
    /// Moves a channel's last message on, so that it accounts for more than its own sequence; false
    /// if this kind of log cannot.
    func widenLast(by count: Int64, in channel: ChannelName) async throws -> Bool
    /// Closes the log and takes everything away.
    func remove() async
}

extension LogUnderTestStore {
    /// Whoever may change what others wrote does it as an admin: a cluster asks its accounts.
    func append(_ batch: [NewMessage]) async throws -> [AppendResult] {
        try await log.append(
            batch.map { message in
                var message = message
                message.isAdmin = message.mayChangeOthers
                return message
            })
    }

    /// Stores messages with new ids and short bodies.
    @discardableResult
    func fill(_ channel: ChannelName, _ count: Int) async throws -> [ServerFrame.Event] {
        try await append((0..<count).map { message(channel, body: "\($0)") }).compactMap(\.event)
    }

    /// The whole channel, or what is left of it.
    func everything(in channel: ChannelName) async throws -> LogPage {
        try await log.history(of: channel, after: 0, limit: .max)
    }
}

/// A store on disk.
final class SQLiteStore: LogUnderTestStore {
    let folder: TemporaryFolder
    private let configuration: SQLiteMessageLog.Configuration
    private let open = Mutex<SQLiteMessageLog?>(nil)

    init(
        clock: ManualClock = ManualClock(),
        configure: (inout SQLiteMessageLog.Configuration) -> Void = { _ in }
    ) throws {
        var configuration = SQLiteMessageLog.Configuration()
        configuration.clock = clock
        configure(&configuration)
        self.configuration = configuration
        folder = try TemporaryFolder()
    }

    var log: any MessageLog { sqlite }

    var sqlite: SQLiteMessageLog {
        guard let log = open.withLock({ $0 }) else { preconditionFailure("the store is closed") }
        return log
    }

    func reopen() async throws {
        await close()
        let log = try SQLiteMessageLog.open(at: folder.path, configuration)
        open.withLock { $0 = log }
    }

    func close() async {
        let log = open.withLock { $0.take() }
        await log?.close()
    }

    func widenLast(by count: Int64, in channel: ChannelName) async throws -> Bool {
        await close()
        try ClosedLog.widenLast(by: count, in: channel, at: folder.path + "/messages.sqlite")
        try await reopen()
        return true
    }

    /// See ``ClosedLog/change(_:at:)``.
    func change(_ sql: String) throws {
        try ClosedLog.change(sql, at: folder.path + "/messages.sqlite")
    }

    func remove() async {
        await close()
        folder.remove()
    }
}

/// A closed file that is changed behind the log's back.
enum ClosedLog {
    /// All messages are in `messages` then.
    static func change(_ sql: String, at path: String) throws {
        let queue = try DatabaseQueue(path: path)
        try queue.write { db in
            for table in ["arrivals", "arrivals2"] {
                try db.execute(
                    sql: """
                        INSERT INTO messages SELECT * FROM all_messages AS a WHERE NOT EXISTS (
                        SELECT 1 FROM messages WHERE channel = a.channel AND seq = a.seq);
                        DELETE FROM \(table);
                        """)
            }
            try db.execute(sql: sql)
        }
        try queue.close()
    }

    static func widenLast(by count: Int64, in channel: ChannelName, at path: String) throws {
        try change(
            """
            UPDATE messages SET prev = coalesce(prev, seq - 1), seq = seq + \(count)
            WHERE (channel, seq) = (SELECT key, head FROM heads WHERE name = '\(channel)');
            UPDATE heads SET head = head + \(count) WHERE name = '\(channel)'
            """, at: path)
    }
}

func message(
    _ channel: ChannelName, id: EntryID = .random(), after: EntryID? = nil, body: String = "1"
) -> NewMessage {
    NewMessage(channel: channel, id: id, after: after, body: Array(body.utf8))
}

extension AppendResult {
    var refusal: RefusalCode? {
        if case .refused(let code, _) = self { code } else { nil }
    }
}
