package import NIOHTTP1
import RepriseWire

/// Whether a request is a WebSocket handshake that the gateway accepts (RFC 6455 §4.2.1).
///
/// Everything else is the router's, which can say what is wrong: NIO's upgrader, given a request that nobody accepts,
/// closes the connection without a reply.
package enum UpgradeRequest {
    package static func isAcceptable(_ head: HTTPRequestHead) -> Bool {
        let headers = head.headers
        guard head.method == .GET, head.version == .http1_1 else { return false }
        guard head.uri.prefix(while: { $0 != "?" }) == WireHandshake.path else { return false }
        guard !headers.contains(name: "Content-Length"),
            !headers.contains(name: "Transfer-Encoding")
        else { return false }
        let keys = headers["Sec-WebSocket-Key"]
        return headers["Upgrade"].map { $0.lowercased() } == ["websocket"]
            && headers[canonicalForm: "Connection"].contains { $0.lowercased() == "upgrade" }
            && headers["Sec-WebSocket-Version"] == ["13"]
            && keys.count == 1 && keys[0].utf8.count == 24
            && headers[canonicalForm: "Sec-WebSocket-Protocol"].contains {
                $0 == WireHandshake.subprotocol
            }
    }
}
