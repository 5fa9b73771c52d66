import Foundation
import RepriseCore

/// A TCP proxy that treats connections as bad networks do: for tests of your own app against a real
/// server.
///
/// ```swift
/// let proxy = try FaultProxy(to: server.port, plan: .init(seed: 7))
/// configuration.server = proxy.url
/// // … publish and read while connections are delayed, split, truncated, cut, left half open …
/// await proxy.heal()
/// try await general.caughtUp()
/// #expect(proxy.report[.truncated] > 0)  // the fault did occur
/// ```
///
/// It listens on a free port of the loopback and forwards to another. Faults come from a ``Plan``,
/// by the number of a connection and the count of its bytes, and by hand: ``cut(_:)``,
/// ``halfOpen(_:)``, ``hold()`` and the others. It knows no protocol, keeps at most 64 KiB of a
/// connection in each direction, and is one thread with plain sockets.
///
/// The same in every run of a seed: which connection has which faults, behind which of its bytes.
/// Not the same: how the kernel splits the bytes into reads, when threads run, how many bytes on
/// their way a reset drops, and so how many connections are made and which bytes go through which.
public final class FaultProxy: Sendable {
    /// Why it could not be started.
    public struct StartFailure: Error, CustomStringConvertible {
        /// The system's error.
        public let description: String
    }

    /// How a connection is ended.
    public enum Ending: Hashable, Sendable, CaseIterable {
        /// At once, with RST to both sides: bytes on their way may be lost.
        case reset
        /// With FIN to both sides, behind the received bytes.
        case finish
    }

    /// The port on 127.0.0.1.
    public let port: Int
    private let mailbox: ProxyMailbox
    private let tally = ProxyTally()

    /// Starts a proxy.
    ///
    /// - Parameters:
    ///   - server: the port to forward to, on 127.0.0.1; it need not be open yet.
    ///   - plan: the faults of connections.
    /// - Throws: ``StartFailure``.
    public init(to server: Int, plan: Plan = .none) throws {
        let listener = try TCPSocket.listen()
        port = listener.localPort
        mailbox = try ProxyMailbox()
        Thread.detachNewThread { [mailbox, tally] in
            ProxyLoop(
                listener: listener, server: server, plan: plan, mailbox: mailbox, tally: tally
            ).run()
        }
    }

    deinit { mailbox.stop() }

    /// The address for clients.
    public var url: String { "http://127.0.0.1:\(port)" }

    /// Its counters until now.
    public var report: Report { tally.report }

    // MARK: Manual faults of the open connections

    /// Ends the open connections.
    ///
    /// - Parameter ending: the kind of end.
    public func cut(_ ending: Ending = .reset) async {
        await perform { $0.cut(ending) }
    }

    /// Forwards nothing more on the open connections, and ends none: the state after a device's
    /// sleep.
    ///
    /// It is irreversible; such a connection stays silent until ``cut(_:)`` or ``stop()``.
    ///
    /// - Parameter directions: the silent directions.
    public func halfOpen(_ directions: Set<Direction> = Set(Direction.allCases)) async {
        await perform { $0.halfOpen(directions) }
    }

    /// Holds the bytes of the open connections until ``release()``; connections made later overtake
    /// them.
    public func hold() async { await perform { $0.hold() } }

    /// Releases held bytes, even if the sender has closed meanwhile.
    public func release() async { await perform { $0.release() } }

    /// Drops the next bytes from the middle of each open connection: no real network does this.
    ///
    /// It shows that a test can fail.
    ///
    /// - Parameters:
    ///   - bytes: how many.
    ///   - direction: their direction.
    public func lose(_ bytes: Int, _ direction: Direction) async {
        await perform { $0.lose(bytes, direction) }
    }

    // MARK: Manual faults of all connections from now on

    /// Delays all bytes by so much, in both directions.
    ///
    /// A delay longer than the time to send 64 KiB also throttles.
    ///
    /// - Parameter delay: zero for none.
    public func delay(_ delay: Duration) async { await perform { $0.delay(delay) } }

    /// Forwards at most so many bytes a second on a connection, in each direction.
    ///
    /// - Parameter bytesPerSecond: nil for no limit.
    public func throttle(bytesPerSecond: Int?) async {
        await perform { $0.throttle(bytesPerSecond) }
    }

    /// Refuses new connections, with RST, or accepts them again.
    ///
    /// - Parameter isRefusing: whether to refuse.
    public func refuse(_ isRefusing: Bool = true) async { await perform { $0.refuse(isRefusing) } }

    /// Ends all faults: new connections have none, open ones lose their planned faults, and held
    /// bytes go on.
    ///
    /// Half-open connections stay so, as in a real network.
    public func heal() async { await perform { $0.heal() } }

    /// Ends the open connections with RST and stops listening.
    ///
    /// Releasing the last reference to the proxy does the same.
    public func stop() async {
        mailbox.stop()
        await perform { _ in }
    }

    /// Returns when the proxy's thread has done it.
    private func perform(_ command: @escaping ProxyMailbox.Command) async {
        await withCheckedContinuation { done in
            let isTaken = mailbox.post { loop in
                command(loop)
                done.resume()
            }
            if !isTaken { done.resume() }
        }
    }
}
