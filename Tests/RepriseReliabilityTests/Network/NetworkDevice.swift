import GRDB
import Reprise
import RepriseNIO
import RepriseTesting
import Synchronization

/// A real device: the facade, a journal on disk, the NIO dialer; its effect is a row in the
/// journal's own transaction.
final class NetworkDevice: Sendable {
    let reprise: AccountClient
    private let folder: TemporaryFolder
    private let running = Mutex<Task<Void, Never>?>(nil)
    private let ends = Mutex<[RepriseError]>([])

    /// A table of the app's own.
    ///
    /// It takes a message twice, so that nobody hides a second effect.
    private static let sink = JournalSchema(
        name: "sink",
        migrations: [
            { db in
                try db.execute(
                    sql: "CREATE TABLE sink (channel TEXT, seq INTEGER, id TEXT) STRICT")
            }
        ])

    static func open(
        _ url: String, dialer: (any SocketDialer)? = nil, isHurried: Bool = true
    ) async throws -> NetworkDevice {
        let folder = try TemporaryFolder()
        var configuration = AccountClient.Configuration()
        configuration.schemas = [sink]
        configuration.channels.reconnect = Backoff(
            base: .milliseconds(200), longest: .seconds(2))
        configuration.channels.inactivity = .seconds(5)
        configuration.channels.noProgress = .seconds(10)
        if isHurried {
            let clock = HurriedTimekeeper()
            configuration.channels.timekeeper = clock
            configuration.journal.timekeeper = clock
        }
        let reprise = try await AccountClient.open(
            at: folder.appending("journal"), server: url,
            dialer: dialer ?? NIODialer(timeout: .seconds(1)), configuration: configuration)
        return NetworkDevice(reprise, folder)
    }

    private init(_ reprise: AccountClient, _ folder: TemporaryFolder) {
        self.reprise = reprise
        self.folder = folder
    }

    func read(_ channel: ChannelName) async throws {
        try await reprise.channel(channel.text).read(
            "sink",
            inTransaction: { db, messages in
                for message in messages {
                    try db.execute(
                        sql: "INSERT INTO sink VALUES (?, ?, ?)",
                        arguments: [message.channel.text, message.seq, message.id.text])
                }
            })
    }

    /// Runs, and runs again when the client gives up: as an app that a person starts again.
    func start() {
        let task = Task { [reprise] in
            while !Task.isCancelled {
                do {
                    try await reprise.run()
                } catch {
                    let error = error as? RepriseError ?? RepriseError(.closed, "\(error)")
                    ends.withLock { $0.append(error) }
                    guard error.code == .refused else { return }
                    try? await Task.sleep(for: .milliseconds(20))
                }
            }
        }
        running.withLock { $0 = task }
    }

    /// Whether the server has welcomed it and it has not noticed an end since.
    var isConnected: Bool {
        get async {
            for await state in reprise.channels.connectionStates { return state == .connected }
            return false
        }
    }

    /// How often the client has given up, and why.
    var givenUp: [RepriseError] { ends.withLock { $0 } }

    /// What the app has got.
    func effects(in channel: ChannelName) async throws -> [Stored] {
        try await reprise.journal.read { db in
            try Row.fetchAll(
                db, sql: "SELECT seq, id FROM sink WHERE channel = ? ORDER BY rowid",
                arguments: [channel.text]
            ).map { Stored(seq: $0["seq"], id: try EntryID($0["id"])) }
        }
    }

    func effectCount() async throws -> Int {
        try await reprise.journal.read {
            try Int.fetchOne($0, sql: "SELECT count(*) FROM sink") ?? 0
        }
    }

    func finish() async {
        let task = running.withLock { $0 }
        task?.cancel()
        await task?.value
        await reprise.close()
    }
}
