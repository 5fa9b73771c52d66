import RepriseChannels
import RepriseCore
import RepriseTestSupport
import RepriseWire
import Testing

@Suite("Token machine")
struct TokenMachineTests {
    private static let now: Duration = .seconds(500)
    private static let ada = UserID(unchecked: "ada")
    private static let serverTime = WallTime(milliseconds: 5_000_000)

    private static func token(_ number: Int) throws -> AccessToken {
        try AccessToken("aGVhZA.Ym9keQ.\(number)")
    }

    private static func machine() -> TokenMachine {
        TokenMachine(settings: .init(user: ada))
    }

    private static func welcome(lasting: Duration?) -> ServerFrame.Welcome {
        .init(
            version: 1, time: serverTime, heartbeat: .seconds(25), server: "s",
            session: lasting.map { .init(user: ada, expires: serverTime.advanced(by: $0)) })
    }

    /// Connected at ``now`` with the first token.
    private static func connected(lasting: Duration) throws -> TokenMachine {
        var machine = machine()
        _ = machine.wanted(at: now)
        _ = machine.received(try token(1), for: 1, at: now, jitter: 0)
        _ = machine.welcomed(welcome(lasting: lasting), at: now, jitter: 0)
        return machine
    }

    @Test("the app is not asked for a token if no user is signed in")
    func anonymous() {
        var machine = TokenMachine()
        #expect(machine.wanted(at: Self.now) == [.proceed])
        let mayAskAgain = machine.refused()
        #expect(!mayAskAgain)
    }

