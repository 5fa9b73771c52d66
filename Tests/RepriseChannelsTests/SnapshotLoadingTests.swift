import RepriseChannels
import RepriseWire
import Testing

@Suite("Loading a snapshot")
struct SnapshotLoadingTests {
    private static func snapshot(_ position: Int64) -> SubscriptionMachine.Snapshot {
        .init(position: position, lost: [], reason: .retention)
    }

    @Test("the app is asked once, and not before the snapshot is durable")
    func once() {
        var loading = SnapshotLoading()
        loading.begin(Self.snapshot(7), durableWith: 3)
        #expect(loading.request(durable: 2) == nil)
        #expect(loading.request(durable: 3) == Self.snapshot(7))
        #expect(loading.request(durable: 4) == nil)
    }

    @Test("a stored snapshot request is asked for at once, by an app that loads snapshots")
    func stored() {
        var loading = SnapshotLoading(stored: Self.snapshot(7))
        #expect(loading.pending == nil && loading.current == Self.snapshot(7))
        loading.isEnabled = true
        #expect(loading.pending == Self.snapshot(7))
        #expect(loading.request(durable: 0) == Self.snapshot(7))
    }

    @Test("after a failure the server is asked once, and again when it has answered")
    func failed() {
        var loading = SnapshotLoading(stored: Self.snapshot(7))
        #expect(loading.failed() == nil, "nobody was asked to load it")
        _ = loading.request(durable: 0)
        #expect(loading.failed() == Self.snapshot(7))
        #expect(loading.failed() == nil)
        #expect(loading.answered() && !loading.answered())
        #expect(loading.failed() == Self.snapshot(7))
    }

    @Test("one that was abandoned is asked for again")
    func abandoned() {
        var loading = SnapshotLoading(stored: Self.snapshot(7))
        _ = loading.request(durable: 0)
        _ = loading.failed()
        loading.abandoned()
        #expect(loading.failed() == nil, "nobody was asked to load it")
        #expect(loading.request(durable: 0) == Self.snapshot(7))
    }

    @Test("a snapshot that another has replaced does not count as loaded")
    func replaced() {
        var loading = SnapshotLoading(stored: Self.snapshot(7))
        loading.begin(Self.snapshot(9), durableWith: 1)
        #expect(!loading.taken(Self.snapshot(7)) && loading.current == Self.snapshot(9))
        #expect(loading.taken(Self.snapshot(9)) && loading.current == nil)
        #expect(loading.request(durable: 9) == nil)
    }
}
