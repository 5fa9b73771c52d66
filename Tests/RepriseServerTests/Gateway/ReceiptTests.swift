import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseWire
import Synchronization
import Testing

@Suite("Receipts and positions")
struct ReceiptTests {
    let general = channel()

    static func position(_ frame: ServerFrame) -> ServerFrame.Position? {
        if case .receipt(_, let position) = frame { position } else { nil }
    }

    static func positions(_ frames: [ServerFrame]) -> [ServerFrame.Positions] {
        frames.compactMap { if case .positions(let positions) = $0 { positions } else { nil } }
    }

    @Test(
        "a receipt is durable, clamped to the head, echoed to its sender and told to the others",
        arguments: PeoplePlace.allCases)
    func receipt(place: PeoplePlace) async throws {
        try await place.run { first, second in
            try await first.fill(general, messages: 4)
            let (ada, ben) = (
                try await first.client(as: "ada"), try await second.client(as: "ben")
            )
            try await ada.subscribe(general)
            try await ben.subscribe(general)
            try await ada.send(.receipt(.init(channel: general, read: 3, delivered: 99)))
            let expected = ServerFrame.Position(user: user("ada"), read: 3, delivered: 4)
            #expect(Self.position(try await ada.nextFrame()) == expected)
            #expect(Self.position(try await ben.nextFrame()) == expected)
            #expect(try await ada.everythingSoFar().isEmpty, "the sender is told once")
            let eve = try await second.client(as: "eve")
            let told = Self.positions(try await eve.subscribe(general)).flatMap(\.positions)
            #expect(told.contains(expected), "it is stored by then")
        }
    }

    @Test(
        "a receipt without a position moves nothing, and is answered with the user's position",
        arguments: PeoplePlace.allCases)
    func empty(place: PeoplePlace) async throws {
        try await place.run { first, second in
            try await first.fill(general, messages: 4)
            let former = try await first.client(as: "ada")
            try await former.subscribe(general)
            try await former.send(.receipt(.init(channel: general, read: 3)))
            #expect(Self.position(try await former.nextFrame())?.read == 3)
            let ada = try await second.client(as: "ada")
            try await ada.subscribe(general)
            try await ada.send(.receipt(.init(channel: general)))
            let answer = Self.position(try await ada.nextFrame())
            #expect(answer == ServerFrame.Position(user: user("ada"), read: 3, delivered: 0))
        }
    }

    @Test("a position is sent only once it is durable; a failed write is tried again")
    func durableFirst() async throws {
        try await RunningServer.withUsers { server, accounts in
            try await server.fill(general, messages: 1)
            accounts.change { $0.moveFailures = 1 }
            let ada = try await server.client(as: "ada")
            try await ada.subscribe(general)
            try await ada.send(.receipt(.init(channel: general, read: 1)))
            #expect(Self.position(try await ada.nextFrame())?.read == 1)
            #expect(accounts.state.withLock { $0.moves } == 1, "it is stored by then")
        }
    }

    @Test("a receipt that is refused when it is stored is answered, and not tried again for ever")
    func refusedWhenStored() async throws {
        try await RunningServer.withUsers { server, accounts in
            try await server.fill(general, messages: 1)
            let ada = try await server.client(as: "ada")
            try await ada.subscribe(general)
            // The membership has ended, and this connection has not heard of it.
            let place = ScriptedAccounts.Place(channel: general, user: user("ada"))
            accounts.change { $0.grants[place] = Grant.nothing }
            try await ada.send(.receipt(.init(channel: general, read: 1)))
            let refusal = try #require(AccessTests.refusal(try await ada.nextFrame()))
            #expect(refusal == ("general", nil, .forbidden))
            accounts.set(Grant(mayRead: true, mayPublish: true), of: user("ada"), in: general)
            try await ada.subscribe(general, coverage: Coverage(through: 1))
            try await ada.send(.receipt(.init(channel: general, read: 1)))
            #expect(Self.position(try await ada.nextFrame())?.read == 1)
            #expect(accounts.state.withLock { $0.moves } == 1, "the refused one is not pending")
        }
    }

    @Test(
        "the users' positions follow right behind subscribed, the own user first",
        arguments: PeoplePlace.allCases)
    func positions(place: PeoplePlace) async throws {
        try await place.run { first, second in
            try await first.fill(general, messages: 5)
            for (name, read) in [("ada", Int64(2)), ("ben", 4), ("abe", 5)] {
                let client = try await first.client(as: name)
                try await client.subscribe(general)
                try await client.send(.receipt(.init(channel: general, read: read)))
                #expect(Self.position(try await client.nextFrame())?.read == read)
            }
            let ben = try await second.client(as: "ben")
            let frames = try await ben.subscribe(general)
            guard case .subscribed = frames.first,
                case .positions(let told) = frames.dropFirst().first
            else {
                Issue.record("\(frames)")
                return
            }
            #expect(told.positions.map(\.user.text) == ["ben", "abe", "ada"])
            #expect(told.positions.map(\.read) == [4, 5, 2])
            #expect(told.unread.head == 5)
        }
    }

