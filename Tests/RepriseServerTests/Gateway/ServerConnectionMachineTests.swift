import RepriseCore
import RepriseServer
import RepriseWire
import Testing

@Suite("The machine of a connection")
struct ServerConnectionMachineTests {
    static let limits = ServerConnectionMachine.Limits(
        handshake: .seconds(10), heartbeat: .seconds(25), pingAfter: .seconds(45),
        idle: .seconds(90), notReading: .seconds(60), closeHandshake: .seconds(1),
        draining: .seconds(2),
        publishesInFlight: 4)
    static let device = EntryID.random()
    static let hello = ClientFrame.hello(.init(device: device, client: ""))

    static func open(at now: Duration = .zero) -> ServerConnectionMachine {
        var machine = ServerConnectionMachine(now: now)
        #expect(machine.frameReceived(hello, now: now) == .takeOver(device))
        #expect(machine.takeOver(from: 0, now: now) == .welcome)
        return machine
    }

    static func code(_ action: ServerConnectionMachine.Action?) -> CloseCode? {
        if case .close(let code, _) = action { code } else { nil }
    }

    static func code(_ disposition: ServerConnectionMachine.Disposition) -> CloseCode? {
        if case .close(let code, _) = disposition { code } else { nil }
    }

    func tick(
        _ machine: inout ServerConnectionMachine, _ now: Duration, isReading: Bool = true,
        beats: Bool = false
    ) -> ServerConnectionMachine.Action? {
        if !beats { machine.frameSent(now: now) }
        return machine.ticked(Self.limits, isReading: isReading, now: now)
    }

    @Test("hello comes first, once, and in a version that is spoken")
    func order() {
        var early = ServerConnectionMachine(now: .zero)
        #expect(Self.code(early.frameReceived(.unsubscribe([]), now: .zero)) == .outOfOrder)
        var strange = ServerConnectionMachine(now: .zero)
        let other = ClientFrame.hello(.init(version: 9, device: .random(), client: ""))
        #expect(Self.code(strange.frameReceived(other, now: .zero)) == .unsupportedVersion)
        #expect(strange.frameReceived(Self.hello, now: .zero) == .ignore)
        var twice = Self.open()
        #expect(twice.frameReceived(.unsubscribe([]), now: .zero) == .accept)
        #expect(Self.code(twice.frameReceived(Self.hello, now: .zero)) == .outOfOrder)
    }

    @Test("a device is welcomed once its older connections accept no more frames, and not before")
    func takesOver() {
        var older = Self.open()
        older.publishesAccepted(1)
        var machine = ServerConnectionMachine(now: .zero)
        #expect(machine.frameReceived(Self.hello, now: .zero) == .takeOver(Self.device))
        #expect(machine.takeOver(from: 2, now: .zero) == .ignore)
        #expect(machine.mustWait)
        #expect(!machine.mayRead(Self.limits))
        #expect(Self.code(older.replaced(now: .zero)) == .replaced)
        #expect(older.frameReceived(.unsubscribe([]), now: .zero) == .ignore)
        #expect(!older.maySend)
        #expect(machine.olderEnded(now: .zero) == .ignore)
        #expect(!machine.isOpen)
        #expect(machine.olderEnded(now: .zero) == .welcome)
        #expect(machine.isOpen && !machine.mustWait)
        #expect(machine.olderEnded(now: .zero) == .ignore)
    }

    @Test("a connection that waits for older ones can itself be replaced, or closed")
    func replacedMeanwhile() {
        var machine = ServerConnectionMachine(now: .zero)
        _ = machine.frameReceived(Self.hello, now: .zero)
        _ = machine.takeOver(from: 1, now: .zero)
        var quiescing = machine
        #expect(Self.code(machine.replaced(now: .zero)) == .replaced)
        #expect(machine.olderEnded(now: .zero) == .ignore)
        #expect(!machine.isOpen && !machine.mustWait)
        #expect(Self.code(quiescing.quiesceRequested(now: .zero)) == .goingAway)
    }

    @Test("the roster names all older connections of a device, and none of another user's")
    func roster() throws {
        var roster = DeviceRoster<Int>()
        let mine = ConnectingDevice(user: try UserID("ada"), device: Self.device)
        let other = ConnectingDevice(user: try UserID("ben"), device: Self.device)
        func arrive(_ connection: Int, as device: ConnectingDevice) -> DeviceRoster<Int>.Arrival {
            roster.entered(connection, as: device)
            return roster.arrived(connection, as: device, nil)
        }
        #expect(arrive(1, as: mine) == .newest(older: []))
        #expect(arrive(2, as: other) == .newest(older: []))
        #expect(arrive(3, as: mine) == .newest(older: [1]))
        #expect(arrive(4, as: mine) == .newest(older: [1, 3]), "they have not ended yet")
        roster.left(1, as: mine)
        roster.left(3, as: mine)
        roster.left(4, as: mine)
        #expect(arrive(5, as: mine) == .newest(older: []))
        #expect(arrive(6, as: other) == .newest(older: [2]))
    }

