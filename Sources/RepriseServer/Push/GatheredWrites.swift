package import NIOCore

/// Stands between HTTP/2 and TLS and combines the writes of one event-loop tick.
///
/// The HTTP client flushes three times per request, each with a TLS record and a system call. Many
/// pushes are made in one tick, so that here their frames share both.
///
///     HTTP/2 → GatheredWrites → TLS → socket
package final class GatheredWrites: ChannelOutboundHandler, RemovableChannelHandler {
    package typealias OutboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    /// The bytes that are passed on without waiting for the end of the tick.
    private static let mostBytes = 65_536

    private var gathered = ByteBuffer()
    private var promises: [EventLoopPromise<Void>] = []
    private var isFlushScheduled = false

    package init() {}

    package func write(
        context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?
    ) {
        var bytes = unwrapOutboundIn(data)
        gathered.writeBuffer(&bytes)
        if let promise { promises.append(promise) }
        if gathered.readableBytes >= Self.mostBytes { handOn(context) }
    }

    package func flush(context: ChannelHandlerContext) {
        guard !isFlushScheduled else { return }
        isFlushScheduled = true
        context.eventLoop.assumeIsolated().execute {
            self.isFlushScheduled = false
            self.handOn(context)
        }
    }

    package func close(
        context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?
    ) {
        handOn(context)
        context.close(mode: mode, promise: promise)
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        for promise in promises { promise.fail(ChannelError.ioOnClosedChannel) }
        promises = []
        gathered.clear()
    }

    private func handOn(_ context: ChannelHandlerContext) {
        guard gathered.readableBytes > 0 else { return context.flush() }
        // Taken before: a flush may call back, and what is then written comes after it.
        var bytes = ByteBuffer()
        swap(&bytes, &gathered)
        let written = context.eventLoop.makePromise(of: Void.self)
        for promise in promises { written.futureResult.cascade(to: promise) }
        promises.removeAll(keepingCapacity: true)
        context.write(wrapOutboundOut(bytes), promise: written)
        context.flush()
        guard gathered.readableBytes == 0 else { return }
        // TLS has encrypted its input when the flush returns.
        bytes.clear()
        gathered = bytes
    }
}
