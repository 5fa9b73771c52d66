import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import RepriseCore
import RepriseJournal
import RepriseNIO

/// Receives pushes over HTTP on loopback for a phone: the stand-in for APNs.
///
/// ```
/// curl -d '{"aps":{"alert":"Hi"}}' http://127.0.0.1:PORT/3/device/TOKEN
/// ```
///
/// It answers like APNs: 200 with `apns-id`, or a status and `{"reason":…}`. Unlike APNs it uses
/// HTTP/1.1, requires no provider token, and reports what a device would silently ignore.
public struct PushEndpoint: Sendable {
    /// The most connections; beyond it a new one is closed.
    package static let connections = 64
    /// Idle timeout of a connection.
    static let idle = Duration.seconds(30)

    private let folder: PhoneFolder
    private let port: Int?

    /// An endpoint for the phone in a folder.
    ///
    /// - Parameters:
    ///   - folder: the phone's.
    ///   - port: nil is the phone's former port, if it is free, else any.
    public init(folder: PhoneFolder, port: Int? = nil) {
        self.folder = folder
        self.port = port
    }

    /// Serves until the task is cancelled.
    ///
    /// - Parameter ready: called once, when pushes are accepted and the address is in the folder.
    /// - Throws: ``RepriseCore/RepriseError`` `.portInUse`; what writing to the folder throws.
    public func run(ready: @Sendable (Address) -> Void) async throws {
        let former = Address(in: folder)
        let server = try await bind(former?.port)
        let device = former?.device ?? EntryID.random().text
        let address = Address(port: server.channel.localAddress?.port ?? 0, device: device)
        try await withThrowingDiscardingTaskGroup { group in
            try await server.executeThenClose { connections in
                try address.write(to: folder)
                ready(address)
                let open = PushConnections(limit: Self.connections)
                let answers = PushAnswers(folder: folder, address: address)
                for try await connection in connections {
                    guard open.enter() else { continue }
                    group.addTask {
                        defer { open.leave() }
                        // A connection that breaks is that connection's end.
                        try? await answers.serve(connection.take())
                    }
                }
            }
            group.cancelAll()
        }
    }

    private typealias Connection = AcceptedChannel<
        HTTPServerRequestPart, HTTPServerResponsePart
    >

    private func bind(_ former: Int?) async throws -> NIOAsyncChannel<Connection, Never> {
        if port == nil, let former, let server = try? await bind(to: former) { return server }
        do {
            return try await bind(to: port ?? 0)
        } catch let error as IOError where error.errnoCode == EADDRINUSE {
            throw RepriseError(
                .portInUse, "The port \(port ?? 0) for pushes is taken.",
                remedy: "Give another with --port.", cause: error)
        }
    }

    private func bind(to port: Int) async throws -> NIOAsyncChannel<Connection, Never> {
        try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .bind(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(IdleStateHandler(allTimeout: TimeAmount(Self.idle)))
                    try pipeline.addHandler(IdleClosing())
                    try pipeline.configureHTTPServerPipeline(withErrorHandling: true)
                    return Connection(
                        try NIOAsyncChannel(wrappingChannelSynchronously: channel))
                }
            }
    }
}

/// Closes an idle connection.
private final class IdleClosing: ChannelInboundHandler {
    typealias InboundIn = NIOAny

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event is IdleStateHandler.IdleStateEvent else {
            return context.fireUserInboundEventTriggered(event)
        }
        context.close(promise: nil)
    }
}
