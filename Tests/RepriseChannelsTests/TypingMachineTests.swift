import RepriseChannels
import RepriseTestSupport
import RepriseWire
import Testing

@Suite("Typing machine")
struct TypingMachineTests {
    private let general: ChannelName
    private let ada: UserID
    private let bob: UserID
    private let eve: UserID

    init() throws {
        general = try ChannelName("general")
        ada = try UserID("ada")
        bob = try UserID("bob")
        eve = try UserID("eve")
    }

    private func connected() -> TypingMachine {
        var machine = TypingMachine()
        machine.connected(as: ada)
        return machine
    }

    @Test(
        "sends typing at the first key and every four seconds, and its end after five without a key"
    )
    func mine() {
        var machine = connected()
        #expect(machine.due == nil)
        #expect(machine.typed(in: general, at: .zero) == [.send(general, isTyping: true)])
        for second in 1...3 { #expect(machine.typed(in: general, at: .seconds(second)) == []) }
        #expect(machine.typed(in: general, at: .seconds(4)) == [.send(general, isTyping: true)])
        #expect(machine.due == .seconds(9))
        #expect(machine.timerFired(at: .seconds(8)) == [])
        #expect(machine.timerFired(at: .seconds(9)) == [.send(general, isTyping: false)])
        #expect(machine.due == nil)
        #expect(machine.stopped(in: general) == [])
    }

    @Test(
        "shows several users in the order in which they began, each until ten seconds without a report",
        .limit("channels.typing"))
    func others() {
        var machine = connected()
        func hear(
            _ user: UserID, _ isTyping: Bool, at now: Duration, expires: Duration = .seconds(10)
        )
            -> [TypingMachine.Action]
        {
            machine.typingReceived(
                from: user, in: general, isTyping: isTyping, expires: expires, at: now)
        }
        #expect(hear(bob, true, at: .zero) == [.show(general, [bob])])
        #expect(hear(eve, true, at: .seconds(2)) == [.show(general, [bob, eve])])
        #expect(hear(bob, true, at: .seconds(4)) == [])
        #expect(machine.due == .seconds(12))
        #expect(machine.timerFired(at: .seconds(12)) == [.show(general, [bob])])
        // A server cannot make somebody type for ever.
        #expect(hear(bob, true, at: .seconds(13), expires: .seconds(1_000)) == [])
        #expect(machine.due == .seconds(23))
        #expect(hear(bob, false, at: .seconds(14)) == [.show(general, [])])
        #expect(machine.due == nil)
    }

    @Test(
        "shows never the own user, sends nothing without a connection, and shows no user once the connection has ended"
    )
    func connection() {
        var machine = TypingMachine()
        #expect(machine.typed(in: general, at: .zero) == [])
        machine.connected(as: ada)
        for user in [ada, bob] {
            let steps = machine.typingReceived(
                from: user, in: general, isTyping: true, expires: .seconds(10), at: .zero)
            #expect(steps == (user == ada ? [] : [.show(general, [bob])]))
        }
        #expect(machine.typed(in: general, at: .zero) == [.send(general, isTyping: true)])
        #expect(machine.disconnected() == [.show(general, [])])
        #expect(machine.due == nil)
    }

    @Test("a channel shows twenty people at most", .limit("channels.typing"))
    func bound() throws {
        var machine = connected()
        for index in 0..<50 {
            _ = machine.typingReceived(
                from: try UserID("u\(index)"), in: general, isTyping: true, expires: .seconds(10),
                at: .zero)
        }
        let steps = machine.typingReceived(
            from: try UserID("u0"), in: general, isTyping: false, expires: .zero, at: .zero)
        guard case .show(_, let users) = steps.first else {
            Issue.record("nobody is shown")
            return
        }
        #expect(users.count == TypingMachine.shown - 1)
    }
}
