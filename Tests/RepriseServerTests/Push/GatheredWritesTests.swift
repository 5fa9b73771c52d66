import NIOCore
import NIOEmbedded
import RepriseServer
import Testing

@Suite("Coalesced writes of pushes")
struct GatheredWritesTests {
    private let channel = EmbeddedChannel(handler: GatheredWrites())

    /// Connected, as the transport is before it is used.
    private func connect() throws {
        channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
        channel.embeddedEventLoop.run()
    }

    /// Waits for nothing, so that what never comes is a failure and not a test that hangs.
    private func end() {
        channel.close(promise: nil)
        channel.embeddedEventLoop.run()
    }

    private func write(_ text: String) -> EventLoopFuture<Void> {
        let promise = channel.eventLoop.makePromise(of: Void.self)
        channel.writeAndFlush(ByteBuffer(string: text), promise: promise)
        return promise.futureResult
    }

    private func written() throws -> String? {
        try channel.readOutbound(as: ByteBuffer.self).map { String(buffer: $0) }
    }

    @Test(
        "are passed on at the end of the interval, as one, in order, and each write's promise succeeds"
    )
    func together() throws {
        try connect()
        var done = 0
        for text in ["a", "b", "c"] { write(text).assumeIsolated().whenSuccess { done += 1 } }
        #expect(try written() == nil && done == 0)
        channel.embeddedEventLoop.run()
        #expect(try written() == "abc" && done == 3)
        #expect(try written() == nil)
        _ = write("d")
        channel.embeddedEventLoop.run()
        #expect(try written() == "d")
        end()
    }

    @Test("keep what is written while they are passed on")
    func meanwhile() throws {
        try connect()
        write("a").assumeIsolated().whenSuccess { _ = write("b") }
        for _ in 0..<2 { channel.embeddedEventLoop.run() }
        #expect(try written() == "a")
        #expect(try written() == "b")
        #expect(try written() == nil)
        end()
    }

    @Test("are passed on before the connection is closed")
    func closing() throws {
        try connect()
        var done = 0
        write("bye").assumeIsolated().whenSuccess { done += 1 }
        channel.close(promise: nil)
        #expect(try written() == "bye")
        channel.embeddedEventLoop.run()
        #expect(done == 1)
    }

    @Test("are passed on early once there are many bytes")
    func much() throws {
        try connect()
        channel.write(ByteBuffer(repeating: 0, count: 70_000), promise: nil)
        channel.pipeline.flush()
        channel.embeddedEventLoop.run()
        #expect(try channel.readOutbound(as: ByteBuffer.self)?.readableBytes == 70_000)
        channel.write(ByteBuffer(repeating: 0, count: 60_000), promise: nil)
        channel.write(ByteBuffer(repeating: 0, count: 60_000), promise: nil)
        #expect(try channel.readOutbound(as: ByteBuffer.self)?.readableBytes == 120_000)
        end()
    }

    @Test("fail each write's promise when the connection ends first")
    func ended() throws {
        try connect()
        var failed = 0
        let promise = channel.eventLoop.makePromise(of: Void.self)
        promise.futureResult.assumeIsolated().whenFailure { _ in failed += 1 }
        channel.write(ByteBuffer(string: "never"), promise: promise)
        let sync = channel.pipeline.syncOperations
        _ = sync.removeHandler(try sync.handler(type: GatheredWrites.self))
        channel.embeddedEventLoop.run()
        #expect(failed == 1)
        end()
    }
}
