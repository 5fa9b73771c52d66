import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseWire
import Testing

@Suite("Decisions about presence")
struct PresenceBoardTests {
    private let team = channel("team")
    private let ada = user("ada")
    private let ben = user("ben")
    private let eve = user("eve")
    private let wall = WallTime(milliseconds: 1_000)

    /// The answer to a look, or the changes that a connection is told.
    private static func told(_ actions: [PresenceBoard.Action]) -> [String] {
        actions.map { action in
            switch action {
            case .look(let connection, _, let watches):
                "\(connection) looks at \(watches.map(\.channel.text).joined(separator: " "))"
            case .send(let connection, let presence):
                "\(connection) \(presence.channel?.text ?? "-"):"
                    + presence.users.map { user in
                        " \(user.user)=\(user.state)"
                            + (user.seen.map { "@\($0.milliseconds)" } ?? "")
                    }.joined() + (presence.refusal.map { " \($0)" } ?? "")
            }
        }
    }

    /// Ada's connection 1 watches the team, of which Ben is a member.
    private func watching(
        _ board: inout PresenceBoard, _ members: [PresenceBoard.Member]? = nil,
        at now: Duration = .zero
    ) -> [String] {
        let look = board.watched([.init(channel: team)], by: 1, of: ada, now: now)
        let sight = PresenceBoard.Sight(team, members ?? [PresenceBoard.Member(ben)])
        return Self.told(look) + Self.told(board.looked(1, [sight], now: now))
    }

    @Test("presence of unwatched users causes no frame and no timer")
    func nobodyWatches() {
        var board = PresenceBoard()
        board.connected(ben, wall: wall)
        board.reported(ben, isIdle: true, wall: wall)
        #expect(board.due == nil)
        board.left(ben, wasIdle: true, now: .zero, wall: wall)
        #expect(board.due == nil)
        #expect(board.timerFired(now: .seconds(60)).isEmpty)
    }