    @Test("in a cluster the journal says which of a device's connections is the newest")
    func generations() throws {
        let ada = ConnectingDevice(user: try UserID("ada"), device: Self.device)
        let at = { Generation(sequence: $0, place: 0) }
        var roster = DeviceRoster<Int>()
        for connection in 1...3 { roster.entered(connection, as: ada) }
        // The answers come in another order than the hellos.
        #expect(roster.arrived(2, as: ada, at(20)) == .newest(older: []))
        #expect(roster.arrived(1, as: ada, at(10)) == .replaced)
        #expect(roster.superseded(ada, by: at(30)) == [1, 2], "it is connected elsewhere")
        #expect(roster.superseded(ada, by: at(30)) == [])
        #expect(roster.arrived(3, as: ada, at(25)) == .replaced, "heard of before its own hello")
        roster.entered(4, as: ada)
        #expect(roster.superseded(ada, by: at(40)) == [1, 2, 3])
        #expect(roster.arrived(4, as: ada, at(40)) == .newest(older: [1, 2, 3]))
        for connection in 1...4 { roster.left(connection, as: ada) }
        #expect(roster.superseded(ada, by: at(50)) == [], "nobody is here")
        #expect(roster.arrived(4, as: ada, at(60)) == .replaced, "it has left")
    }

    @Test("the first reason to close is the only one")
    func closesOnce() {
        var machine = Self.open()
        #expect(Self.code(machine.violated(.notText, "", now: .zero)) == .notText)
        #expect(machine.violated(.malformedFrame, "", now: .zero) == nil)
        #expect(machine.quiesceRequested(now: .zero) == nil)
        #expect(!machine.maySend)
        #expect(machine.mayRead(Self.limits), "for the peer's close frame")
        #expect(machine.frameReceived(.unsubscribe([]), now: .zero) == .ignore)
        #expect(tick(&machine, .milliseconds(999)) == nil)
        #expect(tick(&machine, .seconds(1)) == .cut)
    }

    /// What the machine says to the peer's close frame.
    private static func leave(
        _ machine: inout ServerConnectionMachine, isAnswered: Bool = true
    ) -> ServerConnectionMachine.Farewell {
        machine.closeReceived(isAnswered: isAnswered, now: .zero)
    }

    private static func isDone(_ machine: inout ServerConnectionMachine) -> Bool {
        machine.requestsAnswered(now: .zero)
    }

    @Test("a close frame is echoed unless it is the answer to ours")
    func closeFrames() {
        var asked = Self.open()
        #expect(Self.leave(&asked) == .echo)
        #expect(Self.leave(&asked) == .end)
        #expect(tick(&asked, .seconds(1_000)) == nil)
        var unsent = Self.open()
        #expect(Self.leave(&unsent) == .echo)
        #expect(tick(&unsent, .seconds(1)) == .cut, "the echo was not taken")
        var answered = Self.open()
        _ = answered.violated(.notText, "", now: .zero)
        #expect(Self.leave(&answered) == .end)
    }

    @Test("frames before the peer's close frame are answered before that is echoed")
    func leaving() {
        var machine = Self.open()
        machine.publishesAccepted(2)
        #expect(Self.leave(&machine) == .wait)
        #expect(machine.maySend)
        #expect(!machine.mayRead(Self.limits))
        #expect(machine.publishesAnswered(1, now: .zero) == nil)
        #expect(!Self.isDone(&machine))
        #expect(machine.quiesceRequested(now: .zero) == nil, "it ends by itself")
        #expect(machine.publishesAnswered(1, now: .zero) == nil)
        #expect(Self.isDone(&machine))
        #expect(!machine.maySend)
        #expect(!Self.isDone(&machine), "once")

        var asking = Self.open()
        #expect(Self.leave(&asking, isAnswered: false) == .wait)
        #expect(asking.frameReceived(.unsubscribe([]), now: .zero) == .accept)
        #expect(tick(&asking, Self.limits.draining) == .cut, "but not for ever")

        var early = ServerConnectionMachine(now: .zero)
        #expect(Self.leave(&early, isAnswered: false) == .echo)
    }

    @Test("before welcome a frame has fewer bytes")
    func frameLimit() {
        #expect(ServerConnectionMachine(now: .zero).frameLimit == WireLimits.bytesBeforeWelcome)
        #expect(Self.open().frameLimit == WireLimits.frameBytes)
    }

