import Foundation

/// The few socket calls of the proxy, the same on Linux and on Apple systems; none blocks.
struct TCPSocket: Sendable {
    /// The result of a read or a write.
    enum Outcome: Equatable {
        case bytes(Int)
        /// Try later.
        case wait
        /// The peer has ended its side.
        case end
        case failed
    }

    #if canImport(Darwin)
        private static let sendFlags = Int32(MSG_DONTWAIT)
    #else
        private static let sendFlags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)
    #endif

    let descriptor: Int32

    static func listen() throws(FaultProxy.StartFailure) -> TCPSocket {
        let socket = try make()
        guard socket.withAddress(port: 0, { bindSocket(socket.descriptor, $0, $1) }) == 0,
            listenOn(socket.descriptor, 256) == 0
        else {
            socket.close()
            throw failure("listen")
        }
        return socket
    }

    /// Starts to connect; the socket is writable when that is done.
    static func connect(to port: Int) -> TCPSocket? {
        guard let socket = try? make() else { return nil }
        let result = socket.withAddress(port: port) { connectSocket(socket.descriptor, $0, $1) }
        guard result == 0 || errno == EINPROGRESS else {
            socket.close()
            return nil
        }
        return socket
    }

    private static func make() throws(FaultProxy.StartFailure) -> TCPSocket {
        #if canImport(Darwin)
            let descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #else
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #endif
        guard descriptor >= 0 else { throw failure("socket") }
        return TCPSocket(descriptor: descriptor).tuned()
    }

    private static func failure(_ call: String) -> FaultProxy.StartFailure {
        .init(description: "\(call): \(String(cString: strerror(errno)))")
    }

    /// A child process of a test must not inherit it, and small writes leave one by one.
    private func tuned() -> TCPSocket {
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        set(Int32(IPPROTO_TCP), TCP_NODELAY, Int32(1))
        // Otherwise the kernel would take megabytes from a sender although the other end does not
        // read.
        set(SOL_SOCKET, SO_RCVBUF, Int32(FaultyStream.bound))
        set(SOL_SOCKET, SO_SNDBUF, Int32(FaultyStream.bound))
        #if canImport(Darwin)
            set(SOL_SOCKET, SO_NOSIGPIPE, Int32(1))
        #endif
        return self
    }

    func accept() -> TCPSocket? {
        let peer = acceptFrom(descriptor, nil, nil)
        return peer < 0 ? nil : TCPSocket(descriptor: peer).tuned()
    }

    var localPort: Int {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = getsockname(descriptor, $0, &length)
            }
        }
        return Int(UInt16(bigEndian: address.sin_port))
    }

    /// Whether a started connection succeeded; false if it failed.
    var isConnected: Bool {
        var error: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Outcome {
        let count = recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
        return count == 0 ? .end : Self.outcome(count)
    }

    func write(_ bytes: ArraySlice<UInt8>) -> Outcome {
        Self.outcome(
            bytes.withUnsafeBytes {
                sendTo(descriptor, $0.baseAddress, $0.count, Self.sendFlags)
            })
    }

    private static func outcome(_ count: Int) -> Outcome {
        if count >= 0 { return .bytes(count) }
        return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? .wait : .failed
    }

    /// FIN.
    func finish() { shutdown(descriptor, Int32(SHUT_WR)) }

    func close() { closeDescriptor(descriptor) }

    /// RST.
    func reset() {
        set(SOL_SOCKET, SO_LINGER, linger(l_onoff: 1, l_linger: 0))
        close()
    }

    private func set<Value: BitwiseCopyable>(_ level: Int32, _ option: Int32, _ value: Value) {
        var value = value
        setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Value>.size))
    }

    private func withAddress(
        port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(truncatingIfNeeded: port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}

// The C functions, which methods of the same names would hide.
private func bindSocket(_ socket: Int32, _ to: UnsafePointer<sockaddr>, _ length: socklen_t)
    -> Int32
{ bind(socket, to, length) }
private func listenOn(_ socket: Int32, _ backlog: Int32) -> Int32 { listen(socket, backlog) }
private func connectSocket(_ socket: Int32, _ to: UnsafePointer<sockaddr>, _ length: socklen_t)
    -> Int32
{ connect(socket, to, length) }
private func acceptFrom(
    _ socket: Int32, _ peer: UnsafeMutablePointer<sockaddr>?,
    _ length: UnsafeMutablePointer<socklen_t>?
) -> Int32 { accept(socket, peer, length) }
private func sendTo(_ socket: Int32, _ bytes: UnsafeRawPointer?, _ count: Int, _ flags: Int32)
    -> Int
{ send(socket, bytes, count, flags) }
private func closeDescriptor(_ descriptor: Int32) { close(descriptor) }
