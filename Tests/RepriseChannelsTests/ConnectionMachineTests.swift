import RepriseChannels
import RepriseCore
import RepriseTestSupport
import RepriseWire
import Testing

@Suite("Connection machine")
struct ConnectionMachineTests {
    static let start: Duration = .seconds(500)

    static func welcome(version: Int64 = 1, heartbeat: Duration = .seconds(25))
        -> ServerFrame.Welcome
    {
        .init(
            version: version, time: WallTime(milliseconds: 0), heartbeat: heartbeat, server: "test")
    }

    /// A machine that was welcomed at ``start``.
    static func ready() -> ConnectionMachine {
        var machine = ConnectionMachine()
        _ = machine.started()
        _ = machine.dialSucceeded(at: start)
        _ = machine.welcomeReceived(welcome(), at: start)
        return machine
    }

    @Test("dials, says hello, and begins with the welcome")
    func greeting() {
        var machine = ConnectionMachine()
        #expect(machine.started() == [.dial])
        #expect(
            machine.dialSucceeded(at: Self.start)
                == [.sayHello, .scheduleTimer(at: Self.start + .seconds(10))])
        #expect(!machine.isReady)
        let actions = machine.welcomeReceived(Self.welcome(), at: Self.start)
        #expect(actions == [.begin, .scheduleTimer(at: Self.start + .seconds(55))])
        #expect(machine.isReady)
        #expect(machine.welcomeReceived(Self.welcome(), at: Self.start).isEmpty)
    }

    @Test("waits with full jitter, and longer after each failure", .limit("channels.reconnect"))
    func backoff() {
        var machine = ConnectionMachine()
        var now = Self.start
        _ = machine.started()
        var waits: [Duration] = []
        for _ in 0..<12 {
            guard case .wait(let wait)? = machine.dialFailed(at: now, jitter: 0.999).first else {
                Issue.record("it must wait")
                return
            }
            waits.append(wait)
            now += wait
            #expect(machine.timerFired(at: now) == [.dial])
        }
        #expect(waits[0] < .milliseconds(500))
        #expect(waits[1] > waits[0])
        #expect(waits.allSatisfy { $0 <= .seconds(60) })
        #expect(machine.dialFailed(at: now, jitter: 0) == [.wait(.zero)])
    }

    @Test("does not dial before its wait is over, however early the timer fires")
    func earlyTimer() {
        var machine = ConnectionMachine()
        _ = machine.started()
        _ = machine.dialFailed(at: Self.start, jitter: 0.8)
        #expect(machine.timerFired(at: Self.start) == [.wait(.milliseconds(400))])
    }

    @Test(
        "obeys the close code",
        arguments: [
            (CloseCode.idle, ConnectionMachine.Action.wait(.milliseconds(250))),
            (.notReading, .wait(.milliseconds(250))),
            (.goingAway, .wait(.milliseconds(5_250))),
            (.overloaded, .wait(.milliseconds(5_250))),
            (CloseCode(1012), .wait(.milliseconds(5_250))),
            (CloseCode(1006), .wait(.milliseconds(250))),
            (.unauthorized, .stop), (.outOfOrder, .stop), (.unsupportedVersion, .stop),
        ])
    func closeCodes(code: CloseCode, action: ConnectionMachine.Action) {
        var machine = Self.ready()
        #expect(machine.ended(closeCode: code, at: Self.start, jitter: 0.5) == [action])
    }

    @Test("obeys the error frame when the close frame was lost")
    func announced() {
        var machine = Self.ready()
        machine.errorReceived(.unauthorized)
        #expect(machine.ended(closeCode: nil, at: Self.start, jitter: 0.5) == [.stop])
    }

    @Test(
        "closes a connection on which nothing comes for two heartbeats and a little",
        .limit("channels.silence"))
    func silence() {
        var machine = Self.ready()
        machine.framesReceived(at: Self.start + .seconds(30))
        #expect(
            machine.timerFired(at: Self.start + .seconds(55))
                == [.scheduleTimer(at: Self.start + .seconds(85))])
        #expect(machine.timerFired(at: Self.start + .seconds(85)) == [.close(.idle)])
        #expect(
            machine.ended(closeCode: nil, at: Self.start + .seconds(85), jitter: 0.5)
                == [.wait(.milliseconds(250))])
    }

    @Test("closes a connection that is not welcomed in time")
    func handshake() {
        var machine = ConnectionMachine()
        _ = machine.started()
        _ = machine.dialSucceeded(at: Self.start)
        #expect(machine.timerFired(at: Self.start + .seconds(10)) == [.close(.handshakeTimedOut)])
    }

    @Test("stops for a server of another version")
    func version() {
        var machine = ConnectionMachine()
        _ = machine.started()
        _ = machine.dialSucceeded(at: Self.start)
        #expect(
            machine.welcomeReceived(Self.welcome(version: 9), at: Self.start)
                == [.close(.unsupportedVersion)])
        #expect(machine.ended(closeCode: nil, at: Self.start, jitter: 0) == [.stop])
    }

    @Test(
        "backs off from a server that welcomes and then fails, but not from one that worked for a while"
    )
    func settled() {
        var machine = ConnectionMachine()
        var now = Self.start
        _ = machine.started()
        func fail(after up: Duration) -> ConnectionMachine.Action? {
            _ = machine.dialSucceeded(at: now)
            _ = machine.welcomeReceived(Self.welcome(), at: now)
            now += up
            let action = machine.ended(closeCode: nil, at: now, jitter: 0.5).first
            now += .seconds(120)
            _ = machine.timerFired(at: now)
            return action
        }
        #expect(fail(after: .zero) == .wait(.milliseconds(250)))
        #expect(fail(after: .zero) == .wait(.milliseconds(500)))
        #expect(fail(after: .zero) == .wait(.milliseconds(1_000)))
        #expect(fail(after: .seconds(10)) == .wait(.milliseconds(250)))
    }

    @Test(
        "comes back from a frame that was broken on the way, and stops once every connection ends so",
        arguments: [CloseCode.protocolError, .invalidText, .frameTooLarge, .malformedFrame])
    func brokenFrames(_ code: CloseCode) {
        var machine = ConnectionMachine()
        var now = Self.start
        _ = machine.started()
        func end(after up: Duration) -> ConnectionMachine.Action? {
            _ = machine.dialSucceeded(at: now)
            _ = machine.welcomeReceived(Self.welcome(), at: now)
            now += up
            let action = machine.ended(closeCode: code, at: now, jitter: 0).first
            now += .seconds(120)
            _ = machine.timerFired(at: now)
            return action
        }
        let later = ConnectionMachine.Action.wait(.seconds(5))
        #expect(end(after: .seconds(1)) == later && end(after: .seconds(1)) == later)
        // One that worked for a while: the next is the first again.
        #expect(end(after: .seconds(10)) == later && end(after: .seconds(1)) == later)
        #expect(end(after: .seconds(1)) == .stop)
    }

    @Test(
        "two devices that share an id end each other's connections ever more seldom, and a single one dials as before",
        .limit("server.connectionsOfDevice")
    )
    func replaced() {
        var machine = ConnectionMachine()
        var now = Self.start
        _ = machine.started()
        func end(_ code: CloseCode?, after up: Duration) -> ConnectionMachine.Action? {
            _ = machine.dialSucceeded(at: now)
            _ = machine.welcomeReceived(Self.welcome(), at: now)
            now += up
            let action = machine.ended(closeCode: code, at: now, jitter: 0.5).first
            now += .seconds(120)
            _ = machine.timerFired(at: now)
            return action
        }
        // However long each connection lasts: 5 s and half of 0.5 s, 1 s, 2 s … 60 s.
        for wait in [5_250, 5_500, 6_000, 7_000, 9_000, 13_000, 21_000, 35_000, 35_000] {
            #expect(end(.replaced, after: .seconds(30)) == .wait(.milliseconds(wait)))
        }
        #expect(end(nil, after: .seconds(30)) == .wait(.milliseconds(250)))
        #expect(end(.replaced, after: .seconds(30)) == .wait(.milliseconds(5_500)))
    }

    @Test("takes a heartbeat of 0 for one of a second")
    func noHeartbeat() {
        var machine = ConnectionMachine()
        _ = machine.started()
        _ = machine.dialSucceeded(at: Self.start)
        #expect(
            machine.welcomeReceived(Self.welcome(heartbeat: .zero), at: Self.start)
                == [.begin, .scheduleTimer(at: Self.start + .seconds(7))])
    }
}
