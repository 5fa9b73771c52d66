import Foundation
import Logging
import RepriseCore
import RepriseServer
import RepriseTesting
import RepriseWire
import ServiceLifecycle
import Testing

/// The real server on a free port, over a real log on disk, for the time of one test.
struct NetworkServer: Sendable {
    let port: Int
    let log: SQLiteMessageLog
    let gateway: Gateway

    /// Bounds that are met within a second, in proportion to those that ship.
    static var shortLimits: ServerLimits {
        var limits = ServerLimits()
        limits.handshake = .seconds(1)
        limits.heartbeat = .milliseconds(100)
        limits.pingAfter = .milliseconds(400)
        limits.idle = .milliseconds(1_200)
        limits.notReading = .seconds(2)
        limits.closeHandshake = .milliseconds(200)
        limits.shutdown = .seconds(1)
        return limits
    }

    static func with<Value: Sendable>(
        _ limits: ServerLimits = shortLimits,
        _ body: (NetworkServer) async throws -> Value
    ) async throws -> Value {
        let folder = try TemporaryFolder()
        let log = try SQLiteMessageLog.open(at: folder.appending("log").path)
        let (ready, isReady) = AsyncStream<NetworkServer>.makeStream()
        let logger = Logger(label: "network") { _ in SwiftLogNoOpLogHandler() }
        let server = Server(
            configuration: ServerConfiguration(
                port: 0, data: folder.appending("log").path, limits: limits),
            logger: logger,
            onReady: { isReady.yield(NetworkServer(port: $0.port, log: log, gateway: $1)) },
            openLog: { log })
        let group = ServiceGroup(services: [server], logger: logger)
        async let running: Void = {
            defer { isReady.finish() }
            try await group.run()
        }()
        var servers = ready.makeAsyncIterator()
        let started = await servers.next()
        guard let started else {
            try await running
            throw RepriseError(.unavailable, "The server has not started.")
        }
        let result: Result<Value, any Error>
        do { result = .success(try await body(started)) } catch { result = .failure(error) }
        await group.triggerGracefulShutdown()
        try await running
        return try result.get()
    }

    /// Everything that a channel has, in order.
    func stored(in channel: ChannelName) async throws -> [Stored] {
        var all: [Stored] = []
        while true {
            let page = try await log.history(
                of: channel, after: all.last?.seq ?? 0, limit: 1_000)
            guard !page.events.isEmpty else { return all }
            all += page.events.map { Stored(seq: $0.seq, id: $0.id) }
        }
    }

    /// Stores messages past all networks, through the committer like everybody else.
    func store(_ messages: [NewMessage]) async throws -> [Stored] {
        let results = try await gateway.committer.commit(messages)
        return zip(messages, results).compactMap { message, result in
            switch result {
            case .stored(let event), .buried(_, let event):
                Stored(seq: event.seq, id: message.id)
            case .duplicate(let seq): Stored(seq: seq, id: message.id)
            case .refused: nil
            }
        }
    }
}

/// A message, as the server has acknowledged it or as a device has it.
struct Stored: Hashable, Comparable, Sendable, CustomStringConvertible {
    let seq: Int64
    let id: EntryID

    static func < (a: Stored, b: Stored) -> Bool { (a.seq, a.id.text) < (b.seq, b.id.text) }

    var description: String { "\(seq) \(id)" }
}
