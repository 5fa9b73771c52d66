import GRDB
import RepriseCore
import RepriseTestSupport
import RepriseTesting
import Synchronization
import Testing

@testable import RepriseChannels
@testable import RepriseJournal

@Suite("How often a list is read")
struct ListWatchTests {
    /// Why lists do not use `ValueObservation`: docs/architecture/channels.md.
    @Test("Commits in another channel cost a list nothing; GRDB's observation reads it again")
    func reads() async throws {
        let device = try await MemoryDevice(MemoryServer())
        let ours = Mutex(0)
        let observed = Mutex(0)
        let general = device.general.name
        let watch = ListWatch(
            general, in: device.journal,
            changeNotifier: device.channels.readers.changeNotifier,
            timekeeper: SystemTimekeeper()
        ) { [device] in
            ours.withLock { $0 += 1 }
            return try await device.general.messages()
        }
        let list = Task { while let page = await watch.next(), page.isEmpty {} }
        let observation = ValueObservation.tracking { db in
            observed.withLock { $0 += 1 }
            return try ListRows(channel: general).page(before: nil, limit: 50, db)
        }
        let theirs = Task { [pool = device.journal.pool] in
            for try await page in observation.values(in: pool) where !page.isEmpty { return }
        }
        try await waitUntil("both have read") {
            ours.withLock { $0 } == 1 && observed.withLock { $0 } >= 1
        }
        let other = try device.channels.channel("other")
        for number in 0..<200 { try await other.publish("\(number)") }
        #expect(ours.withLock { $0 } == 1)
        #expect(observed.withLock { $0 } > 100)
        try await device.general.publish("1")
        await list.value
        try await theirs.value
        #expect(ours.withLock { $0 } <= 3)
        try await device.finish()
    }
}
