import Crypto
import Foundation
package import NIOHTTP1
import RepriseWire

/// Whether a request is a WebSocket handshake that the gateway accepts (RFC 6455 §4.2.1).
///
/// Others go to the router, which reports their fault.
package enum UpgradeRequest {
    /// Whether it is a handshake, apart from its key.
    package static func isHandshake(_ head: HTTPRequestHead) -> Bool {
        let headers = head.headers
        guard head.method == .GET, head.version == .http1_1 else { return false }
        guard head.uri.prefix(while: { $0 != "?" }) == WireHandshake.path else { return false }
        guard !headers.contains(name: "Content-Length"),
            !headers.contains(name: "Transfer-Encoding")
        else { return false }
        return headers["Upgrade"].map { $0.lowercased() } == ["websocket"]
            && asksToSwitch(head)
            && headers["Sec-WebSocket-Version"] == ["13"]
            && headers[canonicalForm: "Sec-WebSocket-Protocol"].contains {
                $0 == WireHandshake.subprotocol
            }
    }

    /// Whether the parser treats what follows the request as another protocol.
    package static func asksToSwitch(_ head: HTTPRequestHead) -> Bool {
        head.headers.contains(name: "Upgrade")
            && head.headers[canonicalForm: "Connection"].contains { $0.lowercased() == "upgrade" }
    }

    /// The key: base64 of 16 bytes; nil if it is missing or invalid.
    package static func key(of head: HTTPRequestHead) -> String? {
        let keys = head.headers["Sec-WebSocket-Key"]
        // Compared after encoding again: some texts decode that no encoder writes.
        guard keys.count == 1, let bytes = Data(base64Encoded: keys[0]), bytes.count == 16,
            bytes.base64EncodedString() == keys[0]
        else { return nil }
        return keys[0]
    }

    /// The headers of the answer that accepts a key (RFC 6455 §4.2.2).
    package static func acceptance(of key: String) -> HTTPHeaders {
        let hash = Insecure.SHA1.hash(data: Data((key + Self.suffix).utf8))
        return [
            "Upgrade": "websocket", "Connection": "Upgrade",
            "Sec-WebSocket-Accept": Data(hash).base64EncodedString(),
            "Sec-WebSocket-Protocol": WireHandshake.subprotocol,
        ]
    }

    private static let suffix = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
}
