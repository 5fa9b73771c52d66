import NIOCore
import NIOHTTP1

/// Stands before NIO's upgrader until the first request of a connection has come.
///
/// It takes `Upgrade` out of requests that will not be upgraded, so that they reach the router instead of dying without a
/// reply. Then it removes itself: what follows may be WebSocket bytes, which it could not read. A connection that sends no
/// request in time is closed; Hummingbird's own timeout begins only behind the upgrader.
final class UpgradeGuard: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    private let timeout: TimeAmount
    private let browsers: BrowserRules
    private let isSecure: Bool
    private var deadline: Scheduled<Void>?

    init(timeout: TimeAmount, browsers: BrowserRules, isSecure: Bool) {
        self.timeout = timeout
        self.browsers = browsers
        self.isSecure = isSecure
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let channel = context.channel
        deadline = context.eventLoop.scheduleTask(in: timeout) { channel.close(promise: nil) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        deadline?.cancel()
        deadline = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(var head) = unwrapInboundIn(data) else {
            return context.fireChannelRead(data)
        }
        if !UpgradeRequest.isAcceptable(head) || !isOurs(head) {
            head.headers.remove(name: "Upgrade")
        }
        context.fireChannelRead(wrapInboundOut(.head(head)))
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }

    private func isOurs(_ head: HTTPRequestHead) -> Bool {
        browsers.refusal(
            origins: head.headers["Origin"], host: head.headers.first(name: "Host"),
            isSecure: isSecure, mustBeOurs: true) == nil
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.fireErrorCaught(error)
        context.close(promise: nil)  // the handler before this one has answered with a 400
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }
}