    @Test("a connection without a hello within ten seconds is closed")
    func handshake() {
        var machine = ServerConnectionMachine(now: .seconds(100))
        #expect(tick(&machine, .seconds(109)) == nil)
        #expect(Self.code(tick(&machine, .seconds(110))) == .handshakeTimedOut)
    }

    @Test(
        "a connection on which nothing else is sent gets a heartbeat")
    func heartbeat() {
        var machine = Self.open()
        #expect(tick(&machine, .seconds(24), beats: true) == nil)
        #expect(machine.nextTick(Self.limits, now: .seconds(24)) <= .seconds(1))
        #expect(tick(&machine, .seconds(25), beats: true) == .heartbeat)
        machine.frameSent(now: .seconds(40))
        machine.bytesTaken(now: .seconds(50))
        machine.bytesReceived(now: .seconds(50))
        #expect(tick(&machine, .seconds(64), beats: true) == nil)
        #expect(tick(&machine, .seconds(65), beats: true) == .heartbeat)
    }

    @Test("a silent peer is pinged once, and closed if it does not answer")
    func silence() {
        var machine = Self.open()
        machine.bytesTaken(now: .seconds(44))
        #expect(tick(&machine, .seconds(44)) == nil)
        #expect(tick(&machine, .seconds(45)) == .ping)
        machine.bytesTaken(now: .seconds(89))
        #expect(tick(&machine, .seconds(89)) == nil)
        machine.bytesReceived(now: .seconds(89))
        #expect(tick(&machine, .seconds(90)) == nil)
        machine.bytesTaken(now: .seconds(134))
        #expect(tick(&machine, .seconds(134)) == .ping)
        machine.bytesTaken(now: .seconds(179))
        #expect(Self.code(tick(&machine, .seconds(179))) == .idle)
    }

    @Test("after a pause of the server itself no peer is closed without a ping")
    func lateTimer() {
        var machine = Self.open()
        machine.bytesTaken(now: .seconds(5_000))
        #expect(tick(&machine, .seconds(5_000)) == .ping)
        #expect(tick(&machine, .seconds(5_001)) == nil)
    }

    @Test("silence counts only while the server reads the socket")
    func silenceOfOurOwn() {
        var machine = Self.open()
        machine.bytesTaken(now: .seconds(50))
        #expect(tick(&machine, .seconds(50), isReading: false) == nil)
        machine.bytesTaken(now: .seconds(94))
        #expect(tick(&machine, .seconds(94)) == nil)
        #expect(tick(&machine, .seconds(95)) == .ping)
    }

    @Test("a peer that takes no bytes for a minute is closed, whatever it sends")
    func notReading() {
        var machine = Self.open()
        machine.bytesReceived(now: .seconds(59))
        #expect(tick(&machine, .seconds(59)) == nil)
        #expect(Self.code(tick(&machine, .seconds(60))) == .notReading)
    }

    @Test("reading stops at the limit of publishes and goes on below it")
    func publishesInFlight() {
        var machine = Self.open()
        machine.publishesAccepted(4)
        #expect(!machine.mayRead(Self.limits))
        #expect(machine.publishesAnswered(1, now: .zero) == nil)
        #expect(machine.mayRead(Self.limits))
    }

    @Test("at shutdown accepted publishes are answered before the close")
    func draining() {
        var machine = Self.open()
        machine.publishesAccepted(3)
        #expect(machine.quiesceRequested(now: .zero) == nil)
        #expect(!machine.mayRead(Self.limits))
        #expect(machine.maySend)
        #expect(machine.publishesAnswered(2, now: .zero) == nil)
        #expect(Self.code(machine.publishesAnswered(1, now: .zero)) == .goingAway)
        var stuck = Self.open()
        stuck.publishesAccepted(1)
        _ = stuck.quiesceRequested(now: .zero)
        #expect(tick(&stuck, .seconds(1)) == nil)
        #expect(Self.code(tick(&stuck, .seconds(2))) == .goingAway)
        var silent = ServerConnectionMachine(now: .zero)
        #expect(Self.code(silent.quiesceRequested(now: .zero)) == .goingAway)
    }

    @Test("the next look at a connection is no later than its earliest deadline")
    func nextTick() {
        var machine = ServerConnectionMachine(now: .zero)
        #expect(machine.nextTick(Self.limits, now: .seconds(4)) == .seconds(6))
        _ = machine.frameReceived(Self.hello, now: .zero)
        _ = machine.takeOver(from: 0, now: .zero)
        #expect(machine.nextTick(Self.limits, now: .zero) <= .seconds(15))
        _ = machine.violated(.notText, "", now: .seconds(7))
        #expect(machine.nextTick(Self.limits, now: .seconds(7)) == .seconds(1))
    }
}
