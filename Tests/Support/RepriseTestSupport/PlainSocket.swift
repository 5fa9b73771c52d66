import Foundation

/// A plain TCP socket, so that tests can send what no client library would.
///
/// It never blocks a thread: the server under test runs on the same few threads.
package final class PlainSocket: Sendable {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String

        package init(description: String) { self.description = description }
    }

    #if os(Linux)
        private static let sendFlags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)
    #else
        private static let sendFlags = Int32(MSG_DONTWAIT)
    #endif

    package let descriptor: Int32

    /// Connects; a small `receiveBuffer` (the kernel's, in bytes) soon makes a slow reader.
    ///
    /// `source` is the address to come from.
    package init(port: Int, receiveBuffer: Int32? = nil, from source: String? = nil) throws {
        #if os(Linux)
            descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
            descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        if var size = receiveBuffer {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(4))
        }
        if let source {
            let result = Self.with(source, 0) { bind(descriptor, $0, $1) }
            guard result == 0 else { throw Failure(description: "bind: errno \(errno)") }
        }
        let result = Self.with("127.0.0.1", port) { connect(descriptor, $0, $1) }
        guard result == 0 else { throw Failure(description: "connect: errno \(errno)") }
    }

    private static func with(
        _ host: String, _ port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr(host)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    deinit { close(descriptor) }

    package func send(_ text: String) async throws { try await send(Array(text.utf8)) }

    package func send(_ bytes: [UInt8]) async throws {
        var rest = bytes[...]
        let deadline = ContinuousClock.now + .seconds(50)
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                sendBytes(descriptor, $0.baseAddress, $0.count, Self.sendFlags)
            }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                try await pause(until: deadline, "sending")
            } else {
                throw Failure(description: "send: errno \(errno)")
            }
        }
    }

    /// What has come, waiting for at least a byte.
    ///
    /// - Returns: nil when the peer has ended the connection, by a reset too.
    package func receive(within limit: Duration = .seconds(50)) async throws -> [UInt8]? {
        let deadline = ContinuousClock.now + limit
        while true {
            let (count, bytes) = receiveNow()
            if count > 0 { return bytes }
            if count == 0 || (errno != EAGAIN && errno != EINTR) { return nil }
            try await pause(until: deadline, "receiving")
        }
    }

    /// Everything until the peer ends the connection.
    package func receiveAll(within limit: Duration = .seconds(50)) async throws -> [UInt8] {
        var all: [UInt8] = []
        while let bytes = try await receive(within: limit) { all += bytes }
        return all
    }

    /// What comes until `end` has come.
    package func receive(until end: String, within limit: Duration = .seconds(50)) async throws
        -> String
    {
        var text = ""
        while !text.contains(end), let bytes = try await receive(within: limit) {
            text += String(decoding: bytes, as: UTF8.self)
        }
        return text
    }

    package func endSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    private func receiveNow() -> (Int, [UInt8]) {
        var count = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: 262_144) { buffer, used in
            count = recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
            used = max(0, count)
        }
        return (count, bytes)
    }

    private func pause(until deadline: ContinuousClock.Instant, _ what: String) async throws {
        guard ContinuousClock.now < deadline else {
            throw Failure(description: "\(what) took too long")
        }
        try await Task.sleep(for: .milliseconds(1))
    }
}

/// The C function, which a method of the same name would hide.
private func sendBytes(_ socket: Int32, _ bytes: UnsafeRawPointer?, _ count: Int, _ flags: Int32)
    -> Int
{
    send(socket, bytes, count, flags)
}
