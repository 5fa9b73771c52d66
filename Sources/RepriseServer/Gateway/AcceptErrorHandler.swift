import Foundation
import Logging
import NIOCore

/// Logs failures to accept connections, which NIO does not: it retries in a second.
final class AcceptErrorHandler: ChannelInboundHandler, Sendable {
    typealias InboundIn = any Channel

    private let warning: ThrottledWarning

    init(warning: ThrottledWarning) { self.warning = warning }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        let code = (error as? IOError)?.errnoCode
        if code == EMFILE || code == ENFILE {
            warning.warn(
                "no file descriptor is left for a new connection: raise the limit (ulimit -n)")
        } else {
            warning.warn("a connection could not be accepted", ["error": "\(error)"])
        }
        context.fireErrorCaught(error)
    }
}
