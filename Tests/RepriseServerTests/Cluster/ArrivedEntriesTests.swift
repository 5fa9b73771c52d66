import RepriseCore
import RepriseServer
import RepriseTestSupport
import Testing

@Suite("Entries that came live", .timeLimit(.minutes(1)))
struct ArrivedEntriesTests {
    private static func entry(_ sequence: Int64, bytes: Int = 1) -> StoredEntry {
        StoredEntry(
            sequence: sequence, stamp: WallTime(milliseconds: 0),
            bytes: [UInt8](repeating: 0, count: bytes))
    }

    @Test("All waiting entries are returned at once, in order, and then the end")
    func together() async {
        let arrived = ArrivedEntries()
        for sequence in 1...3 { arrived.put(Self.entry(Int64(sequence))) }
        arrived.put(nil)
        // A journal that was left goes on.
        arrived.put(Self.entry(4))
        #expect(await arrived.next()?.map(\.sequence) == [1, 2, 3])
        #expect(await arrived.next() == nil)
    }

    @Test(
        "Entries beyond 8 MiB are dropped; afterwards there is room again",
        .limit("cluster.arrived"))
    func bound() async {
        let arrived = ArrivedEntries()
        for sequence in 1...9 { arrived.put(Self.entry(Int64(sequence), bytes: 1 << 20)) }
        arrived.put(Self.entry(10))
        #expect(await arrived.next()?.map(\.sequence) == Array(1...8))
        arrived.put(Self.entry(11))
        #expect(await arrived.next()?.map(\.sequence) == [11])
    }
}
