import NIOCore
import RepriseCore
import RepriseWire
import Synchronization

/// What other threads see of an event loop's part of the hub: a letter box.
///
/// Whatever waits is handled in one turn of the loop, so that each connection is flushed once for all of it.
final class Shard: Sendable {
    /// Letters in the order in which they came.
    enum Letter: Sendable {
        case live([LiveRun])
        case uncertain(Set<ChannelName>)
        case answers(to: UInt64, [NewMessage], Result<[AppendResult], RepriseError>)
        case read(by: UInt64, LogReader.Answer)
        case cutAll
    }

    private struct Box {
        var letters: [Letter] = []
        var liveBytes = 0
        /// Channels of which live events were not taken in; their subscribers ask the log.
        var missed: Set<ChannelName> = []
        var isScheduled = false
    }

    /// The most bytes of live events that wait for the loop.
    ///
    /// Beyond it subscribers are demoted: a queue must not grow when commits are faster than fan-out.
    private static let waitingBytes = 16 << 20

    let loop: any EventLoop
    private let box = Mutex(Box())
    private let board: NIOLoopBoundBox<Switchboard?>

    init(loop: any EventLoop, limits: ServerLimits) {
        self.loop = loop
        board = .makeEmptyBox(valueType: Switchboard.self, eventLoop: loop)
    }

    /// The loop's own part; only on the loop.
    func switchboard(for gateway: Gateway) -> Switchboard {
        if let existing = board.value { return existing }
        let new = Switchboard(gateway: gateway, shard: self)
        board.value = new
        return new
    }

    func post(_ letter: Letter) {
        post { $0.letters.append(letter) }
    }

    func post(_ runs: [LiveRun]) {
        let bytes = runs.reduce(0) { $0 + $1.bytes.readableBytes }
        post { box in
            if box.liveBytes > 0, box.liveBytes + bytes > Self.waitingBytes {
                box.missed.formUnion(runs.lazy.map(\.channel))
            } else {
                box.liveBytes += bytes
                box.letters.append(.live(runs))
            }
        }
    }

    func post(uncertain channels: Set<ChannelName>) { post(.uncertain(channels)) }

    private func post(_ add: (inout Box) -> Void) {
        let mustSchedule = box.withLock { box in
            add(&box)
            defer { box.isScheduled = true }
            return !box.isScheduled
        }
        if mustSchedule { loop.execute { self.open() } }
    }

    private func open() {
        let letters = box.withLock { box in
            var letters = box.letters
            if !box.missed.isEmpty { letters.append(.uncertain(box.missed)) }
            box = Box()
            return letters
        }
        board.value?.handle(letters)
    }
}