    @Test("the app is asked once before the first dial, and not again while the token is good")
    func first() throws {
        var machine = Self.machine()
        #expect(
            machine.wanted(at: Self.now)
                == [.ask(1, .first), .scheduleTimer(at: Self.now + .seconds(30))])
        #expect(machine.wanted(at: Self.now).isEmpty)
        #expect(
            machine.received(try Self.token(1), for: 1, at: Self.now, jitter: 0) == [.proceed])
        #expect(machine.wanted(at: Self.now + .seconds(9_999)) == [.proceed])
    }

    @Test(
        "a fresh token is asked for after four fifths of its life, a minute before the end, or after half of a short life",
        .limit("channels.tokenWaits"),
        arguments: [(3_600, 2_880), (600, 480), (250, 190), (100, 50), (10, 5), (0, 1)])
    func refresh(lifetime: Int, after: Int) throws {
        var machine = try Self.connected(lasting: .seconds(lifetime))
        let due = Self.now + .seconds(after)
        #expect(
            machine.timerFired(at: due - .milliseconds(1), jitter: 0) == [.scheduleTimer(at: due)])
        #expect(machine.timerFired(at: due, jitter: 0).first == .ask(2, .expires))
    }

    @Test("with jitter a token is asked for up to a tenth sooner")
    func jitter() throws {
        var machine = Self.machine()
        _ = machine.wanted(at: Self.now)
        _ = machine.received(try Self.token(1), for: 1, at: Self.now, jitter: 0)
        #expect(
            machine.welcomed(Self.welcome(lasting: .seconds(1_000)), at: Self.now, jitter: 1)
                == [.scheduleTimer(at: Self.now + .seconds(720))])
    }

    @Test(
        "the fresh token goes over the open connection, and its life is counted by the server's clock"
    )
    func authenticate() throws {
        var machine = try Self.connected(lasting: .seconds(1_000))
        let due = Self.now + .seconds(800)
        _ = machine.timerFired(at: due, jitter: 0)
        let fresh = try Self.token(2)
        #expect(machine.received(fresh, for: 2, at: due, jitter: 0).first == .authenticate(fresh))
        let session = ServerFrame.Session(
            user: Self.ada, expires: Self.serverTime.advanced(by: .seconds(1_800)))
        // A thousand seconds are left of it at this moment.
        #expect(
            machine.authenticated(session, at: due, jitter: 0)
                == [.warn(nil), .scheduleTimer(at: due + .seconds(800))])
    }

    @Test("a failure is shown and tried again with backoff; the token stays good until its end")
    func failing() throws {
        var machine = try Self.connected(lasting: .seconds(1_000))
        var now = Self.now + .seconds(800)
        let error = RepriseError(.unavailable, "The backend is down.")
        var asked: [Int] = []
        while now < Self.now + .seconds(999) {
            guard case .ask(let number, .expires)? = machine.timerFired(at: now, jitter: 0.9).first
            else { break }
            asked.append(number)
            let actions = machine.failed(error, for: number, at: now, jitter: 0.9)
            #expect(actions.first == .warn(error))
            guard case .scheduleTimer(let next)? = actions.last else { break }
            now = next
        }
        #expect((4...12).contains(asked.count))
        #expect(machine.wanted(at: Self.now + .seconds(999)) == [.proceed])
        machine.disconnected()
        #expect(
            machine.wanted(at: Self.now + .seconds(1_000)).first
                == .ask((asked.last ?? 0) + 1, .expires))
    }

    @Test(
        "an app that hangs is given up at its deadline, asked again, and its late answer is ignored",
        .limit("channels.token"))
    func hanging() throws {
        var machine = Self.machine()
        _ = machine.wanted(at: Self.now)
        let late = Self.now + .seconds(30)
        let actions = machine.timerFired(at: late, jitter: 0)
        guard actions.count == 2, actions.first == .abandon, case .giveUp(let error) = actions[1]
        else {
            Issue.record("\(actions)")
            return
        }
        #expect(error.code == .timedOut)
        #expect(machine.received(try Self.token(1), for: 1, at: late, jitter: 0).isEmpty)
        #expect(machine.wanted(at: late).first == .ask(2, .first))
    }

    @Test(
        "a refused token is replaced once, then somebody has to sign in; a welcome forgets the refusal",
        .limit("channels.tokenRefusals")
    )
    func refused() throws {
        var machine = try Self.connected(lasting: .seconds(1_000))
        machine.disconnected()
        let first = machine.refused()
        #expect(first)
        #expect(machine.wanted(at: Self.now).first == .ask(2, .refused))
        _ = machine.received(try Self.token(2), for: 2, at: Self.now, jitter: 0)
        let second = machine.refused()
        #expect(!second)
        machine.renewed()
        #expect(machine.wanted(at: Self.now).first == .ask(3, .refused))
        _ = machine.received(try Self.token(3), for: 3, at: Self.now, jitter: 0)
        _ = machine.welcomed(Self.welcome(lasting: .seconds(9)), at: Self.now, jitter: 0)
        let later = machine.refused()
        #expect(later)
    }

    @Test("an app that returns the same token, or one that ends no later, is not asked without end")
    func unchanged() throws {
        var machine = try Self.connected(lasting: .seconds(100))
        var now = Self.now + .seconds(50)
        var asked = 0
        while now < Self.now + .seconds(110), asked < 1_000 {
            guard case .ask(let number, _)? = machine.timerFired(at: now, jitter: 0).first else {
                break
            }
            asked += 1
            let token = try Self.token(asked.isMultiple(of: 2) ? 1 : 1 + asked)
            var actions = machine.received(token, for: number, at: now, jitter: 0.5)
            if case .authenticate? = actions.first {
                let session = ServerFrame.Session(
                    user: Self.ada, expires: Self.serverTime.advanced(by: .seconds(100)))
                actions = machine.authenticated(session, at: now, jitter: 0.5)
            }
            guard case .warn(let error?)? = actions.first, error.code == .refused else {
                Issue.record("\(actions)")
                return
            }
            guard case .scheduleTimer(let next)? = actions.last else { break }
            now = next
        }
        #expect((3...20).contains(asked))
    }

    @Test("a token that was on its way when the connection broke is the one to come back with")
    func offered() throws {
        var machine = try Self.connected(lasting: .seconds(1_000))
        _ = machine.timerFired(at: Self.now + .seconds(800), jitter: 0)
        _ = machine.received(try Self.token(2), for: 2, at: Self.now + .seconds(800), jitter: 0)
        machine.disconnected()
        #expect(machine.wanted(at: Self.now + .seconds(1_200)) == [.proceed])
    }

    @Test("a session of another user than the signed-in one is refused")
    func stranger() throws {
        let machine = Self.machine()
        let bob = ServerFrame.Session(user: try UserID("bob"), expires: Self.serverTime)
        #expect(machine.mismatch(bob)?.code == .wrongUser)
        #expect(machine.mismatch(.init(user: Self.ada, expires: Self.serverTime)) == nil)
        #expect(machine.mismatch(nil) == nil)
    }
}
