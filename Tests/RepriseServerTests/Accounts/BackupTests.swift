import Foundation
import GRDB
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Synchronization
import Testing

@Suite("Backup and restore")
struct BackupTests {
    let room: ChannelName
    let ada: UserID

    init() throws {
        room = try ChannelName("room")
        ada = try UserID("ada")
    }

    @Test(
        "a backup under writes has every message stored before it, whole, and is consistent with its accounts",
        .timeLimit(.minutes(1)))
    func underWrites() async throws {
        let (data, copy, restored) = (
            try TemporaryFolder(), try TemporaryFolder(), try TemporaryFolder()
        )
        let log = try SQLiteMessageLog.open(at: data.path)
        let accounts = try Accounts.open(at: data.path, implicitChannels: false)
        try await accounts.setChannel(
            room, ChannelSettings(visibility: .private), by: Principal(user: ada), at: now, head: 0)
        let writing = Task {
            while !Task.isCancelled {
                let head = try await log.append([message(room)]).last?.event?.seq ?? 0
                _ = try await accounts.move(
                    MovePosition(channel: room, user: ada, device: nil, read: head, delivered: head)
                )
            }
        }
        while try await log.state(of: room).head < 200 { await Task.yield() }
        let before = try await log.state(of: room)
        let report = try await onThread { try Backup.make(of: data.path, to: copy.path) }
        let after = try await log.state(of: room).head
        writing.cancel()
        try? await writing.value
        #expect(report.channels == 1)
        #expect((before.head...after).contains(report.messages))
        await accounts.close()
        await log.close()

        let put = try await onThread { try Backup.restore(from: copy.path, to: restored.path) }
        #expect(put.messages == report.messages)
        let newLog = try SQLiteMessageLog.open(at: restored.path)
        let newAccounts = try Accounts.open(at: restored.path, implicitChannels: false)
        let page = try await newLog.history(of: room, after: 0, limit: .max)
        #expect(page.events.map(\.seq) == Array(1...report.messages))
        #expect(page.state.epoch != before.epoch)
        let position = try await newAccounts.positions(of: room, first: ada, limit: 1)[0]
        #expect(position.read <= page.state.head && position.delivered <= page.state.head)
        #expect(position.read >= before.head - 1)
        #expect(try await newAccounts.member(ada, in: room)?.role == .owner)
        await newAccounts.close()
        await newLog.close()
        for folder in [data, copy, restored] { folder.remove() }
    }

