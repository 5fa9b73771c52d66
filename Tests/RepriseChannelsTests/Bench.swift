import Foundation
import GRDB
import RepriseChannels
import RepriseCore
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Synchronization
import Testing

/// A device with a real journal on disk, a connection in memory and clocks that stand still.
final class Bench: Sendable {
    let folder: TemporaryFolder
    let time: ManualClock
    let dialer = MemoryDialer()
    let journal: Journal
    let channels: Channels
    let general: Channel
    private let alive = Mutex(true)
    private let running = Mutex<Task<Void, any Error>?>(nil)

    /// Opens a device; `killing` is one on the same folder that is killed by this one's beginning:
    /// whatever it tries to write from then on is refused.
    init(
        killing former: Bench? = nil, in folder: TemporaryFolder? = nil,
        configure: (inout Channels.Configuration, inout Journal.Configuration) -> Void = { _, _ in }
    ) async throws {
        self.folder = try former?.folder ?? folder ?? TemporaryFolder()
        time = former?.time ?? ManualClock()
        var configuration = Channels.Configuration()
        configuration.timekeeper = time
        configuration.jitter = { 0 }
        var journalConfiguration = Journal.Configuration()
        journalConfiguration.timekeeper = time
        journalConfiguration.jitter = { 0 }
        journalConfiguration.takeOver = former != nil
        configure(&configuration, &journalConfiguration)
        journal = try await Journal.open(
            at: self.folder.appending("journal"), kinds: Channels.kinds,
            schemas: [Channels.schema(keeping: Self.forEver), Self.sink],
            configuration: journalConfiguration)
        channels = Channels(
            journal: journal, server: "http://127.0.0.1:1", dialer: dialer,
            configuration: configuration)
        general = try channels.channel("general")
        former?.stop()
    }

    deinit { stop() }

    /// Scripts have times of long ago.
    static let forEver = MessageRetention(age: .seconds(200 * 365 * 86_400))

    /// A table of the app's own, in the journal.
    static let sink = JournalSchema(
        name: "sink",
        migrations: [{ db in try db.execute(sql: "CREATE TABLE sink (seq INTEGER) STRICT") }])

    func start() {
        running.withLock { $0 = Task { [channels] in try await channels.run() } }
    }

    /// Does it unless the device was killed; then no kill comes before it is done.
    func whileAlive(_ body: () -> Void) throws {
        try alive.withLock { isAlive in
            guard isAlive else { throw CancellationError() }
            body()
        }
    }

    func kill() { alive.withLock { $0 = false } }

    func stop() { running.withLock { $0 }?.cancel() }

    /// Ends in good order.
    func finish() async throws {
        stop()
        try await outcome?.get()
        // It waits for handlers: for ever, if one waits for an answer that was forgotten.
        let closing = Task<Void, any Error> { [journal] in await journal.close() }
        try await result(of: closing, "close()").get()
    }

    /// What `run` ended with.
    var outcome: Result<Void, any Error>? {
        get async throws {
            guard let run = running.withLock({ $0 }) else { return nil }
            return try await result(of: run)
        }
    }

    func sunk() async throws -> [Int] {
        try await journal.read { try Int.fetchAll($0, sql: "SELECT seq FROM sink ORDER BY rowid") }
    }

    /// Accepts the next connection and welcomes the device.
    func accept(as user: UserID? = nil) async throws -> ScriptedChannelServer {
        let server = ScriptedChannelServer(socket: try await dialer.accept())
        guard case .hello = try await server.next() else {
            throw RepriseError(.malformed, "hello comes first")
        }
        server.push([
            .welcome(
                .init(
                    version: 1, time: time.wall(), heartbeat: .seconds(25), server: "scripted",
                    session: user.map { .init(user: $0, expires: time.wall()) }))
        ])
        return server
    }
}

/// The server's side of a connection, moved by hand.
struct ScriptedChannelServer {
    let socket: MemorySocket

    func next() async throws -> ClientFrame {
        guard let bytes = await socket.sent() else {
            throw RepriseError(.closed, "The device has closed the connection.")
        }
        var decoder = FrameDecoder()
        return try decoder.clientFrame(bytes)
    }

    /// The next request for the one channel there is.
    func request() async throws -> ClientFrame.Subscription {
        while true {
            if case .subscribe(let channels) = try await next(), let first = channels.first {
                return first
            }
        }
    }

    func publish() async throws -> ClientFrame.Publish {
        while true { if case .publish(let publish) = try await next() { return publish } }
    }

    func push(_ frames: [ServerFrame]) { socket.push(frames.map { $0.encoded() }) }

    func subscribed(head: Int64, floor: Int64 = 0, epoch: String = "e1") throws {
        push([
            .subscribed(
                .init(
                    channel: try ChannelName("general"), epoch: try Epoch(epoch), head: head,
                    floor: floor))
        ])
    }

    func events(_ sequences: [Int64], prefix: String = "m") throws {
        push(try sequences.map { .event(try Self.event($0, prefix: prefix)) })
    }

    func events(_ range: ClosedRange<Int64>, prefix: String = "m") throws {
        try events(Array(range), prefix: prefix)
    }

    func syncComplete(through: Int64, epoch: String = "e1") throws {
        push([
            .syncComplete(
                .init(
                    channel: try ChannelName("general"), epoch: try Epoch(epoch), through: through,
                    time: WallTime(milliseconds: 0)))
        ])
    }

    /// Answers a request for everything up to `head` as a good server does.
    func catchUp(_ request: ClientFrame.Subscription, head: Int64, epoch: String = "e1") throws {
        try subscribed(head: head, epoch: epoch)
        for hole in request.coverage.complement(through: head) {
            try events(hole.after + 1...hole.through)
        }
        try syncComplete(through: head, epoch: epoch)
    }

    static func event(_ seq: Int64, prefix: String = "m", body: String? = nil) throws
        -> ServerFrame.Event
    {
        ServerFrame.Event(
            channel: try ChannelName("general"), seq: seq, prev: seq - 1,
            id: try EntryID("\(prefix)\(seq)"), time: WallTime(milliseconds: 1_000 + seq),
            body: Array((body ?? "\(seq)").utf8))
    }
}

/// What handlers were given, in order; an observer outside of the journal.
final class Observer: Sendable {
    private let seen = Mutex<[Message]>([])

    func see(_ message: Message) { seen.withLock { $0.append(message) } }

    var messages: [Message] { seen.withLock { $0 } }
    var sequences: [Int64] { messages.map(\.seq) }
}
