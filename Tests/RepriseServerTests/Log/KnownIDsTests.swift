import RepriseCore
import RepriseServer
import RepriseWire
import Testing

/// Enough ids that some lie in a sealed run and some do not.
@Suite("Ids that the SQLite log knows")
struct KnownIDsTests {
    /// More than one run holds.
    private static let count = 70_000

    @Test(
        "stay known in sealed runs, over restarts and trims, for 30 days and while their messages are stored"
    )
    func lifeOfIDs() async throws {
        let clock = TestClock()
        let store = try SQLiteStore(clock: clock)
        try await store.reopen()
        let room = try ChannelName("room")
        let ids = (0..<Self.count).map { _ in EntryID.random() }
        for start in stride(from: 0, to: Self.count, by: 2_000) {
            let batch = ids[start..<min(start + 2_000, Self.count)]
            _ = try await store.append(batch.map { message(room, id: $0) })
        }
        try await expectKnown(ids, in: store, room)
        try await store.reopen()
        try await expectKnown(ids, in: store, room)

        clock.move(by: .seconds(31 * 86_400))
        try await store.log.trim(RetentionPolicy(), now: clock.wall())
        try await expectKnown(ids, in: store, room)

        _ = try await store.log.trim(room, through: Int64(Self.count))
        try await store.log.trim(
            RetentionPolicy(), now: clock.wall().advanced(by: .seconds(-2 * 86_400)))
        try await expectKnown(ids, in: store, room)

        try await store.log.trim(RetentionPolicy(), now: clock.wall())
        let again = try await store.append([message(room, id: ids[0])])
        #expect(again[0].event?.seq == Int64(Self.count) + 1)
        await store.remove()
    }

    private func expectKnown(
        _ ids: [EntryID], in store: SQLiteStore, _ room: ChannelName
    ) async throws {
        let samples = stride(from: 0, to: ids.count, by: 997)
        let results = try await store.append(samples.map { message(room, id: ids[$0]) })
        #expect(results == samples.map { .duplicate(seq: Int64($0) + 1) })
    }
}
