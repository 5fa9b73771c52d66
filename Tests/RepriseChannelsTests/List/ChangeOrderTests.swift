import GRDB
import RepriseChannels
import RepriseCore
import RepriseJournal
import RepriseTesting
import RepriseWire
import Testing

/// Messages, edits and deletions in every order in which they can arrive.
@Suite("Edits and deletions in any order")
struct ChangeOrderTests {
    @Test("A list follows the order of sequences in every order of arrival")
    func anyOrder() async throws {
        let bench = try await Bench()
        for seed in 0..<150 {
            var random = SeededGenerator(seed: UInt64(seed))
            let script = try Script(channel: "c\(seed)", random: &random)
            try await bench.journal.write { [script] db in try script.store(db) }
            let list = try await bench.channels.channel("c\(seed)").messages(limit: 500)
            #expect(list.map(Script.Shown.init) == script.shown, "seed \(seed)")
            #expect(list.map(\.seq) == list.map(\.seq).sorted { ($0 ?? 0) < ($1 ?? 0) })
            // Nothing of what was deleted is left in the journal.
            let bodies = try await bench.journal.read { [script] db in
                try String.fetchAll(
                    db,
                    sql: """
                        SELECT CAST(body AS TEXT) FROM channelsMessage AS m
                        JOIN channelsLog AS g ON g.id = m.log WHERE channel = ?
                        """, arguments: [script.channel.text])
            }
            #expect(Set(bodies).isDisjoint(with: script.secrets), "seed \(seed)")
        }
        try await bench.finish()
    }

