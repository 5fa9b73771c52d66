import RepriseCore

/// A slot that is watched from its beginning, by one task.
///
/// A system's slot may be waited for once: its end is an `AsyncStream`, which ends for every later
/// task when a waiting one is cancelled.
final class WatchedSlot: BackgroundSlot {
    let id: String
    private let slot: any BackgroundSlot
    private let isOver: StateBroadcaster<Bool>
    private let watch: Task<Void, Never>

    init(_ slot: any BackgroundSlot) {
        (id, self.slot) = (slot.id, slot)
        let isOver = StateBroadcaster(false)
        self.isOver = isOver
        watch = Task {
            await slot.expired()
            isOver.announce(true)
        }
    }

    func expired() async { for await now in isOver.watch() where now { return } }

    func complete(success: Bool) async {
        await slot.complete(success: success)
        watch.cancel()
    }
}
