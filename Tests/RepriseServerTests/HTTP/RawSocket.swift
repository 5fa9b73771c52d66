import Foundation
import Testing

/// A TCP connection whose bytes a test writes itself.
struct RawSocket: Sendable {
    private let file: Int32

    /// Connects and runs `body` on a thread of its own, because it blocks.
    static func talk<Value: Sendable>(
        to port: Int?, _ body: @escaping @Sendable (RawSocket) throws -> Value
    ) async throws -> Value {
        let port = try #require(port)
        return try await blocking {
            let socket = try RawSocket(port: port)
            defer { socket.close() }
            return try body(socket)
        }
    }

    init(port: Int) throws {
        #if canImport(Glibc)
            file = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
            file = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port).bigEndian)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(file, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        try #require(status == 0)
        var time = timeval(tv_sec: 10, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        setsockopt(file, SOL_SOCKET, SO_RCVTIMEO, &time, size)
        setsockopt(file, SOL_SOCKET, SO_SNDTIMEO, &time, size)
    }

    /// - Returns: whether all of it was taken.
    @discardableResult
    func send(_ text: String) -> Bool {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            #if canImport(Glibc)
                let flags = Int32(MSG_NOSIGNAL)
            #else
                let flags: Int32 = 0
            #endif
            let count = rest.withUnsafeBytes {
                Foundation.send(file, $0.baseAddress, $0.count, flags)
            }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// Says that nothing more will be sent.
    func finishSending() { shutdown(file, Int32(SHUT_WR)) }

    /// What comes next.
    func read() -> String {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(file, &buffer, buffer.count, 0)
        return String(decoding: buffer.prefix(max(count, 0)), as: UTF8.self)
    }

    /// Everything until the peer closes, or 10 s.
    func readToEnd() -> String {
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(file, &buffer, buffer.count, 0)
            guard count > 0 else { return String(decoding: all, as: UTF8.self) }
            all += buffer.prefix(count)
        }
    }

    func close() { _ = Foundation.close(file) }
}
