import Foundation
import GRDB
import Logging
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

@Suite("Erasure of deleted messages", .timeLimit(.minutes(1)))
struct ErasureTests {
    private static func hold(_ text: String, in folder: TemporaryFolder) throws -> [String] {
        try folder.names.filter {
            try Data(contentsOf: URL(filePath: folder.path + "/" + $0))
                .range(of: Data(text.utf8)) != nil
        }
    }

    @Test(
        "happens with the next housekeeping, while the server runs; a reader of the message delays it to the one after",
        .limit("log.deletedBodies")
    )
    func erased() async throws {
        let store = try SQLiteStore()
        try await store.reopen()
        let room = try ChannelName("room")
        let secret = "deleted-\(EntryID.random())"
        let said = message(room, body: "\"\(secret)\"")
        _ = try await store.append([said, message(room)])
        #expect(try !Self.hold(secret, in: store.folder).isEmpty)
        let deletion = NewMessage(channel: room, id: .random(), change: .deletes(said.id), body: [])
        _ = try await store.append([deletion])
        #expect(try Self.hold(secret, in: store.folder) == ["messages.sqlite-wal"])

        var reading = Configuration()
        reading.allowsUnsafeTransactions = true
        let reader = try DatabaseQueue(
            path: store.folder.path + "/messages.sqlite", configuration: reading)
        try await reader.writeWithoutTransaction { db in
            try db.execute(sql: "BEGIN; SELECT * FROM log")
        }
        let start = ContinuousClock.now
        try await store.log.eraseDeleted()
        #expect(ContinuousClock.now - start < .seconds(4.5), "nobody waits for the reader")
        _ = try await store.append([message(room)])
        try await reader.writeWithoutTransaction { try $0.execute(sql: "COMMIT") }
        try reader.close()

        let clock = ManualClock()
        let keeping = Task {
            await Housekeeping(
                log: store.log, policy: RetentionPolicy(), clock: clock,
                logger: Logger(label: "test")
            ).run()
        }
        try await eventually("it is erased") { try Self.hold(secret, in: store.folder).isEmpty }
        keeping.cancel()
        await keeping.value
        #expect(try Self.hold(secret, in: store.folder).isEmpty)
        await store.remove()
    }

    @Test("a gateway erases what was deleted since it last did")
    func gateway() async throws {
        let store = try ClusterStore()
        try await store.reopen()
        // It does so after its start in any case.
        try await store.log.eraseDeleted()
        let room = try ChannelName("room")
        let secret = "deleted-\(EntryID.random())"
        let said = message(room, body: "\"\(secret)\"")
        _ = try await store.append([said])
        let view = URL(filePath: store.path(0), directoryHint: .isDirectory)
        func holds() throws -> Bool {
            try FileManager.default.contentsOfDirectory(at: view, includingPropertiesForKeys: nil)
                .contains { try Data(contentsOf: $0).range(of: Data(secret.utf8)) != nil }
        }
        #expect(try holds())
        let deletion = NewMessage(channel: room, id: .random(), change: .deletes(said.id), body: [])
        _ = try await store.append([deletion])
        try await eventually("it is erased") {
            try await store.log.eraseDeleted()
            return try !holds()
        }
        await store.remove()
    }

    @Test("a push token that was replaced is not in the files of the accounts")
    func token() async throws {
        let test = try await AccountsUnderTest(implicitChannels: true)
        let ada = try UserID("ada")
        let id = try EntryID("phone")
        let old = String(repeating: "ab", count: 32)
        for token in [old, String(repeating: "cd", count: 32)] {
            try await test.accounts.setDevice(
                RegisteredDevice(
                    id: id, platform: "ios", pushToken: try PushToken(token), lastSeen: now),
                of: ada)
        }
        try await test.accounts.eraseDeleted()
        #expect(try Self.hold(old, in: test.folder).isEmpty)
        await test.remove()
    }
}
