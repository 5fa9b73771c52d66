import NIOCore
import NIOPosix
import RepriseNIO
import Testing

@Suite("A connection that a server has accepted", .timeLimit(.minutes(1)))
struct AcceptedChannelTests {
    private typealias Bytes = NIOAsyncChannel<ByteBuffer, ByteBuffer>

    @Test("is closed if it is never read, and the process goes on")
    func dropped() async throws {
        let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .bind(host: "127.0.0.1", port: 0) { channel in
                channel.eventLoop.makeCompletedFuture {
                    AcceptedChannel(try Bytes(wrappingChannelSynchronously: channel))
                }
            }
        let port = try #require(server.channel.localAddress?.port)
        try await server.executeThenClose { connections in
            let peer = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .connect(host: "127.0.0.1", port: port) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try Bytes(wrappingChannelSynchronously: channel)
                    }
                }
            for try await _ in connections { break }
            let received = try await peer.executeThenClose { inbound, _ in
                try await inbound.reduce(0) { $0 + $1.readableBytes }
            }
            #expect(received == 0)
        }
    }
}
