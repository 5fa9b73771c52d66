import NIOCore
import RepriseCore

/// An open WebSocket connection on SwiftNIO.
final class NIOSocket: Socket {
    private let channel: any Channel
    private let inbox: Inbox

    init(channel: any Channel, inbox: Inbox) {
        self.channel = channel
        self.inbox = inbox
    }

    /// Ends a connection that was never closed.
    deinit { channel.close(promise: nil) }

    func receive() async throws -> [[UInt8]]? {
        try await inbox.take { channel.read() }
    }

    func send(_ frames: [[UInt8]]) async throws {
        guard !frames.isEmpty else { return }
        let batch = FrameWriter.text(frames, allocator: channel.allocator)
        do {
            // Completes when the kernel has taken the last byte. So a peer that does not read
            // blocks its writers, and memory holds at most one batch for each of them.
            try await channel.writeAndFlush(batch).get()
        } catch {
            throw SocketFailure("The connection has ended: \(error)")
        }
    }

    func close(code: UInt16) async {
        channel.triggerUserOutboundEvent(SocketHandler.CloseRequest(code: code), promise: nil)
        _ = try? await channel.closeFuture.get()
    }

    func ping() async throws {
        let promise = channel.eventLoop.makePromise(of: Void.self)
        channel.triggerUserOutboundEvent(SocketHandler.PingRequest(), promise: promise)
        do {
            try await promise.futureResult.get()
        } catch {
            throw SocketFailure("The connection has ended: \(error)")
        }
    }

    var closeCode: UInt16? {
        get async { inbox.peerCode }
    }
}
