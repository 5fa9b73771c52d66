import NIOCore
import NIOHTTP1
import NIOWebSocket
import RepriseCore

/// The upgrade request, and the check of its answer.
struct HandshakeRequest: Sendable {
    let endpoint: Endpoint
    private let subprotocol: String
    private let key = NIOWebSocketClientUpgrader.randomRequestKey()

    init(endpoint: Endpoint, subprotocol: String) {
        self.endpoint = endpoint
        self.subprotocol = subprotocol
    }

    /// The request as it goes over the wire.
    var text: String {
        """
        GET \(endpoint.target) HTTP/1.1\r
        Host: \(endpoint.authority)\r
        Connection: Upgrade\r
        Upgrade: websocket\r
        Sec-WebSocket-Version: 13\r
        Sec-WebSocket-Key: \(key)\r
        \(subprotocol.isEmpty ? "" : "Sec-WebSocket-Protocol: \(subprotocol)\r\n")\r\n
        """
    }

    /// Checks that the answer follows RFC 6455 §4.1.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.notReprise`, `.unavailable`.
    func check(_ response: HandshakeResponse) throws {
        switch response.status {
        case 101: break
        case 429, 502, 503, 504:
            throw RepriseError(
                .unavailable, "The server at \(endpoint) cannot take us now (\(response.status)).",
                remedy: "Try again later.")
        default: throw notReprise("it answered \(response.status) instead of upgrading")
        }
        let fields = response.fields
        guard fields[canonicalForm: "Upgrade"].contains(where: { $0.lowercased() == "websocket" }),
            fields[canonicalForm: "Connection"].contains(where: { $0.lowercased() == "upgrade" }),
            isAccepted(fields)
        else { throw notReprise("its answer is not that of a WebSocket server") }
        // A request without a subprotocol must get none (RFC 6455 §4.1, 6).
        guard fields["Sec-WebSocket-Protocol"] == (subprotocol.isEmpty ? [] : [subprotocol]) else {
            throw notReprise(
                subprotocol.isEmpty
                    ? "it speaks a subprotocol that nobody asked for"
                    : "it does not speak \(subprotocol)")
        }
        // An extension that was not requested would change the meaning of frames.
        guard fields["Sec-WebSocket-Extensions"].isEmpty else {
            throw notReprise("it uses an extension that nobody asked for")
        }
    }

    /// The error for the caller of `dial`.
    func failure(_ error: any Error) -> any Error {
        error is HandshakeResponse.Malformed
            ? notReprise("what it sends is not HTTP") : error
    }

    /// The computation of the key, which NIO has inside its upgrader.
    private func isAccepted(_ fields: HTTPHeaders) -> Bool {
        let upgrader = NIOWebSocketClientUpgrader(requestKey: key) { channel, _ in
            channel.eventLoop.makeSucceededVoidFuture()
        }
        return upgrader.shouldAllowUpgrade(
            upgradeResponse: HTTPResponseHead(
                version: .http1_1, status: .switchingProtocols, headers: fields))
    }

    private func notReprise(_ why: String) -> RepriseError {
        RepriseError(
            .notReprise, "What answers at \(endpoint) is not a Reprise server: \(why).",
            remedy: "Check host and port.")
    }
}
