import GRDB
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

/// How a message is read while it is pushed: docs/limits.md, Push.
@Suite("Bounds of scans and of messages in flight", .timeLimit(.minutes(1)))
struct FanOutScanTests {
    @Test(
        "a scan over a channel's members has 16 messages, the next one the next",
        .limit("push.scanMessages"))
    func messages() async throws {
        try await withPush { push in
            try await push.make(members: ["ada"])
            try await push.register("phone", of: "ada")
            let other = try DatabaseQueue(path: push.folder.path + "/accounts.sqlite")
            try await other.write { db in
                try db.execute(
                    sql: """
                        CREATE TABLE scanned (through INTEGER);
                        CREATE TRIGGER began AFTER INSERT ON push_walks
                        BEGIN INSERT INTO scanned VALUES (new.through); END;
                        CREATE TRIGGER went AFTER UPDATE ON push_walks
                        BEGIN INSERT INTO scanned VALUES (new.through); END;
                        """)
            }
            // Noted together: what is noted later has a scan of its own.
            for number in 1...40 {
                try await push.publish("m\(number)", isNoted: number == 40)
            }
            try await push.clock.advance(by: .milliseconds(500)) {
                try await other.read {
                    try Int64.fetchOne($0, sql: "SELECT max(through) FROM scanned")
                }
                    == 40
            }
            let scanned = try await other.read { db in
                try Int64.fetchAll(
                    db, sql: "SELECT DISTINCT through FROM scanned WHERE through > 0 ORDER BY 1")
            }
            #expect(scanned == [16, 32, 40])
            try other.close()
        }
    }

    @Test(
        "a pushed message is cached for a second, in which its deletion is not noticed",
        .limit("push.contents"))
    func kept() async throws {
        try await withPush(RecordingProvider(concurrency: 1)) { push in
            push.provider.holds()
            try await push.make(members: ["ada"])
            for number in 1...3 { try await push.register("phone-\(number)", of: "ada") }
            try await push.publish("m1")
            // Nearly no time passes between its being read and its being pushed.
            try await push.pass(.milliseconds(4_500))
            try await push.until(pushes: 1, step: .milliseconds(2))
            try await eventually("it is under way") { push.provider.held == 1 }
            try await push.publish(
                "gone", body: "null", change: .deletes(try EntryID("m1")), isNoted: false)
            push.clock.advance(by: .milliseconds(500))
            push.provider.release(1)
            try await eventually("it is pushed from memory") { push.provider.held == 1 }
            #expect(push.provider.pushes.count == 2)
            push.clock.advance(by: .milliseconds(600))
            push.provider.release(1)
            try await push.untilQueueIsEmpty()
            #expect(push.provider.pushes.count == 2)
        }
    }
}