    @Test("read positions and join positions beyond the copied log are lowered to its head")
    func cutBack() async throws {
        let (data, copy) = (try TemporaryFolder(), try TemporaryFolder())
        let log = try SQLiteMessageLog.open(at: data.path)
        let accounts = try Accounts.open(at: data.path, implicitChannels: false)
        _ = try await log.append([message(room), message(room)])
        try await accounts.setChannel(
            room, ChannelSettings(), by: .open, at: now, head: 2)
        let device = EntryID.random()
        try await accounts.sawDevice(device, of: ada)
        try await accounts.setMember(ada, role: .member, joined: 5, in: room, at: now)
        _ = try await accounts.move(
            MovePosition(channel: room, user: ada, device: device, read: 9, delivered: 1))
        _ = try await accounts.move(
            MovePosition(
                channel: try ChannelName("empty"), user: ada, isAdmin: true, device: device,
                delivered: 4))
        await accounts.close()
        await log.close()
        let former = try DatabaseQueue(path: data.path + "/accounts.sqlite")
        try await former.write { db in
            try db.execute(
                sql: """
                    UPDATE device_positions SET pushed = 9 WHERE channel = 'room';
                    INSERT INTO push_walks VALUES ('apns', 'room', 7, NULL, ''),
                    ('webPush', 'room', 1, 5, 'eve');
                    INSERT INTO push_queue
                    (id, service, due, user, device, kind, channel, seq, expires)
                    VALUES (1, 'apns', 0, 'ada', 'd', 'alert', 'room', 2, 0),
                    (2, 'apns', 0, 'ada', 'd', 'alert', 'room', 3, 0);
                    """)
        }
        try former.close()
        _ = try await onThread { try Backup.make(of: data.path, to: copy.path) }
        let queue = try DatabaseQueue(path: copy.path + "/accounts.sqlite")
        let push = try await queue.read { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT service, through, target, user FROM push_walks
                    UNION ALL SELECT 'queued', id, NULL, '' FROM push_queue
                    UNION ALL SELECT 'pushed', pushed, NULL, '' FROM device_positions
                    WHERE channel = 'room'
                    """
            ).map {
                "\($0[0] as String) \($0[1] as Int64) \($0[2] as Int64? ?? 0) \($0[3] as String)"
            }
        }
        #expect(push == ["apns 2 0 ", "webPush 1 0 ", "queued 1 0 ", "pushed 2 0 "])
        let rows = try await queue.read { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT read, delivered FROM positions WHERE channel = 'room'
                    UNION ALL SELECT read, delivered FROM positions WHERE channel = 'empty'
                    UNION ALL SELECT joined, 0 FROM members
                    UNION ALL SELECT 0, delivered FROM device_positions WHERE channel = 'empty'
                    """
            ).map { [$0[0] as Int64, $0[1] as Int64] }
        }
        #expect(rows == [[2, 1], [0, 0], [2, 0], [0, 0]])
        try queue.close()
        for folder in [data, copy] { folder.remove() }
    }

    @Test(
        "a backup overwrites nothing and leaves no partial copy, and a folder without a log is not a backup"
    )
    func refusals() async throws {
        let (data, copy, empty) = (
            try TemporaryFolder(), try TemporaryFolder(), try TemporaryFolder()
        )
        let log = try SQLiteMessageLog.open(at: data.path)
        _ = try await log.append([message(room)])
        await log.close()
        let files = FileManager.default
        try files.createDirectory(atPath: empty.path, withIntermediateDirectories: true)
        expectError(.notAJournal) {
            try Backup.make(of: empty.path, to: copy.path)
        }
        expectError(.notAJournal) {
            try Backup.restore(from: empty.path, to: copy.path)
        }
        #expect(!files.fileExists(atPath: copy.path))
        try Backup.make(of: data.path, to: empty.path)
        #expect(try files.contentsOfDirectory(atPath: empty.path) == ["messages.sqlite"])
        for target in [empty, data] {
            expectError(.badConfiguration) {
                try Backup.make(of: data.path, to: target.path)
            }
            expectError(.badConfiguration) {
                try Backup.restore(from: empty.path, to: target.path)
            }
        }
        for folder in [data, copy, empty] { folder.remove() }
    }

    @Test("the next restore removes the files of a killed restore, and nothing else")
    func killed() async throws {
        let (data, copy) = (try TemporaryFolder(), try TemporaryFolder())
        defer { for folder in [data, copy] { folder.remove() } }
        let log = try SQLiteMessageLog.open(at: data.path)
        let accounts = try Accounts.open(at: data.path, implicitChannels: false)
        _ = try await log.append([message(room)])
        await accounts.close()
        await log.close()
        _ = try await onThread { try Backup.make(of: data.path, to: copy.path) }
        for (names, isLeft) in [
            ([".unfinished/messages.sqlite"], true),
            ([".unfinished/messages.sqlite", "accounts.sqlite"], true),
            (["accounts.sqlite"], false), ([".unfinished/a", "notes.txt"], false),
            ([".unfinished/a", "messages.sqlite"], false),
        ] {
            let target = try TemporaryFolder()
            defer { target.remove() }
            for name in names {
                let file = URL(fileURLWithPath: target.path).appending(path: name)
                try FileManager.default.createDirectory(
                    at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
                try Data("half".utf8).write(to: file)
            }
            let restore = {
                try await onThread { try Backup.restore(from: copy.path, to: target.path) }
            }
            if isLeft {
                #expect(try await restore().messages == 1)
                #expect(
                    try FileManager.default.contentsOfDirectory(atPath: target.path).sorted()
                        == ["accounts.sqlite", "messages.sqlite"])
            } else {
                await expectError(.badConfiguration) { _ = try await restore() }
                for name in names {
                    #expect(FileManager.default.fileExists(atPath: target.path + "/" + name))
                }
            }
        }
    }

    @Test("a damaged backup is not restored, and the data folder stays empty")
    func damaged() async throws {
        let (data, copy, restored) = (
            try TemporaryFolder(), try TemporaryFolder(), try TemporaryFolder()
        )
        let log = try SQLiteMessageLog.open(at: data.path)
        let body = "\"" + String(repeating: "x", count: 3_000) + "\""
        _ = try await log.append((0..<50).map { _ in message(room, body: body) })
        await log.close()
        try Backup.make(of: data.path, to: copy.path)
        let file = URL(fileURLWithPath: copy.path + "/messages.sqlite")
        var bytes = try Data(contentsOf: file)
        for page in stride(from: 12, to: 40, by: 2) {
            bytes.replaceSubrange(page * 4_096..<page * 4_096 + 200, with: Data(count: 200))
        }
        try bytes.write(to: file)
        expectError(.corrupt) {
            try Backup.restore(from: copy.path, to: restored.path)
        }
        #expect(!FileManager.default.fileExists(atPath: restored.path))
        for folder in [data, copy] { folder.remove() }
    }

    @Test(
        "two restores of one backup have two epochs, neither of them the backup's or the original's"
    )
    func epochs() async throws {
        let folders = try (0..<4).map { _ in try TemporaryFolder() }
        let log = try SQLiteMessageLog.open(at: folders[0].path)
        _ = try await log.append([message(room)])
        await log.close()
        try Backup.make(of: folders[0].path, to: folders[1].path)
        for target in folders.suffix(2) {
            try Backup.restore(from: folders[1].path, to: target.path)
        }
        var epochs: Set<String> = []
        for folder in folders {
            let queue = try DatabaseQueue(path: folder.path + "/messages.sqlite")
            epochs.insert(
                try await queue.read { try String.fetchOne($0, sql: "SELECT epoch FROM log") } ?? ""
            )
            try queue.close()
            folder.remove()
        }
        #expect(epochs.count == 4)
    }

    @Test("backups on request are made one at a time, and block no thread of Swift's pool")
    func onRequest() async throws {
        let state = Mutex((targets: [String](), running: 0, most: 0, inTasks: 0))
        let backups = Backups(of: "/data", in: "/backups") { _, target in
            let isInTask = withUnsafeCurrentTask { $0 != nil }
            state.withLock { state in
                state.targets.append(target)
                state.running += 1
                state.most = max(state.most, state.running)
                if isInTask { state.inTasks += 1 }
            }
            defer { state.withLock { $0.running -= 1 } }
            guard target.contains("1905") else { throw RepriseError(.diskFull, "It is full.") }
        }
        async let other = backups.make(at: WallTime(milliseconds: 1_795_287_902_500))
        let name = try await backups.make(at: WallTime(milliseconds: 1_795_287_901_500))
        #expect(name == "20261121T190501.500Z")
        _ = try await other
        await expectError(.diskFull) { _ = try await backups.make(at: now) }
        let (targets, most, inTasks) = state.withLock { ($0.targets, $0.most, $0.inTasks) }
        #expect(targets.count == 3 && targets.contains("/backups/" + name))
        #expect(most == 1 && inTasks == 0)
    }
}
