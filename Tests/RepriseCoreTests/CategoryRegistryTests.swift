import RepriseCore
import RepriseTestSupport
import Synchronization
import Testing

@Suite("Categories beside those of others", .timeLimit(.minutes(1)))
struct CategoryRegistryTests {
    /// The system's, of which only ids count here.
    private final class Center: Sendable {
        private let state: Mutex<(ids: [String], reads: Int)>
        let gate = Signal()

        init(_ ids: [String]) { state = Mutex((ids, 0)) }

        var ids: [String] { state.withLock { $0.ids } }
        var reads: Int { state.withLock { $0.reads } }

        func set(_ ids: [String], in registry: CategoryRegistry, isHeld: Bool = false) async {
            await registry.set(ids.map { NotificationCategory(id: $0) }) {
                let present = self.state.withLock { state in
                    state.reads += 1
                    return state.ids
                }
                if isHeld { await self.gate.wait() }
                return present
            } id: {
                $0
            } write: { kept, new in
                self.state.withLock { $0.ids = kept + new.map(\.id) }
            }
        }
    }

    @Test(
        "categories that others have set stay, but for the same id; those of the last call are replaced",
        arguments: [
            ([], [], ["a"], ["a"]), (["x"], [], ["a"], ["x", "a"]),
            (["x", "a"], ["a"], ["b"], ["x", "b"]), (["x", "a"], ["a"], [], ["x"]),
            (["x", "a"], [], ["a", "b"], ["x", "a", "b"]), (["x"], ["gone"], [], ["x"]),
            (["x"], [], ["a", "b", "a"], ["x", "b", "a"]),
        ] as [([String], [String], [String], [String])])
    func merge(present: [String], former: [String], new: [String], after: [String]) {
        let (kept, set) = CategoryRegistry.merge(
            present, former: Set(former), new: new.map { NotificationCategory(id: $0) })
        #expect(kept + set.map(\.id) == after)
    }

    @Test("of two with one id the last counts")
    func last() {
        let (_, set) = CategoryRegistry.merge(
            [], former: [],
            new: [.init(id: "a"), .init(id: "a", actions: [.init(id: "ok", title: "OK")])])
        #expect(set.map(\.actions.count) == [1])
    }

    @Test("a second call waits for the first, and replaces what that has set")
    func race() async {
        let (registry, center) = (CategoryRegistry(), Center(["x"]))
        let first = Task { await center.set(["a"], in: registry, isHeld: true) }
        while center.reads < 1 { await Task.yield() }
        let second = Task { await center.set(["b"], in: registry) }
        // If it did not wait, it would have read and written now.
        for _ in 0..<1_000 { await Task.yield() }
        center.gate.raise()
        await first.value
        await second.value
        #expect(center.ids == ["x", "b"])
    }
}