    @Test("A message of a former epoch is edited and deleted under its new sequence")
    func formerEpoch() async throws {
        let bench = try await Bench()
        try await bench.journal.write { db in
            var store = LogScript(channel: try ChannelName("general"))
            try store.begin("e1", db)
            try store.add(
                [
                    store.event(1, "a", body: #""a""#), store.event(2, "b", body: #""b""#),
                    store.event(3, "a1", .edits(1), body: #""a1""#),
                ], db)
            try store.begin("e2", db)
            try store.add(
                [
                    store.event(11, "b", body: #""b""#), store.event(10, "a", body: #""a""#),
                    store.event(12, "a1", .edits(10), body: #""a1""#),
                    store.event(13, "b1", .edits(11), body: #""b1""#),
                ], db)
        }
        var list = try await bench.general.messages()
        #expect(list.map(\.seq) == [10, 11])
        #expect(list.map(\.json) == [#""a1""#, #""b1""#])
        try await bench.journal.write { db in
            var store = LogScript(channel: try ChannelName("general"))
            try store.resume(db)
            try store.add([store.event(14, "d", .deletes(10), body: "null")], db)
        }
        list = try await bench.general.messages()
        #expect(list.map(\.isDeleted) == [true, false])
        let bodies = try await bench.journal.read { db in
            try String.fetchAll(
                db, sql: "SELECT CAST(body AS TEXT) FROM channelsMessage ORDER BY arrival")
        }
        #expect(bodies == ["null", #""b""#, "null", #""b1""#, "null"])
        try await bench.finish()
    }

    @Test("A change of a former epoch reaches a message that comes in this one, before it or after")
    func formerChanges() async throws {
        let bench = try await Bench()
        let former = LogScript(channel: try ChannelName("general"))
        try await bench.journal.write { db in
            var store = former
            try store.begin("e1", db)
            // What they change has not come here when the server loses its log.
            try store.add(
                [
                    store.event(5, "a-gone", .deletes(1), body: "null"),
                    store.event(6, "b-edit", .edits(2), body: #""b2""#),
                    store.event(7, "c-edit", .edits(3), body: #""c2""#),
                    store.event(8, "d-edit", .edits(4), body: #""d2""#),
                ], db)
            try store.begin("e2", db)
            try store.add(
                [
                    store.event(15, "a-gone", .deletes(11), body: "null"),
                    store.event(16, "b-edit", .edits(12), body: #""b2""#),
                    store.event(17, "c-edit", .edits(13), body: #""c2""#),
                ], db)
        }
        try await bench.journal.write { db in
            var store = former
            try store.resume(db)
            try store.add(
                [
                    store.event(11, "a", body: #""secret""#), store.event(12, "b", body: #""b""#),
                    store.event(13, "c", body: #""c""#), store.event(14, "d", body: #""d""#),
                ], db)
            try store.add(
                [
                    store.event(18, "d-edit", .edits(14), body: #""d2""#),
                    store.event(19, "c-gone", .deletes(13), body: "null"),
                ], db)
        }
        let list = try await bench.general.messages()
        #expect(list.map(\.json) == ["null", #""b2""#, "null", #""d2""#])
        #expect(list.map(\.isDeleted) == [true, false, true, false])
        #expect(list.map(\.isEdited) == [false, true, false, true])
        let bodies = try await bench.journal.read { db in
            try String.fetchAll(
                db, sql: "SELECT CAST(body AS TEXT) FROM channelsMessage ORDER BY arrival")
        }
        let ofFormer = ["null", #""b2""#, "null", #""d2""#]
        #expect(bodies == ofFormer + ["null", #""b""#, "null", #""d""#, "null"])
        try await bench.finish()
    }
}

/// Stores events of one channel, as the driver does.
private struct LogScript: Sendable {
    let channel: ChannelName
    var positions: [ChannelName: LogPosition] = [:]
    var coverage = Coverage()

    init(channel: ChannelName) { self.channel = channel }

    func event(
        _ seq: Int64, _ id: String, _ change: MessageChange<Int64>? = nil,
        isDeleted: Bool = false, body: String
    ) throws -> ServerFrame.Event {
        .init(
            channel: channel, seq: seq, prev: seq - 1, id: try EntryID(id),
            time: WallTime(milliseconds: seq), from: try UserID("ada"), change: change,
            isDeleted: isDeleted, body: Array(body.utf8))
    }

    mutating func begin(_ epoch: String, _ db: Database) throws {
        coverage = Coverage()
        var segment = StagedBatch.Segment(channel: channel)
        segment.epoch = try Epoch(epoch)
        segment.formerMissing = positions.isEmpty ? nil : []
        try write(segment, db)
    }

    mutating func resume(_ db: Database) throws {
        guard let stored = try ChannelStore.stored(channel, db) else { return }
        positions = [channel: stored.position]
        coverage = stored.coverage
    }

    mutating func add(_ events: [ServerFrame.Event], _ db: Database) throws {
        var segment = StagedBatch.Segment(channel: channel)
        segment.events = events
        for event in events { coverage.insert(after: event.prev, through: event.seq) }
        segment.coverage = coverage
        segment.head = coverage.top
        try write(segment, db)
    }

    private mutating func write(_ segment: StagedBatch.Segment, _ db: Database) throws {
        var batch = StagedBatch()
        batch.segments = [segment]
        positions = try ChannelStore.write(batch, at: positions, db)
    }
}

/// A channel in which messages are edited and deleted, and the order in which its events arrive.
private struct Script: Sendable {
    struct Shown: Hashable {
        var id: String
        var body: String
        var isEdited: Bool
        var isDeleted: Bool

        init(_ message: ChannelMessage) {
            id = message.id.text
            body = message.json
            isEdited = message.isEdited
            isDeleted = message.isDeleted
        }

        init(id: String, body: String, isEdited: Bool, isDeleted: Bool) {
            self.id = id
            self.body = body
            self.isEdited = isEdited
            self.isDeleted = isDeleted
        }
    }

    let channel: ChannelName
    private var arriving: [ServerFrame.Event] = []
    private var batches = 1
    /// What a list has to show, oldest first.
    private(set) var shown: [Shown] = []
    /// Bodies that must not be left.
    private(set) var secrets: Set<String> = []

    init(channel: String, random: inout SeededGenerator) throws {
        self.channel = try ChannelName(channel)
        let log = LogScript(channel: self.channel)
        var own: [Int64] = []
        var bodies: [Int64: [String]] = [:]
        var deleted: Set<Int64> = []
        var events: [ServerFrame.Event] = []
        for seq in Int64(1)...Int64.random(in: 4...24, using: &random) {
            let target = own.randomElement(using: &random)
            let body = #""\#(seq)""#
            let isDeletedAlready = Bool.random(using: &random)
            switch (Int.random(in: 0..<4, using: &random), target) {
            case (0, let target?) where !deleted.contains(target):
                bodies[target]?.append(body)
                events.append(try log.event(seq, "m\(seq)", .edits(target), body: body))
            case (1, let target?):
                deleted.insert(target)
                events.append(try log.event(seq, "m\(seq)", .deletes(target), body: "null"))
                // The server blanks what it sends from then on; what it sent before had the body.
                guard isDeletedAlready else { break }
                for place in events.indices
                where events[place].seq == target || events[place].change == .edits(target) {
                    events[place].body = Array("null".utf8)
                    events[place].isDeleted = true
                }
            default:
                own.append(seq)
                bodies[seq] = [body]
                events.append(try log.event(seq, "m\(seq)", body: body))
            }
        }
        arriving = events.shuffled(using: &random)
        batches = Int.random(in: 1...4, using: &random)
        for seq in own {
            let isDeleted = deleted.contains(seq)
            let versions = bodies[seq] ?? []
            if isDeleted { secrets.formUnion(versions) }
            shown.append(
                Shown(
                    id: "m\(seq)", body: isDeleted ? "null" : versions.last ?? "",
                    isEdited: !isDeleted && versions.count > 1, isDeleted: isDeleted))
        }
    }

    func store(_ db: Database) throws {
        var log = LogScript(channel: channel)
        try log.begin("e1", db)
        let size = max(1, arriving.count / batches)
        for start in stride(from: 0, to: arriving.count, by: size) {
            try log.add(Array(arriving[start..<min(start + size, arriving.count)]), db)
        }
    }
}
