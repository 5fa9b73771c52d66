import Foundation
import RepriseTesting
import Synchronization
import Testing

/// Both ends of connections through a proxy: a listener behind it, and sockets in front of it.
///
/// Calls block for at most ten seconds: tests give them a thread.
final class Wire: Sendable {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// How reading ended.
    enum End: Equatable {
        case finished, reset, silent
    }

    let listener: Int32
    let proxy: FaultProxy

    init(_ plan: FaultProxy.Plan = .none) throws {
        let listener = try Self.socket()
        self.listener = listener
        var address = Self.address(0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && listen(listener, 64) == 0
                    && getsockname(listener, $0, &length) == 0
            }
        }
        guard isListening else { throw Failure(description: "listen: \(errno)") }
        Self.setTimeout(listener, .seconds(10))
        proxy = try FaultProxy(to: Int(UInt16(bigEndian: address.sin_port)), plan: plan)
    }

    deinit { close(listener) }

    /// A connection in front of the proxy.
    func dial() throws -> Peer {
        let socket = try Self.socket()
        var address = Self.address(proxy.port)
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        let peer = Peer(socket)
        guard result == 0 else { throw Failure(description: "connect: \(errno)") }
        return peer
    }

    /// The same connection behind it.
    func accept() throws -> Peer {
        let socket = acceptFrom(listener, nil, nil)
        guard socket >= 0 else { throw Failure(description: "accept: \(errno)") }
        return Peer(socket)
    }

    /// Both ends of one connection.
    func pair() throws -> (device: Peer, server: Peer) {
        let device = try dial()
        return (device, try accept())
    }

    private static func socket() throws -> Int32 {
        #if os(Linux)
            let descriptor = Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
            let descriptor = Foundation.socket(AF_INET, SOCK_STREAM, 0)
        #endif
        guard descriptor >= 0 else { throw Failure(description: "socket: \(errno)") }
        return descriptor
    }

    private static func address(_ port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        return address
    }

    static func setTimeout(_ socket: Int32, _ timeout: Duration) {
        let (seconds, attoseconds) = timeout.components
        var time = timeval()
        time.tv_sec = .init(seconds)
        time.tv_usec = .init(attoseconds / 1_000_000_000_000)
        setsockopt(
            socket, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    }

    /// One end.
    final class Peer: Sendable {
        private let socket: Int32

        fileprivate init(_ socket: Int32) {
            self.socket = socket
            Wire.setTimeout(socket, .seconds(10))
            #if !os(Linux)
                var on: Int32 = 1
                setsockopt(socket, SOL_SOCKET, SO_NOSIGPIPE, &on, socklen_t(4))
            #endif
        }

        deinit { close(socket) }

        func send(_ bytes: [UInt8]) throws {
            #if os(Linux)
                let flags = Int32(MSG_NOSIGNAL)
            #else
                let flags: Int32 = 0
            #endif
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes {
                    sendTo(socket, $0.baseAddress, $0.count, flags)
                }
                guard count > 0 else { throw Failure(description: "send: \(errno)") }
                rest = rest.dropFirst(count)
            }
        }

        func endSending() { shutdown(socket, Int32(SHUT_WR)) }

        /// So many bytes, or those that came before the end or before it was silent for too long.
        func receive(_ count: Int, within timeout: Duration = .seconds(10)) -> ([UInt8], End?) {
            Wire.setTimeout(socket, timeout)
            var bytes: [UInt8] = []
            while bytes.count < count {
                var buffer = [UInt8](repeating: 0, count: min(count - bytes.count, 65_536))
                let read = recv(socket, &buffer, buffer.count, 0)
                if read == 0 { return (bytes, .finished) }
                if read < 0 { return (bytes, errno == EAGAIN ? .silent : .reset) }
                bytes += buffer.prefix(read)
            }
            return (bytes, nil)
        }

        /// Everything until the end.
        func receiveAll(within timeout: Duration = .seconds(10)) -> ([UInt8], End) {
            let (bytes, end) = receive(.max, within: timeout)
            return (bytes, end ?? .silent)
        }

        /// How many bytes one read brings.
        func receiveOnce() -> Int {
            var buffer = [UInt8](repeating: 0, count: 65_536)
            return recv(socket, &buffer, buffer.count, 0)
        }
    }
}

/// Bytes that say where they stand.
func counting(_ count: Int, from start: Int = 0) -> [UInt8] {
    (start..<start + count).map { UInt8(truncatingIfNeeded: $0 ^ ($0 >> 8)) }
}

private func acceptFrom(
    _ socket: Int32, _ peer: UnsafeMutablePointer<sockaddr>?,
    _ length: UnsafeMutablePointer<socklen_t>?
) -> Int32 { accept(socket, peer, length) }
private func sendTo(_ socket: Int32, _ bytes: UnsafeRawPointer?, _ count: Int, _ flags: Int32)
    -> Int
{ send(socket, bytes, count, flags) }
