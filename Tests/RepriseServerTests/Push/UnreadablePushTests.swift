import GRDB
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseWire
import Testing

/// Rows with a value of another type, as a damaged file may have them.
@Suite("Rows of pushing that cannot be read", .timeLimit(.minutes(1)))
struct UnreadablePushTests {
    @Test("a channel's scan begins anew, and no message is lost")
    func scan() async throws {
        try await withPush { push in
            try await push.make(members: ["bob"])
            try await push.register("phone", of: "bob")
            try await push.publish("m1")
            try await push.until(pushes: 1)
            try await push.untilQueueIsEmpty()
            let other = try DatabaseQueue(path: push.folder.path + "/accounts.sqlite")
            try await other.write { try $0.execute(sql: "UPDATE push_walks SET through = x'ff'") }
            try await push.publish("m2")
            try await push.until(pushes: 3)
            try await push.untilQueueIsEmpty()
            #expect(push.provider.ids.sorted() == ["m1", "m1", "m2"])
            let through = try await other.read {
                try Int64.fetchAll($0, sql: "SELECT through FROM push_walks")
            }
            #expect(through == [2])
            try other.close()
        }
    }

    @Test("a push with an impossible number of attempts is removed, and the others are sent")
    func attempts() async throws {
        let provider = RecordingProvider { _, count in
            count == 0 ? .later(.seconds(1), "429") : .accepted
        }
        try await withPush(provider) { push in
            try await push.make(members: ["bob"])
            try await push.register("phone", of: "bob")
            let other = try DatabaseQueue(path: push.folder.path + "/accounts.sqlite")
            try await other.write { db in
                try db.execute(
                    sql: """
                        INSERT INTO push_queue
                        (service, due, user, device, kind, channel, seq, attempts, expires)
                        VALUES ('apns', 0, 'bob', 'phone', 'alert', 'room', 1, ?, ?)
                        """, arguments: [Int64.max, Int64.max])
            }
            try other.close()
            try await push.publish("m1")
            try await push.until(pushes: 2)
            try await push.untilQueueIsEmpty()
            #expect(provider.pushes.count == 2 && provider.ids == ["m1", "m1"])
        }
    }

    @Test("the progress of the other channels is reported")
    func progress() async throws {
        let test = try await AccountsUnderTest()
        let other = try DatabaseQueue(path: test.folder.path + "/accounts.sqlite")
        try await other.write { db in
            // A gateway of a cluster has this table.
            try db.execute(
                sql: """
                    CREATE TABLE pushed_channels (service TEXT, channel TEXT, through INTEGER);
                    INSERT INTO push_walks (service, channel, through)
                    VALUES ('apns', 'a', x'ff'), ('apns', 'b', 7);
                    """)
        }
        try other.close()
        let done = try await test.accounts.pushQueue.done(.apns)
        #expect(done == [PushProgress.Done(channel: channel("b"), through: 7)])
        await test.remove()
    }
}
