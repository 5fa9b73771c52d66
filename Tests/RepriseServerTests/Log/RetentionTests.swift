import Logging
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

@Suite("Retention")
struct RetentionTests {
    let room: ChannelName

    init() throws { room = try ChannelName("room") }

    /// Ten messages of 100 bytes, one a minute; the newest is of now.
    static let rules: [(RetentionPolicy, RetentionPolicy?, floor: Int64)] = [
        (.init(), nil, 0),
        (.init(count: 4), nil, 6),
        (.init(age: .seconds(150)), nil, 7),
        (.init(bytes: 400), nil, 6),
        (.init(bytes: 399), nil, 7),
        (.init(bytes: 401), nil, 6),
        (.init(bytes: 1_000), nil, 0),
        (.init(bytes: 0), nil, 10),
        (.init(count: 8, age: .seconds(330), bytes: 900), nil, 4),
        (.init(count: 4), .init(count: 8), 2),
        (.init(count: 4), .init(bytes: 900), 6),
        (.init(), .init(bytes: 300), 7),
        (.init(bytes: 300), .init(bytes: 900), 1),
        (.init(age: .seconds(150)), .init(age: .seconds(90)), 8),
        (.init(count: 4), .init(), 6),
    ]

    @Test(
        "removes the oldest by count, age and bytes; the channel's policy comes before the server's",
        .limit("log.retention"),
        arguments: rules)
    func table(policy: RetentionPolicy, own: RetentionPolicy?, floor: Int64) async throws {
        let clock = ManualClock()
        try await LogUnderTest.sqlite.run(clock: clock) { store in
            let body = "\"" + String(repeating: "x", count: 98) + "\""
            for number in 0..<10 {
                if number > 0 { clock.advance(by: .seconds(60)) }
                _ = try await store.append([message(room, body: body)])
            }
            let untouched = try ChannelName("untouched")
            _ = try await store.append([message(untouched)])
            try await store.log.trim(policy, now: clock.wall()) { names in
                #expect(names == [room, untouched])
                return own.map { [room: $0, untouched: RetentionPolicy(count: 5)] } ?? [:]
            }
            let state = try await store.log.state(of: room)
            #expect(state.floor == floor)
            #expect(state.head == 10)
            let page = try await store.everything(in: room)
            #expect(page.events.map(\.prev) == Array(floor..<10))
            #expect(page.gone.map(\.range.through) == (floor > 0 ? [floor] : []))
            // What the writer remembers is right too: the same policy finds nothing more.
            _ = try await store.append([message(room, body: body)])
            #expect(try await store.log.state(of: room).head == 11)
        }
    }

    @Test("the byte limit counts stored bodies: a deletion makes room, also after a restart")
    func bytes() async throws {
        let store = try SQLiteStore()
        try await store.reopen()
        let user = try UserID("ada")
        let big = NewMessage(
            channel: room, id: .random(), from: user,
            body: Array("\"\(String(repeating: "x", count: 998))\"".utf8))
        _ = try await store.append([
            big, message(room, body: "12345678"),
            NewMessage(
                channel: room, id: .random(), change: .deletes(big.id), from: user, body: []),
        ])
        try await store.reopen()
        let policy = RetentionPolicy(bytes: 16)
        try await store.log.trim(policy, now: WallTime(milliseconds: 0))
        #expect(try await store.log.state(of: room).floor == 0, "4 + 8 + 4 bytes are kept")
        _ = try await store.append([message(room, body: "12")])
        try await store.log.trim(policy, now: WallTime(milliseconds: 0))
        #expect(try await store.log.state(of: room).floor == 1)
        await store.remove()
    }

    @Test("housekeeping asks the accounts for the channels' own policies")
    func housekeeping() async throws {
        let clock = ManualClock()
        let store = try SQLiteStore(clock: clock)
        try await store.reopen()
        let accounts = try Accounts.open(at: store.folder.path, implicitChannels: false)
        _ = try await store.fill(room, 10)
        #expect(try await accounts.retentionOverrides() == nil)
        try await accounts.setChannel(
            room, ChannelSettings(retention: RetentionPolicy(count: 3)), by: .open,
            at: clock.wall(), head: 10)
        let housekeeping = Housekeeping(
            log: store.log, policy: RetentionPolicy(count: 5), accounts: accounts, clock: clock,
            logger: Logger(label: "test"))
        var calendar = WallClockGuard(stored: nil, now: clock.clockReading())
        await housekeeping.pass(&calendar)
        #expect(try await store.log.state(of: room).floor == 7)
        await accounts.close()
        await store.remove()
    }
}
