import NIOCore
import RepriseCore
import RepriseWire
import Synchronization

/// The thread-safe side of an event loop's part of the hub: a queue.
///
/// One tick of the loop handles all waiting events, and flushes each connection once for them: see
/// `FlushTurns`.
final class Shard: Sendable {
    /// Events, in order of arrival.
    enum LoopEvent: Sendable {
        case live([LiveRun])
        case uncertain(Set<ChannelName>)
        case answers(to: UInt64, [NewMessage], Result<[AppendResult], RepriseError>)
        case read(by: UInt64, LogReader.Answer)
        case access(to: UInt64, [AccessAnswer])
        /// The grants of a user, or for nil of all users, in a channel have changed.
        case accessChanged(ChannelName, UserID?)
        case moved(by: UInt64, PositionUpdates.Telling)
        case moveFailed(UInt64, ClientFrame.Receipt, isRefused: Bool)
        case typing(TypingBoard.Told)
        /// Encoded; lost where the connection has too much unsent.
        case presence(to: UInt64, ByteBuffer)
        case identified(UInt64, Result<Principal, RepriseError>)
        /// The hello of a connection is in the cluster's journal, or could not be brought there.
        case arrived(UInt64, Result<Generation?, RepriseError>)
        /// A connection's device has reconnected; the newer connection, if it is at this gateway,
        /// is notified when the older one accepts no more requests.
        case replace(UInt64, by: Gateway.Place?)
        case olderEnded(UInt64)
        /// Every connection is to end in good order, and to come back elsewhere.
        case sendAway
        case cutAll
    }

    /// The most bytes of live events waiting for the loop; beyond it subscribers are demoted.
    private static let waitingBytes = 16 << 20

    let loop: any EventLoop
    private let box = Mutex(ShardQueue<LoopEvent>(waitingBytes: waitingBytes))
    private let board: NIOLoopBoundBox<EventLoopHub?>

    init(loop: any EventLoop, limits: ServerLimits) {
        self.loop = loop
        board = .makeEmptyBox(valueType: EventLoopHub.self, eventLoop: loop)
    }

    /// The loop's own part; only called on the loop.
    func loopHub(for gateway: Gateway) -> EventLoopHub {
        if let existing = board.value { return existing }
        let new = EventLoopHub(gateway: gateway, shard: self)
        board.value = new
        return new
    }

    func post(_ event: LoopEvent) {
        let mustSchedule = box.withLock { $0.post(event) }
        if mustSchedule { schedule() }
    }

    func post(_ runs: [LiveRun]) {
        let bytes = runs.reduce(0) { $0 + $1.bytes.readableBytes }
        let mustSchedule = box.withLock {
            $0.post(live: .live(runs), bytes: bytes, of: runs.lazy.map(\.channel))
        }
        if mustSchedule { schedule() }
    }

    func post(uncertain channels: Set<ChannelName>) { post(.uncertain(channels)) }

    private func schedule() {
        loop.execute { self.open() }
    }

    private func open() {
        var (events, missed) = box.withLock { $0.open() }
        if !missed.isEmpty { events.append(.uncertain(missed)) }
        board.value?.handle(events)
    }
}