    @Test("a thousand receipts at once become a few moves and a few frames, the newest last")
    func coalesced() async throws {
        try await RunningServer.withUsers { server, accounts in
            try await server.fill(general, messages: 1_000)
            let (ada, ben) = (
                try await server.client(as: "ada"), try await server.client(as: "ben")
            )
            try await ada.subscribe(general, coverage: Coverage(through: 1_000))
            try await ben.subscribe(general, coverage: Coverage(through: 1_000))
            accounts.change { $0.moveDelay = .milliseconds(20) }
            try await ada.send((1...1_000).map { .receipt(.init(channel: general, read: $0)) })
            var told: [Int64] = []
            while told.last != 1_000 {
                if let position = Self.position(try await ben.nextFrame()) {
                    told.append(position.read)
                }
            }
            #expect(told.count < 20)
            #expect(told == told.sorted())
            #expect(accounts.state.withLock { $0.moves } < 100)
        }
    }

    @Test(
        "a subscriber at another gateway sees positions only move forward, and gets the newest",
        arguments: PeoplePlace.allCases)
    func forward(place: PeoplePlace) async throws {
        try await place.run { first, second in
            try await first.fill(general, messages: 200)
            let (ada, ben) = (
                try await first.client(as: "ada"), try await second.client(as: "ben")
            )
            try await ada.subscribe(general)
            try await ben.subscribe(general)
            try await ada.send((1...200).map { .receipt(.init(channel: general, read: $0)) })
            var told: [Int64] = []
            while told.last != 200 {
                if let position = Self.position(try await ben.nextFrame()) {
                    told.append(position.read)
                }
            }
            #expect(told == told.sorted())
        }
    }

    @Test(
        "in a channel with many members only the user's own connections are told",
        .limit("server.receiptReceivers"))
    func large() async throws {
        try await RunningServer.withUsers { server, accounts in
            try await server.fill(general, messages: 2)
            accounts.change { $0.members[general] = WireLimits.positions + 1 }
            let (phone, tablet, ben) = (
                try await server.client(as: "ada"), try await server.client(as: "ada"),
                try await server.client(as: "ben")
            )
            for each in [phone, tablet, ben] { try await each.subscribe(general) }
            try await phone.send(.receipt(.init(channel: general, read: 2)))
            #expect(Self.position(try await phone.nextFrame())?.read == 2)
            #expect(Self.position(try await tablet.nextFrame())?.read == 2)
            #expect(try await ben.everythingSoFar().isEmpty)
        }
    }

    @Test(
        "no receipts are queued for a client that does not read; once it reads it gets the newest positions"
    )
    func demoted() async throws {
        var limits = ServerLimits()
        limits.unsentBytes = 262_144
        limits.unsentBytesToResume = 65_536
        try await RunningServer.withUsers(limits) { server, accounts in
            let slow = try await server.client(as: "ben", receiveBuffer: 8_192)
            let ada = try await server.client(as: "ada")
            try await slow.subscribe(general)
            try await slow.subscribe(channel("quiet"))
            try await server.fill(channel("quiet"), messages: 100)
            try await ada.subscribe(channel("quiet"), coverage: Coverage(through: 100))
            let before = server.log.state.withLock(\.reads)
            for _ in 0..<30 { try await server.fill(general, messages: 100, bytes: 20_000) }
            // It is demoted, and its catch-up reads no more.
            var reads = before
            try await eventually("its socket takes nothing more", every: .milliseconds(200)) {
                let former = reads
                reads = server.log.state.withLock(\.reads)
                return reads > before && reads == former
            }
            for read in 1...100 as ClosedRange<Int64> {
                try await ada.send(.receipt(.init(channel: channel("quiet"), read: read)))
                try await ada.send(.typing(channel("quiet"), isTyping: read.isMultiple(of: 2)))
                while Self.position(try await ada.nextFrame()) == nil {}
            }
            var receipts = 0
            var told: ServerFrame.Positions?
            while told?.positions.first(where: { $0.user == user("ada") })?.read != 100 {
                switch try await slow.nextFrame() {
                case .receipt: receipts += 1
                case .typing: Issue.record("typing is old by now")
                case .positions(let positions) where positions.channel == channel("quiet"):
                    told = positions
                default: break
                }
            }
            #expect(receipts == 0)
        }
    }
}
