import RepriseChannels
import RepriseCore
import RepriseTestSupport
import RepriseWire
import Testing

@Suite("Presence machine")
struct PresenceMachineTests {
    private let team: ChannelName
    private let other: ChannelName
    private let ben: UserID
    private let eve: UserID

    init() throws {
        team = try ChannelName("team")
        other = try ChannelName("other")
        ben = try UserID("ben")
        eve = try UserID("eve")
    }

    private func connected() -> PresenceMachine {
        var machine = PresenceMachine()
        _ = machine.connected(isOffered: true)
        return machine
    }

    private func answer(
        _ machine: inout PresenceMachine, _ channel: ChannelName, _ users: [UserPresence]
    ) -> [PresenceMachine.Action] {
        machine.received(.init(channel: channel, users: users))
    }

    @Test("watches every channel and user that is observed, and nothing once none is")
    func asks() {
        var machine = connected()
        #expect(
            machine.began(team, nil)
                == [.send(.watch([.init(channel: team)])), .show(team)])
        #expect(machine.began(team, nil) == [])
        #expect(
            machine.began(other, [ben])
                == [
                    .send(.watch([.init(channel: other, users: [ben]), .init(channel: team)])),
                    .show(other),
                ])
        #expect(machine.ended(team, nil) == [])
        #expect(
            machine.ended(team, nil) == [.send(.watch([.init(channel: other, users: [ben])]))])
        #expect(machine.ended(other, [ben]) == [.send(.watch([]))])
    }

    @Test("known presence begins with the answer, follows changes, and ends with the connection")
    func known() {
        var machine = connected()
        _ = machine.began(team, nil)
        #expect(machine.presence(of: team, nil) == .unknown)
        let online = UserPresence(user: ben, state: .online)
        let away = UserPresence(user: eve, state: .offline, seen: WallTime(milliseconds: 5))
        #expect(answer(&machine, team, [online, away]) == [.show(team)])
        #expect(machine.presence(of: team, nil) == .known([ben: online, eve: away]))
        #expect(machine.presence(of: team, [eve]) == .known([eve: away]))
        let idle = UserPresence(user: ben, state: .idle)
        let stranger = UserPresence(user: UserID(unchecked: "mallory"), state: .online)
        #expect(machine.received(.init(users: [idle, stranger])) == [.show(team)])
        #expect(machine.received(.init(users: [stranger])) == [])
        #expect(machine.presence(of: team, nil) == .known([ben: idle, eve: away]))
        // Eve is no member any more.
        #expect(answer(&machine, team, [idle]) == [.show(team)])
        #expect(machine.presence(of: team, nil) == .known([ben: idle]))
        #expect(machine.disconnected() == [.show(team)])
        #expect(machine.presence(of: team, nil) == .unknown)
        #expect(
            machine.connected(isOffered: true)
                == [.send(.watch([.init(channel: team)])), .show(team)])
        #expect(machine.presence(of: team, nil) == .unknown)
    }

    @Test("a server without presence is asked for nothing, and sent nothing")
    func notOffered() {
        var machine = PresenceMachine()
        #expect(machine.began(team, nil) == [])
        #expect(machine.presence(of: team, nil) == .unknown)
        #expect(machine.connected(isOffered: false) == [.show(team)])
        #expect(machine.presence(of: team, nil) == .refused(.notOffered))
        #expect(machine.idleChanged(true) == [])
        #expect(machine.began(other, nil) == [])
    }

    @Test("a device is idle when its user is, or in the background, and says so on each connection")
    func idle() {
        var machine = connected()
        #expect(machine.idleChanged(true) == [.send(.presence(.idle))])
        #expect(machine.phaseChanged(isInBackground: true) == [])
        #expect(machine.idleChanged(false) == [])
        #expect(machine.phaseChanged(isInBackground: false) == [.send(.presence(.online))])
        _ = machine.phaseChanged(isInBackground: true)
        _ = machine.disconnected()
        #expect(machine.connected(isOffered: true) == [.send(.presence(.idle))])
    }

    @Test("an app that reports its phases is idle until it says that it is in the foreground")
    func launched() {
        var machine = PresenceMachine(isInBackground: true)
        #expect(machine.dialed() == true)
        #expect(machine.connected(isOffered: true) == [.send(.presence(.idle))])
        #expect(machine.phaseChanged(isInBackground: false) == [.send(.presence(.online))])
    }

    @Test("a device whose hello said that it is idle says after the welcome what it is by then")
    func usedMeanwhile() {
        var machine = PresenceMachine(isInBackground: true)
        #expect(machine.dialed() == true)
        #expect(machine.phaseChanged(isInBackground: false) == [])
        #expect(machine.connected(isOffered: true) == [.send(.presence(.online))])
        _ = machine.disconnected()
        #expect(machine.dialed() == false)
        #expect(machine.connected(isOffered: true) == [])
        _ = machine.disconnected()
        _ = machine.phaseChanged(isInBackground: true)
        #expect(machine.dialed() == true)
        #expect(machine.connected(isOffered: true) == [.send(.presence(.idle))])
    }

    @Test("in a channel with too many members the users observed by name are asked for")
    func tooMany() {
        var machine = connected()
        _ = machine.began(team, nil)
        _ = machine.received(.init(channel: team, users: [], refusal: .tooManyMembers))
        #expect(machine.presence(of: team, nil) == .refused(.tooManyMembers))
        #expect(
            machine.began(team, [ben])
                == [.send(.watch([.init(channel: team, users: [ben])])), .show(team)])
        let online = UserPresence(user: ben, state: .online)
        _ = answer(&machine, team, [online])
        #expect(machine.presence(of: team, [ben]) == .known([ben: online]))
        #expect(machine.presence(of: team, nil) == .refused(.tooManyMembers))
        _ = machine.ended(team, [ben])
        _ = answer(&machine, team, [online])
        #expect(machine.presence(of: team, nil) == .known([ben: online]))
    }

    @Test(
        "beyond fifty channels the first by name are asked for, and the others show why they are not",
        .limit("channels.presence"))
    func tooManyChannels() throws {
        var machine = connected()
        let all = try (10...60).map { try ChannelName("c\($0)") }
        for name in all.dropFirst() { _ = machine.began(name, nil) }
        let last = all[50]
        #expect(machine.presence(of: last, nil) == .unknown)
        let actions = machine.began(all[0], nil)
        #expect(machine.presence(of: last, nil) == .refused(.tooManyChannels))
        #expect(actions.contains(.show(last)))
        #expect(machine.presence(of: all[0], nil) == .unknown)
        #expect(machine.ended(all[3], nil).contains(.show(last)))
        #expect(machine.presence(of: last, nil) == .unknown)
    }

    @Test("of more than a hundred users the first by name are asked for")
    func tooManyNames() {
        var machine = connected()
        let names = Set((100...300).map { UserID(unchecked: "u\($0)") })
        guard case .send(.watch(let watched))? = machine.began(team, names).first else {
            Issue.record("nothing is asked for")
            return
        }
        #expect(watched.first?.users == names.sorted().prefix(100).map(\.self))
    }
}
