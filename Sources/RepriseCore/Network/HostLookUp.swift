import Foundation
import Synchronization

/// Resolves the addresses of a name through the system.
package enum HostLookUp {
    /// A look-up blocks a thread, so only so many run at a time; the others wait.
    private static let queue: OperationQueue = {
        let queue = OperationQueue()
        queue.name = "reprise.look-up"
        queue.maxConcurrentOperationCount = 16
        return queue
    }()

    /// A look-up cannot be cancelled: at the timeout the caller is cancelled and abandons it.
    ///
    /// - Returns: addresses as numbers, in the system's order.
    /// - Throws: ``RepriseCore/RepriseError`` `.unreachable`; `CancellationError`.
    package static func addresses(of host: String) async throws -> [String] {
        let waiting = Mutex<CheckedContinuation<[String], any Error>?>(nil)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                waiting.withLock { $0 = continuation }
                if Task.isCancelled { resume(waiting, .failure(CancellationError())) }
                queue.addOperation {
                    // A caller that has stopped waiting needs no answer.
                    guard waiting.withLock({ $0 != nil }) else { return }
                    resume(waiting, Result { try look(host) })
                }
            }
        } onCancel: {
            resume(waiting, .failure(CancellationError()))
        }
    }

    private static func resume(
        _ waiting: borrowing Mutex<CheckedContinuation<[String], any Error>?>,
        _ result: Result<[String], any Error>
    ) {
        let continuation = waiting.withLock { waiting in
            defer { waiting = nil }
            return waiting
        }
        continuation?.resume(with: result)
    }

    private static func look(_ host: String) throws -> [String] {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        #if canImport(Darwin)
            hints.ai_socktype = SOCK_STREAM
        #else
            hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        #endif
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, nil, &hints, &list)
        guard code == 0 else {
            throw RepriseError(
                .unreachable, "\(host) has no address: \(String(cString: gai_strerror(code))).",
                remedy: "Check the name and the network.")
        }
        defer { freeaddrinfo(list) }
        var found: [String] = []
        var next = list
        while let entry = next?.pointee {
            var text = [CChar](repeating: 0, count: 1_025)
            if getnameinfo(
                entry.ai_addr, entry.ai_addrlen, &text, socklen_t(text.count), nil, 0,
                NI_NUMERICHOST) == 0
            {
                // A zone (fe80::1%eth0) is not part of the address.
                let bytes = text.prefix { $0 != 0 && $0 != 0x25 }.map { UInt8(bitPattern: $0) }
                found.append(String(decoding: bytes, as: UTF8.self))
            }
            next = entry.ai_next
        }
        return found
    }
}
