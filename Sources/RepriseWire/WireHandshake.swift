/// The path and the subprotocol of a client's connection: `docs/protocol.md`, "Transport".
public enum WireHandshake {
    /// The path of the WebSocket endpoint.
    public static let path = "/v1/connect"
    /// The subprotocol that a client must offer and the server must choose (RFC 6455 §1.9).
    public static let subprotocol = "reprise.v1"
}
