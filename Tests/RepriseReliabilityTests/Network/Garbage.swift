import RepriseTesting
import RepriseWire

/// What no honest peer sends, drawn from a seed.
enum Garbage {
    /// What a client sends, and how.
    struct Script: Sendable {
        var bytes: [UInt8]
        var piece = 4_096
        var pause: Duration = .zero
        /// Ends its side behind the last byte.
        var hangsUp = false
    }

    static let upgrade = Array(
        """
        GET \(WireHandshake.path) HTTP/1.1\r
        Host: localhost\r
        Connection: Upgrade\r
        Upgrade: websocket\r
        Sec-WebSocket-Version: 13\r
        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r
        Sec-WebSocket-Protocol: \(WireHandshake.subprotocol)\r
        \r\n
        """.utf8)

    /// The first frame, of a device that no other one is.
    static func hello(_ random: inout SeededGenerator) -> [UInt8] {
        let device = UInt64.random(in: 0...UInt64.max, using: &random)
        return Array(
            #"{"type":"hello","version":1,"device":"garbage-\#(device)","client":"garbage"}"#.utf8)
    }

    static func client(_ random: inout SeededGenerator) -> Script {
        var bytes: [UInt8] = []
        switch Int.random(in: 0...5, using: &random) {
        case 0: bytes = noise(&random)  // before the upgrade
        case 1:
            bytes =
                upgrade.prefix(Int.random(in: 1..<upgrade.count, using: &random)) + noise(&random)
        case 2: bytes = upgrade + noise(&random)
        case 3: bytes = upgrade + frame(hello(&random)) + noise(&random)
        case 4: bytes = upgrade + frame(hello(&random)) + badFrame(&random)
        default:
            let whole = upgrade + frame(hello(&random)) + frame(json(&random))
            bytes = Array(whole.prefix(Int.random(in: upgrade.count...whole.count, using: &random)))
        }
        return Script(
            bytes: bytes, piece: [1, 3, 4_096][Int.random(in: 0...2, using: &random)],
            hangsUp: Bool.random(using: &random))
    }

    /// A whole frame of a client.
    static func frame(_ payload: [UInt8], opcode: UInt8 = 0x81) -> [UInt8] {
        let key: [UInt8] = [1, 2, 3, 4]
        return header(opcode, payload.count, isMasked: true) + key
            + payload.enumerated().map { $1 ^ key[$0 % 4] }
    }

    static func header(_ opcode: UInt8, _ length: Int, isMasked: Bool) -> [UInt8] {
        let mask: UInt8 = isMasked ? 0x80 : 0
        switch length {
        case ...125: return [opcode, mask | UInt8(length)]
        case ...0xffff: return [opcode, mask | 126, UInt8(length >> 8), UInt8(length & 0xff)]
        default:
            return [opcode, mask | 127]
                + (0..<8).reversed().map { UInt8(truncatingIfNeeded: length >> ($0 * 8)) }
        }
    }

    /// Frames that break one rule each.
    static func badFrame(_ random: inout SeededGenerator) -> [UInt8] {
        let opcodes: [UInt8] = [0x82, 0x80, 0x83, 0x8b, 0xc1, 0x91, 0x01, 0x09, 0x88, 0x8f]
        let opcode = opcodes[Int.random(in: 0..<opcodes.count, using: &random)]
        switch Int.random(in: 0...4, using: &random) {
        case 0: return frame(json(&random), opcode: opcode)
        case 1: return header(0x81, WireLimits.frameBytes + 1, isMasked: true) + noise(&random)
        case 2: return header(0x81, 1 << 62, isMasked: true) + noise(&random)
        case 3: return header(0x89, 200, isMasked: true) + noise(&random)
        default: return header(0x81, 5, isMasked: false) + noise(&random)
        }
    }

    /// JSON, nearly.
    static func json(_ random: inout SeededGenerator) -> [UInt8] {
        let texts = [
            "{", "[]", "null", #"{"type":1}"#, #"{"type":"publish"}"#, #"{"type":"hello"}"#,
            #"{"type":"subscribe","channels":[{"channelId":"general","coverage":[[5,1]]}]}"#,
            #"{"type":"subscribe","channels":[{"channelId":"../etc"}]}"#,
            #"{"type":"event","channelId":"general","seq":-1,"id":"x","timestamp":0,"body":1}"#,
            #"{"type":"heartbeat","timestamp":1e99,"heads":{"general":9007199254740991}}"#,
            #"{"type":"subscribed","channelId":"general","epoch":"","head":9,"floor":8}"#,
            #"{"type":"publish","channelId":"general","id":"\#u{0}","body":1}"#,
            String(repeating: "[", count: 5_000), #""\ud800""#,
        ]
        return Array(texts[Int.random(in: 0..<texts.count, using: &random)].utf8)
    }

    static func noise(_ random: inout SeededGenerator) -> [UInt8] {
        (0..<Int.random(in: 1...2_000, using: &random)).map { _ in
            UInt8.random(in: .min ... .max, using: &random)
        }
    }
}