    @Test("a user is online with one device in use, idle with none, and offline without any")
    func states() {
        var board = PresenceBoard()
        #expect(watching(&board) == ["1 looks at team", "1 team: ben=offline"])
        var now = Duration.zero
        func after(_ change: (inout PresenceBoard, Duration) -> Void) -> [String] {
            now += .seconds(10)
            change(&board, now)
            now += .seconds(10)
            return Self.told(board.timerFired(now: now))
        }
        #expect(after { board, _ in board.connected(ben, wall: wall) } == ["1 -: ben=online"])
        #expect(
            after { board, _ in board.reported(ben, isIdle: true, wall: wall) }
                == ["1 -: ben=idle"])
        #expect(after { board, _ in board.connected(ben, wall: wall) } == ["1 -: ben=online"])
        #expect(
            after { board, now in board.left(ben, wasIdle: false, now: now, wall: wall) }
                == ["1 -: ben=idle"])
        let later = WallTime(milliseconds: 7_000)
        #expect(
            after { board, now in board.left(ben, wasIdle: true, now: now, wall: later) }
                == ["1 -: ben=offline@1000"], "when he used one last")
        #expect(board.due == nil)
    }

    @Test("a device that wakes and is not used leaves its user's last-seen time as it was")
    func woken() {
        var board = PresenceBoard()
        let later = WallTime(milliseconds: 9_000)
        #expect(
            watching(&board, [.init(ben, seen: wall)])
                == ["1 looks at team", "1 team: ben=offline@1000"])
        board.connected(ben, isIdle: true, wall: later)
        #expect(Self.told(board.timerFired(now: .seconds(10))) == ["1 -: ben=idle"])
        board.left(ben, wasIdle: true, now: .seconds(20), wall: later)
        #expect(Self.told(board.timerFired(now: .seconds(30))) == ["1 -: ben=offline@1000"])
        #expect(board.seenDue == nil && board.takeSeen(now: .seconds(30)).isEmpty)
        board.connected(ben, isIdle: true, wall: wall)
        board.reported(ben, isIdle: false, wall: later)
        board.left(ben, wasIdle: false, now: .seconds(40), wall: later)
        #expect(Self.told(board.timerFired(now: .seconds(50))) == ["1 -: ben=offline@9000"])
        #expect(board.takeSeen(now: .seconds(50)) == [ben: later])
    }

    @Test(
        "changes are sent once in an interval, the newest of each user, and unchanged states are not",
        .limit("presence.changes"))
    func gathered() {
        var board = PresenceBoard()
        _ = watching(&board)
        board.connected(ben, wall: wall)
        #expect(Self.told(board.timerFired(now: .seconds(10))) == ["1 -: ben=online"])
        for isIdle in [true, false, true, false, true] {
            board.reported(ben, isIdle: isIdle, wall: wall)
        }
        #expect(board.timerFired(now: .milliseconds(10_900)).isEmpty)
        #expect(board.due == .seconds(11))
        #expect(Self.told(board.timerFired(now: .seconds(11))) == ["1 -: ben=idle"])
        board.reported(ben, isIdle: false, wall: wall)
        board.reported(ben, isIdle: true, wall: wall)
        #expect(board.timerFired(now: .seconds(12)).isEmpty)
        #expect(board.due == nil)
    }

    @Test(
        "a user who reconnects within five seconds is never shown offline", .limit("presence.grace")
    )
    func grace() {
        var board = PresenceBoard()
        board.connected(ben, wall: wall)
        #expect(watching(&board) == ["1 looks at team", "1 team: ben=online"])
        board.left(ben, wasIdle: false, now: .seconds(1), wall: wall)
        #expect(board.timerFired(now: .seconds(5)).isEmpty)
        board.connected(ben, wall: wall)
        #expect(board.timerFired(now: .seconds(7)).isEmpty)
        board.left(ben, wasIdle: false, now: .seconds(8), wall: wall)
        #expect(board.timerFired(now: .seconds(12)).isEmpty)
        #expect(board.due == .seconds(13))
        #expect(Self.told(board.timerFired(now: .seconds(13))) == ["1 -: ben=offline@1000"])
    }

    @Test(
        "a hidden user is offline without a last-seen time, however he is looked up, until he stops hiding"
    )
    func hidden() {
        var board = PresenceBoard()
        board.connected(ben, wall: wall)
        #expect(
            watching(&board, [.init(ben, isHidden: true, seen: wall)])
                == ["1 looks at team", "1 team: ben=offline"])
        board.reported(ben, isIdle: true, wall: wall)
        #expect(board.timerFired(now: .seconds(2)).isEmpty)
        board.hid(ben, false)
        #expect(Self.told(board.timerFired(now: .seconds(4))) == ["1 -: ben=idle"])
        board.hid(ben, true)
        #expect(Self.told(board.timerFired(now: .seconds(6))) == ["1 -: ben=offline"])
        board.left(ben, wasIdle: true, now: .seconds(7), wall: wall)
        #expect(board.timerFired(now: .seconds(20)).isEmpty)
    }

    @Test(
        "presence from other gateways counts beside the local connections, also for a user who is shown later"
    )
    func elsewhere() {
        var board = PresenceBoard()
        var now = Duration.zero
        func tell(
            _ state: PresenceState?, at milliseconds: Int64 = 2_000, isLost: Bool = false
        ) -> [String] {
            now += .seconds(10)
            let seen = WallTime(milliseconds: milliseconds)
            board.elsewhere(.init(ben, state, seen: seen, isLost: isLost), now: now)
            let told = Self.told(board.timerFired(now: now))
            now += .seconds(10)
            return told + Self.told(board.timerFired(now: now))
        }
        #expect(tell(.idle).isEmpty, "nobody watches")
        #expect(board.takeWatches().isEmpty)
        #expect(watching(&board) == ["1 looks at team", "1 team: ben=idle"])
        #expect(board.takeWatches() == [ben: true])
        #expect(board.takeWatches().isEmpty)
        #expect(tell(.online) == ["1 -: ben=online"])
        board.connected(ben, wall: wall)
        #expect(tell(.idle).isEmpty, "he is online here")
        board.left(ben, wasIdle: false, now: now, wall: wall)
        #expect(tell(.idle) == ["1 -: ben=idle"])
        #expect(tell(nil, at: 7_000) == ["1 -: ben=offline@7000"])
        #expect(tell(.online) == ["1 -: ben=online"])
        _ = board.takeSeen(now: now)
        board.elsewhere(
            .init(ben, nil, seen: WallTime(milliseconds: 8_000), isLost: true), now: now)
        #expect(board.takeSeen(now: now) == [ben: WallTime(milliseconds: 8_000)])
        #expect(
            Self.told(board.timerFired(now: now + .seconds(1))) == ["1 -: ben=offline@8000"],
            "without the time for coming back")
        board.ended(1)
        #expect(board.takeWatches() == [ben: false])
    }

    @Test("a user who leaves at another gateway has the same time to come back, at any gateway")
    func graceElsewhere() {
        var board = PresenceBoard()
        _ = watching(&board)
        board.elsewhere(.init(ben, .online, seen: wall), now: .zero)
        #expect(Self.told(board.timerFired(now: .seconds(2))) == ["1 -: ben=online"])
        board.elsewhere(.init(ben, nil, seen: wall), now: .seconds(3))
        #expect(board.timerFired(now: .seconds(7)).isEmpty)
        board.connected(ben, wall: wall)
        #expect(board.timerFired(now: .seconds(20)).isEmpty)
        #expect(board.due == nil)
        board.left(ben, wasIdle: false, now: .seconds(21), wall: wall)
        board.elsewhere(.init(ben, .online, seen: wall), now: .seconds(22))
        #expect(board.timerFired(now: .seconds(40)).isEmpty)
    }

    @Test("a look-up that began before a user hid is not sent, but made again")
    func hiddenMeanwhile() {
        var board = PresenceBoard()
        board.connected(ben, wall: wall)
        _ = board.watched([.init(channel: team)], by: 1, of: ada, now: .zero)
        board.hid(ben, true)
        #expect(board.looked(1, [.init(team, [.init(ben)])], now: .zero).isEmpty)
        #expect(Self.told(board.timerFired(now: .seconds(1))) == ["1 looks at team"])
        let again = board.looked(1, [.init(team, [.init(ben, isHidden: true)])], now: .seconds(1))
        #expect(Self.told(again) == ["1 team: ben=offline"])
    }

    @Test("after a change of members nothing is sent of the channel before it is read again")
    func membersChanged() {
        var board = PresenceBoard()
        _ = watching(&board)
        board.membersChanged(in: team)
        board.connected(ben, wall: wall)
        #expect(Self.told(board.timerFired(now: .seconds(2))) == ["1 looks at team"])
        // They change again before the answer: that is void.
        board.membersChanged(in: team)
        #expect(board.looked(1, [.init(team, [.init(ben)])], now: .seconds(2)).isEmpty)
        #expect(Self.told(board.timerFired(now: .seconds(3))) == ["1 looks at team"])
        let refused = board.looked(1, [.init(team, refusal: .forbidden)], now: .seconds(3))
        #expect(Self.told(refused) == ["1 team: forbidden"])
        board.reported(ben, isIdle: true, wall: wall)
        #expect(board.timerFired(now: .seconds(9)).isEmpty)
    }

    @Test("many changes of a channel go through its watchers once, until they look at it again")
    func manyChanges() {
        var board = PresenceBoard()
        let watchers: ClosedRange<UInt64> = 1...2_000
        for connection in watchers {
            _ = board.watched([.init(channel: team)], by: connection, of: ada, now: .zero)
            _ = board.looked(connection, [.init(team, [.init(ben)])], now: .zero)
        }
        let took = ContinuousClock().measure {
            for _ in 0..<5_000 { board.membersChanged(in: team) }
        }
        #expect(took < .seconds(2), "not ten million times")
        #expect(board.timerFired(now: .seconds(2)).count == watchers.count)
        board.membersChanged(in: team)
        for connection in watchers {
            #expect(board.looked(connection, [.init(team, [.init(ben)])], now: .seconds(2)).isEmpty)
        }
        #expect(board.timerFired(now: .seconds(4)).count == watchers.count)
    }

    @Test(
        "a connection's look-ups are an interval apart, one at a time, and the newest watch counts",
        .limit("presence.looks"))
    func looks() {
        var board = PresenceBoard()
        let (one, two) = (channel("one"), channel("two"))
        #expect(
            Self.told(board.watched([.init(channel: one)], by: 1, of: ada, now: .zero))
                == ["1 looks at one"])
        #expect(
            board.watched([.init(channel: two)], by: 1, of: ada, now: .milliseconds(100)).isEmpty)
        #expect(board.looked(1, [.init(one, [.init(ben)])], now: .milliseconds(200)).isEmpty)
        #expect(board.timerFired(now: .milliseconds(200)).isEmpty)
        #expect(Self.told(board.timerFired(now: .milliseconds(1_200))) == ["1 looks at two"])
        #expect(
            Self.told(board.looked(1, [.init(two, [.init(eve)])], now: .milliseconds(1_300)))
                == ["1 two: eve=offline"])
        // The same again is not looked at again.
        #expect(board.watched([.init(channel: two)], by: 1, of: ada, now: .seconds(9)).isEmpty)
        #expect(board.due == nil)
        // A failed look is repeated.
        _ = board.watched([.init(channel: one)], by: 1, of: ada, now: .seconds(10))
        #expect(board.looked(1, nil, now: .seconds(10)).isEmpty)
        #expect(Self.told(board.timerFired(now: .seconds(12))) == ["1 looks at one"])
    }

    @Test("a watch, a channel of a watch and a connection get nothing more after their end")
    func ends() {
        var board = PresenceBoard()
        _ = watching(&board)
        #expect(board.watcherCount == 1)
        #expect(board.watched([], by: 1, of: ada, now: .seconds(5)).isEmpty)
        board.connected(ben, wall: wall)
        #expect(board.watcherCount == 0)
        #expect(board.timerFired(now: .seconds(9)).isEmpty)
        // Watching anew is no way to look more often.
        func watch(_ channels: [ChannelName], at milliseconds: Int) -> Int {
            board.watched(
                channels.map { .init(channel: $0) }, by: 1, of: ada,
                now: .milliseconds(milliseconds)
            ).count
        }
        #expect(watch([team], at: 10_100) == 1)
        _ = board.looked(1, [.init(team, [.init(ben)])], now: .milliseconds(10_200))
        #expect(watch([], at: 10_300) == 0)
        #expect(watch([team], at: 10_400) == 0)
        #expect(watch([], at: 10_500) == 0)
        _ = watching(&board, at: .seconds(20))
        board.ended(1)
        board.reported(ben, isIdle: true, wall: wall)
        #expect(board.timerFired(now: .seconds(29)).isEmpty)
        #expect(board.due == nil)
        #expect(board.looked(1, [.init(team, [.init(ben)])], now: .seconds(30)).isEmpty)
    }

    @Test(
        "a user who is watched in two channels is sent once, and still sent when one of them ends")
    func twoChannels() {
        var board = PresenceBoard()
        let other = channel("other")
        _ = board.watched(
            [.init(channel: team), .init(channel: other, users: [ben])], by: 1, of: ada, now: .zero)
        _ = board.looked(1, [.init(team, [.init(ben)]), .init(other, [.init(ben)])], now: .zero)
        board.connected(ben, wall: wall)
        #expect(Self.told(board.timerFired(now: .seconds(2))) == ["1 -: ben=online"])
        _ = board.watched([.init(channel: team)], by: 1, of: ada, now: .seconds(3))
        board.reported(ben, isIdle: true, wall: wall)
        #expect(Self.told(board.timerFired(now: .seconds(4))) == ["1 -: ben=idle"])
    }

    @Test("a user who begins to watch between two intervals gets the states that the others got")
    func newWatcher() {
        var board = PresenceBoard()
        _ = watching(&board)
        board.connected(ben, wall: wall)
        #expect(Self.told(board.timerFired(now: .seconds(2))) == ["1 -: ben=online"])
        board.reported(ben, isIdle: true, wall: wall)
        _ = board.watched([.init(channel: team)], by: 2, of: eve, now: .seconds(2))
        #expect(
            Self.told(board.looked(2, [.init(team, [.init(ben)])], now: .seconds(2)))
                == ["2 team: ben=online"])
        #expect(
            Self.told(board.timerFired(now: .seconds(3))) == ["1 -: ben=idle", "2 -: ben=idle"])
    }

    @Test("presence that could not be sent to a connection is looked up again")
    func missed() {
        var board = PresenceBoard()
        _ = watching(&board)
        board.missed(by: 1)
        #expect(Self.told(board.timerFired(now: .seconds(2))) == ["1 looks at team"])
    }

    @Test("a presence frame names a bounded number of users", .limit("presence.users"))
    func frames() throws {
        var board = PresenceBoard()
        let all = try (0..<1_500).map { try UserID("u\($0)") }
        _ = watching(&board, all.map { .init($0) })
        for user in all { board.connected(user, wall: wall) }
        let sizes = board.timerFired(now: .seconds(2)).map { action in
            if case .send(_, let presence) = action { presence.users.count } else { 0 }
        }
        #expect(sizes == [WireLimits.presentUsers, 500])
    }

    @Test(
        "last-seen times are written in batches, without those of a user who begins to hide",
        .limit("presence.seen"))
    func seen() {
        var board = PresenceBoard()
        #expect(board.seenDue == nil)
        board.connected(ben, wall: wall)
        #expect(board.seenDue == .zero)
        #expect(board.takeSeen(now: .seconds(1)) == [ben: wall])
        #expect(board.seenDue == nil)
        let later = WallTime(milliseconds: 9_000)
        board.left(ben, wasIdle: false, now: .seconds(2), wall: later)
        board.connected(eve, wall: later)
        board.hid(eve, true)
        #expect(board.seenDue == .seconds(31))
        // What is not on the disk yet is known all the same.
        #expect(
            watching(&board, at: .seconds(3)) == ["1 looks at team", "1 team: ben=offline@9000"])
        #expect(board.takeSeen(now: .seconds(31)) == [ben: later])
        // Nobody watches her, so that it is not known here that she hides.
        board.left(eve, wasIdle: false, now: .seconds(32), wall: later)
        board.hid(eve, false)
        #expect(board.takeSeen(now: .seconds(70)).isEmpty)
    }
}
