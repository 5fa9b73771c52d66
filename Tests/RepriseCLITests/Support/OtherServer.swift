import Foundation
import Testing

/// Something that listens, and is not Reprise: it reads once, says one thing to everybody and hangs
/// up.
final class OtherServer: Sendable {
    let url: String
    private let descriptor: Int32

    init(answering answer: String) throws {
        let (descriptor, port) = try listening()
        self.descriptor = descriptor
        url = "http://127.0.0.1:\(port)"
        Thread.detachNewThread {
            while true {
                let peer = accept(descriptor, nil, nil)
                if peer < 0 { return }
                var request = [UInt8](repeating: 0, count: 4_096)
                _ = read(peer, &request, request.count)
                _ = answer.withCString { write(peer, $0, strlen($0)) }
                close(peer)
            }
        }
    }

    deinit {
        shutdown(descriptor, Int32(SHUT_RDWR))
        close(descriptor)
    }
}

/// A socket that listens on a free port.
private func listening() throws -> (descriptor: Int32, port: Int) {
    #if canImport(Glibc)
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #else
        let descriptor = socket(AF_INET, SOCK_STREAM, 0)
    #endif
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            bind(descriptor, $0, length) == 0 && listen(descriptor, 16) == 0
                && getsockname(descriptor, $0, &length) == 0
        }
    }
    try #require(isListening)
    return (descriptor, Int(UInt16(bigEndian: address.sin_port)))
}
