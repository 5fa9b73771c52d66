import Foundation
import Logging
import NIOCore
import RepriseCore
import Synchronization

/// The plain HTTP connections of a server: their number, origins and unsent bytes.
///
/// A WebSocket leaves it with its `welcome`: until then it may be anybody's.
final class HTTPConnections: Sendable {
    struct Bounds: Hashable, Sendable {
        /// The most connections in all, and from one address.
        var all: Int
        var perAddress: Int
        /// The most unsent bytes over all connections.
        var unsentBytes: Int
        /// A connection with fewer unsent bytes is ignored.
        let quietBytes = 65_536

        /// Of the process's open files half are left for WebSockets and the log, and one address
        /// gets at most a quarter of the other half.
        init(_ limits: ServerLimits, descriptors: Int?) {
            let descriptors = descriptors ?? .max
            all = min(limits.httpConnections, max(16, descriptors / 2))
            perAddress = min(limits.httpConnectionsPerAddress, max(8, descriptors / 8))
            unsentBytes = limits.httpUnsentBytes
        }
    }

    /// A connection's place in the counts.
    struct Seat: Hashable, Sendable {
        fileprivate let origin: Origin
    }

    /// One client network: an IPv4 address, or a /64 of IPv6.
    fileprivate enum Origin: Hashable, Sendable {
        case v4(UInt32)
        case v6([UInt8])
        case unknown
    }

    private struct Waiting {
        let turn: UInt64
        let channel: any Channel
        var bytes: Int
    }

    private struct State {
        var count = 0
        var perOrigin: [Origin: Int] = [:]
        var waiting: [ObjectIdentifier: Waiting] = [:]
        var waitingBytes = 0
        var lastTurn: UInt64 = 0
        var open: [ObjectIdentifier: any Channel] = [:]
    }

    let bounds: Bounds
    private let state = Mutex(State())
    private let warning: ThrottledWarning

    init(_ bounds: Bounds, warning: ThrottledWarning) {
        self.bounds = bounds
        self.warning = warning
    }

    /// - Returns: nil at the limit.
    func take(for address: SocketAddress?) -> Seat? {
        let origin = Self.origin(address)
        let isWelcome = state.withLock { state in
            let isWelcome =
                state.count < bounds.all && state.perOrigin[origin, default: 0] < bounds.perAddress
            guard isWelcome else { return false }
            state.count += 1
            state.perOrigin[origin, default: 0] += 1
            return true
        }
        guard isWelcome else {
            warning.warn(
                "too many HTTP connections: one more was closed; behind a proxy raise connectionsPerAddress",
                ["address": "\(address?.ipAddress ?? "?")"])
            return nil
        }
        return Seat(origin: origin)
    }

    func giveBack(_ seat: Seat) {
        state.withLock { state in
            state.count -= 1
            guard let count = state.perOrigin[seat.origin] else { return }
            state.perOrigin[seat.origin] = count > 1 ? count - 1 : nil
        }
    }

    /// The number of connections.
    var count: Int { state.withLock(\.count) }

    /// A connection has this many unsent bytes.
    ///
    /// Beyond the limit of all connections the one that has waited longest is closed.
    func isWaiting(_ channel: any Channel, _ bytes: Int) {
        let key = ObjectIdentifier(channel)
        let ended = state.withLock { state in
            state.waitingBytes += bytes - (state.waiting[key]?.bytes ?? 0)
            if bytes == 0 {
                state.waiting[key] = nil
            } else if state.waiting[key] != nil {
                state.waiting[key]?.bytes = bytes
            } else {
                state.lastTurn += 1
                state.waiting[key] = Waiting(turn: state.lastTurn, channel: channel, bytes: bytes)
            }
            var ended: [any Channel] = []
            while state.waitingBytes > bounds.unsentBytes,
                let (key, oldest) = state.waiting.min(by: { $0.value.turn < $1.value.turn })
            {
                state.waiting[key] = nil
                state.waitingBytes -= oldest.bytes
                ended.append(oldest.channel)
            }
            return ended
        }
        guard !ended.isEmpty else { return }
        warning.warn(
            "too many bytes wait for HTTP clients: those that waited longest were closed",
            ["connections": "\(ended.count)"])
        for channel in ended { channel.close(promise: nil) }
    }

    // MARK: Shutdown

    /// - Returns: removes the connection.
    func add(_ connection: any Channel) -> @Sendable () -> Void {
        let key = ObjectIdentifier(connection)
        state.withLock { $0.open[key] = connection }
        return { self.state.withLock { $0.open[key] = nil } }
    }

    func cutAll() {
        for connection in state.withLock({ Array($0.open.values) }) {
            connection.close(promise: nil)
        }
    }

    private static func origin(_ address: SocketAddress?) -> Origin {
        switch address {
        case .v4(let address): .v4(address.address.sin_addr.s_addr)
        case .v6(let address):
            origin(v6: withUnsafeBytes(of: address.address.sin6_addr) { Array($0) })
        case .unixDomainSocket, nil: .unknown
        }
    }

    /// A listener of both families sees IPv4 clients as `::ffff:a.b.c.d` (RFC 4291 §2.5.5.2), all
    /// in one /64.
    private static func origin(v6 bytes: [UInt8]) -> Origin {
        guard bytes.starts(with: Self.mapped) else { return .v6(Array(bytes.prefix(8))) }
        return .v4(bytes[12..<16].withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) })
    }

    /// The first bytes of an IPv4 address that is mapped into IPv6.
    private static let mapped = [UInt8](repeating: 0, count: 10) + [0xff, 0xff]
}
