import Foundation
import Testing

/// A TCP connection to a server on this machine that sends what no client would, and never blocks.
final class PlainConnection: Sendable {
    let descriptor: Int32

    init(port: Int) throws {
        #if canImport(Glibc)
            descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
            descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        try #require(result == 0, "connect: errno \(errno)")
    }

    deinit { close(descriptor) }

    /// Sends, waiting for room for as long as `limit`.
    ///
    /// - Returns: how much the system has taken.
    @discardableResult
    func send(_ bytes: [UInt8], within limit: Duration = .seconds(5)) async throws -> Int {
        var sent = 0
        let deadline = ContinuousClock.now + limit
        while sent < bytes.count, ContinuousClock.now < deadline {
            let count = bytes[sent...].withUnsafeBytes {
                Foundation.send(
                    descriptor, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT) | noSignal)
            }
            if count > 0 {
                sent += count
            } else if errno == EAGAIN {
                try await Task.sleep(for: .milliseconds(2))
            } else {
                break
            }
        }
        return sent
    }

    func send(_ text: String) async throws { try await send(Array(text.utf8)) }

    /// What comes until it contains `end`, or the peer has ended the connection.
    func receive(until end: String, within limit: Duration = .seconds(10)) async throws -> String {
        var all: [UInt8] = []
        let deadline = ContinuousClock.now + limit
        while ContinuousClock.now < deadline {
            var buffer = [UInt8](repeating: 0, count: 262_144)
            let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            if count > 0 {
                all += buffer[..<count]
                if String(decoding: all.suffix(count + 64), as: UTF8.self).contains(end) { break }
            } else if count < 0, errno == EAGAIN {
                try await Task.sleep(for: .milliseconds(2))
            } else {
                break
            }
        }
        return String(decoding: all, as: UTF8.self)
    }

    /// A masked text frame.
    static func frame(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        let length =
            bytes.count < 126
            ? [0x80 | UInt8(bytes.count)]
            : [0xfe, UInt8(bytes.count >> 8), UInt8(bytes.count & 0xff)]
        return [0x81] + length + [0, 0, 0, 0] + bytes
    }

    static let handshake =
        "GET /v1/connect HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\n"
        + "Upgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: reprise.v1\r\n\r\n"
}

#if os(Linux)
    private let noSignal = Int32(MSG_NOSIGNAL)
#else
    private let noSignal: Int32 = 0
#endif
