import Crypto
import Foundation
import RepriseTestSupport
import RepriseWire

extension OddServer {
    /// Upgrades to a WebSocket, sends these texts of less than 126 bytes, and may hang up.
    static func webSocket(_ texts: String..., hangsUp: Bool = false) -> Script {
        { request, answer in
            // RFC 6455 §4.2.2
            let key =
                (request.headers["sec-websocket-key"] ?? "")
                + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
            let hash = Data(Insecure.SHA1.hash(data: Data(key.utf8)))
            try await answer.write(
                """
                HTTP/1.1 101 Switching Protocols\r
                Connection: Upgrade\r
                Upgrade: websocket\r
                Sec-WebSocket-Accept: \(hash.base64EncodedString())\r
                Sec-WebSocket-Protocol: \(WireHandshake.subprotocol)\r
                \r\n
                """)
            for text in texts {
                let frame: [UInt8] = [0x81, UInt8(text.utf8.count)] + Array(text.utf8)
                try await answer.write(frame)
            }
            if !hangsUp { try await answer.hold() }
        }
    }
}
