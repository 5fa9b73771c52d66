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

    private func take(_ entries: [StoredEntry], into arrived: ArrivedEntries) async {
        let (live, reader) = AsyncStream.makeStream(of: StoredEntry.self)
        for entry in entries { reader.yield(entry) }
        reader.finish()
        await arrived.take(live)
    }

    @Test("All that wait come at once, in order, and then the end")
    func together() async {
        let arrived = ArrivedEntries()
        await take((1...3).map { Self.entry($0) }, into: arrived)
        #expect(await arrived.next()?.map(\.sequence) == [1, 2, 3])
        #expect(await arrived.next() == nil)
    }

    @Test("Beyond 8 MiB what comes is dropped; afterwards there is room", .limit("cluster.arrived"))
    func bound() async {
        let arrived = ArrivedEntries()
        await take((1...9).map { Self.entry($0, bytes: 1 << 20) } + [Self.entry(10)], into: arrived)
        #expect(await arrived.next()?.map(\.sequence) == Array(1...8))
        await take([Self.entry(11)], into: arrived)
        #expect(await arrived.next()?.map(\.sequence) == [11])
    }
}
