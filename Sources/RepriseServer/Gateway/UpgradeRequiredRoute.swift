import HTTPTypes
package import Hummingbird
import NIOCore
import RepriseWire

/// Answers a refused handshake with its fault (RFC 6455 §4.2.2, RFC 9110 §15.5.22).
package struct UpgradeRequiredRoute {
    package init() {}

    package func add(to router: Router<BasicRequestContext>) {
        let path = RouterPath(WireHandshake.path)
        router.get(path) { _, _ in Self.answer }
        router.head(path) { _, _ in Self.answer.createHeadResponse() }
    }

    private static var answer: Response {
        var headers = HTTPFields()
        headers[.upgrade] = "websocket"
        headers[.connection] = "Upgrade"
        headers[.secWebSocketVersion] = "13"
        headers[.secWebSocketProtocol] = WireHandshake.subprotocol
        headers[.contentType] = "application/json; charset=utf-8"
        let body =
            #"{"error":{"code":"upgradeRequired","message":"Connect with WebSocket version 13 "#
            + #"and the subprotocol \#(WireHandshake.subprotocol)."}}"#
        return Response(
            status: .upgradeRequired, headers: headers,
            body: .init(byteBuffer: ByteBuffer(string: body)))
    }
}
