import RepriseCore
import RepriseTestSupport
import RepriseWire

/// A WebSocket client on a ``PlainSocket``, able to break every rule.
final class TestClient {
    enum Incoming: Equatable {
        case frame(ServerFrame)
        case ping([UInt8])
        case pong([UInt8])
        case close(UInt16)
        case ended
    }

    static func handshake(
        path: String = "/v1/connect", protocol name: String? = "reprise.v1",
        version: String = "13", upgrade: String = "websocket"
    ) -> String {
        let offered = name.map { "Sec-WebSocket-Protocol: \($0)\r\n" } ?? ""
        return "GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive, Upgrade\r\n"
            + "Upgrade: \(upgrade)\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
            + "Sec-WebSocket-Version: \(version)\r\n\(offered)\r\n"
    }

    let socket: PlainSocket
    private(set) var response = ""
    private var bytes: [UInt8] = []
    private var start = 0
    private var decoder = FrameDecoder()

    init(socket: PlainSocket) { self.socket = socket }

    /// Connects, and says hello unless told not to.
    static func connect(
        port: Int, hello: Bool = true, device: EntryID = .random(), receiveBuffer: Int32? = nil
    ) async throws -> TestClient {
        let client = TestClient(
            socket: try PlainSocket(port: port, receiveBuffer: receiveBuffer))
        try await client.socket.send(handshake())
        try await client.readResponse()
        guard client.response.hasPrefix("HTTP/1.1 101") else {
            throw PlainSocket.Failure(description: client.response)
        }
        guard hello else { return client }
        try await client.send(.hello(.init(device: device, client: "test")))
        guard case .frame(.welcome) = try await client.next() else {
            throw PlainSocket.Failure(description: "no welcome")
        }
        return client
    }

    func readResponse() async throws {
        let end = Array("\r\n\r\n".utf8)
        while true {
            if let at = bytes.indices.first(where: { bytes[$0...].starts(with: end) }) {
                response = String(decoding: bytes[..<at], as: UTF8.self)
                bytes.removeFirst(at + 4)
                return
            }
            guard let more = try await socket.receive() else { return }
            bytes += more
        }
    }

    /// What comes until the peer closes, as text.
    func readToEnd() async throws -> String {
        while let more = try await socket.receive() { bytes += more }
        return String(decoding: bytes[start...], as: UTF8.self)
    }

    // MARK: Sending

    func send(_ frame: ClientFrame) async throws { try await send(text: frame.encoded()) }

    func send(_ frames: [ClientFrame]) async throws {
        try await socket.send(frames.flatMap { Self.frame(0x81, $0.encoded()) })
    }

    func send(text: [UInt8]) async throws { try await socket.send(Self.frame(0x81, text)) }

    func send(text: String) async throws { try await send(text: Array(text.utf8)) }

    /// A frame, masked unless told not to.
    static func frame(_ first: UInt8, _ payload: [UInt8], isMasked: Bool = true) -> [UInt8] {
        let mask: [UInt8] = [0x11, 0xa2, 0x33, 0xf4]
        let bit: UInt8 = isMasked ? 0x80 : 0
        var bytes = [first]
        switch payload.count {
        case ...125: bytes.append(bit | UInt8(payload.count))
        case ...65_535:
            bytes += [bit | 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xff)]
        default:
            bytes.append(bit | 127)
            bytes += (0..<8).reversed().map { UInt8(truncatingIfNeeded: payload.count >> ($0 * 8)) }
        }
        guard isMasked else { return bytes + payload }
        return bytes + mask + payload.enumerated().map { $1 ^ mask[$0 % 4] }
    }

    // MARK: Receiving

    func next(within limit: Duration = .seconds(50)) async throws -> Incoming {
        while true {
            if let incoming = try parse() { return incoming }
            guard let more = try await socket.receive(within: limit) else { return .ended }
            if start > 1 << 20 {
                bytes.removeFirst(start)
                start = 0
            }
            bytes += more
        }
    }

    /// The next frame that is none of WebSocket's own.
    func nextFrame(within limit: Duration = .seconds(50)) async throws -> ServerFrame {
        while true {
            switch try await next(within: limit) {
            case .frame(let frame): return frame
            case .ping, .pong: continue
            case .close(let code): throw PlainSocket.Failure(description: "closed with \(code)")
            case .ended: throw PlainSocket.Failure(description: "ended")
            }
        }
    }

    /// The `error` frame, the close code and the end; what came before is skipped.
    ///
    /// A close frame is answered on demand; else the server ends the connection a second later.
    func ending(within limit: Duration = .seconds(50), answersClose: Bool = false) async throws -> (
        CloseCode?, UInt16?
    ) {
        var told: CloseCode?
        var code: UInt16?
        while true {
            switch try await next(within: limit) {
            case .frame(.error(let announced, _)): told = announced
            case .close(let number):
                code = number
                // The server may have ended the connection already.
                if answersClose { try? await socket.send(Self.frame(0x88, [])) }
            case .ended: return (told, code)
            case .frame, .ping, .pong: continue
            }
        }
    }

    private func parse() throws -> Incoming? {
        let available = bytes.count - start
        guard available >= 2 else { return nil }
        var header = 2
        var length = Int(bytes[start + 1])
        guard length < 128 else { throw PlainSocket.Failure(description: "a masked frame") }
        if length >= 126 {
            let wide = length == 126 ? 2 : 8
            header += wide
            guard available >= header else { return nil }
            length = bytes[start + 2..<start + header].reduce(0) { $0 << 8 | Int($1) }
        }
        guard available >= header + length else { return nil }
        let payload = Array(bytes[start + header..<start + header + length])
        let opcode = bytes[start]
        start += header + length
        switch opcode {
        case 0x81:
            guard let frame = try decoder.serverFrame(payload) else {
                throw PlainSocket.Failure(description: "an unknown frame")
            }
            return .frame(frame)
        case 0x88: return .close(payload.prefix(2).reduce(0) { $0 << 8 | UInt16($1) })
        case 0x89: return .ping(payload)
        case 0x8a: return .pong(payload)
        default: throw PlainSocket.Failure(description: "opcode \(opcode)")
        }
    }
}
