import Foundation
import RepriseChannels
import RepriseCore
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Synchronization
import Testing

@Suite("Slow handlers", .timeLimit(.minutes(1)))
struct SlowReaderTests {
    /// Holds handlers, also those that may not suspend.
    private final class Door: Sendable {
        private let isOpen = Mutex(false)
        func open() { isOpen.withLock { $0 = true } }
        var holds: Bool { !isOpen.withLock { $0 } }
    }

    @Test(
        "beyond its deadline a reader is slow, says with which message, and runs again when the handler returns",
        .limit("channels.deadline"),
        arguments: [false, true])
    func slow(isTransaction: Bool) async throws {
        let server = MemoryServer()
        let id = EntryID.random()
        try server.publish("1", to: "general", id: id)
        let device = try await MemoryDevice(server)
        let door = Door()
        let options = ReaderOptions(deadline: .milliseconds(50))
        if isTransaction {
            try await device.general.read(
                "inbox", options: options,
                inTransaction: { _, _ in
                    while door.holds { usleep(1_000) }
                })
        } else {
            try await device.general.read("inbox", options: options) { _ in
                while door.holds { try await Task.sleep(for: .milliseconds(1)) }
            }
        }
        var heard = device.general.readerStates.makeAsyncIterator()
        #expect(await heard.next() == ["inbox": .running])
        device.start()
        try await eventually("it is slow") {
            if case .slow(id, _)? = device.general.readers["inbox"] { true } else { false }
        }
        #expect(
            await device.general.diagnostics.lastError
                == "The reader inbox has the message \(id) in its handler, beyond its deadline.")
        guard case .slow(id, _)? = await heard.next()?["inbox"] else {
            Issue.record("nobody was told")
            return
        }
        door.open()
        try await device.general.caughtUp()
        #expect(device.general.readers == ["inbox": .running])
        #expect(await heard.next() == ["inbox": .running])
        #expect(await device.general.diagnostics.lastError == nil)
        try await device.finish()
    }

    @Test(
        "a reader has 30 s where nothing else is said, and is not slow while each message is quick",
        .limit("channels.deadline"))
    func quick() async throws {
        #expect(ReaderOptions().deadline == .seconds(30))
        #expect(ReaderOptions(deadline: .zero).deadline == .milliseconds(1))
        let server = MemoryServer()
        try server.fill("general", with: 30)
        let device = try await MemoryDevice(server)
        let worst = Mutex(0)
        try await device.general.read(
            "inbox", options: ReaderOptions(deadline: .seconds(3))
        ) { _ in
            try await Task.sleep(for: .milliseconds(120))
            if device.general.readers["inbox"] != .running { worst.withLock { $0 += 1 } }
        }
        device.start()
        try await device.general.caughtUp()
        #expect(worst.withLock { $0 } == 0)
        try await device.finish()
    }

    @Test("a second reader of one name is refused with a code of its own")
    func duplicate() async throws {
        let device = try await MemoryDevice(MemoryServer())
        try await device.general.read("inbox") { _ in }
        await expectError(.duplicateReader) {
            try await device.general.read("inbox") { _ in }
        }
        try await device.finish()
    }
}
