import RepriseChannels
import RepriseCore
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

/// The network goes and comes, the app sleeps and wakes.
@Suite("Connection machine, sleep and network")
struct ConnectionLifeTests {
    private typealias Machine = ConnectionMachine
    private static let start = ConnectionMachineTests.start

    private static func ready() -> Machine { ConnectionMachineTests.ready() }

    @Test(
        "in the background the connection stays until the time is nearly over, then closes with 1000, and none is dialled",
        .limit("channels.background")
    )
    func background() {
        var machine = Self.ready()
        let end = Self.start + .seconds(25)
        #expect(machine.backgrounded(until: end, at: Self.start) == [.scheduleSleep(at: end)])
        #expect(machine.sleepDue(at: end - .seconds(1)) == [.scheduleSleep(at: end)])
        #expect(!machine.isAtRest)
        #expect(machine.sleepDue(at: end) == [.close(.normal)])
        #expect(!machine.isAtRest)
        #expect(
            machine.ended(closeCode: nil, at: end, jitter: 0.9) == [.awaitForeground])
        #expect(machine.isAtRest)
        #expect(machine.timerFired(at: end + .seconds(900)) == [.awaitForeground])
    }

    @Test("background time that comes after a sleep is used: the machine dials, and sleeps again")
    func again() {
        var machine = Self.ready()
        let end = Self.start + .seconds(25)
        _ = machine.backgrounded(until: end, at: Self.start)
        _ = machine.sleepDue(at: end)
        _ = machine.ended(closeCode: nil, at: end, jitter: 0.9)
        let woken = end + .seconds(900)
        #expect(machine.backgrounded(until: woken, at: woken).isEmpty)
        #expect(machine.isAtRest)
        let next = woken + .seconds(20)
        #expect(machine.backgrounded(until: next, at: woken) == [.scheduleSleep(at: next), .dial])
        #expect(!machine.isAtRest)
        #expect(machine.sleepDue(at: next) == [.abandonDial])
        #expect(machine.dialFailed(at: next, jitter: 0.9) == [.awaitForeground])
        #expect(machine.isAtRest)
    }

    @Test("the foreground dials at once, however many failures there were before")
    func foreground() {
        var machine = Machine()
        var now = Self.start
        _ = machine.started(at: now)
        for _ in 0..<9 {
            guard case .wait(let wait)? = machine.dialFailed(at: now, jitter: 0.999).first else {
                Issue.record("it waits")
                return
            }
            now += wait
            _ = machine.timerFired(at: now)
        }
        _ = machine.dialFailed(at: now + .seconds(1), jitter: 0.999)
        #expect(machine.backgrounded(until: now, at: now + .seconds(5)) == [.awaitForeground])
        #expect(
            machine.foregrounded(at: now + .seconds(6)) == [.scheduleSleep(at: nil), .dial])
    }

    @Test(
        "a connection that was open over a sleep has five seconds to show that it is alive",
        .limit("channels.pong"))
    func halfOpen() {
        var machine = Self.ready()
        _ = machine.backgrounded(until: Self.start + .seconds(30), at: Self.start)
        let woken = Self.start + .seconds(20)
        let due = woken + .seconds(5)
        #expect(
            machine.foregrounded(at: woken)
                == [.scheduleSleep(at: nil), .probe(1), .scheduleTimer(at: due)])
        #expect(machine.timerFired(at: due) == [.close(.idle)])
        // It is known to be dead, so there is nothing to wait for.
        #expect(machine.ended(closeCode: nil, at: due, jitter: 0.999) == [.wait(.zero)])
        #expect(machine.timerFired(at: due) == [.dial])
    }

    @Test("frames from before the sleep prove nothing, a pong does")
    func pong() {
        var machine = Self.ready()
        _ = machine.backgrounded(until: Self.start + .seconds(30), at: Self.start)
        _ = machine.foregrounded(at: Self.start + .seconds(20))
        machine.framesReceived(at: Self.start + .seconds(21))
        #expect(machine.timerFired(at: Self.start + .seconds(25)) == [.close(.idle)])

        machine = Self.ready()
        _ = machine.backgrounded(until: Self.start + .seconds(30), at: Self.start)
        _ = machine.foregrounded(at: Self.start + .seconds(20))
        #expect(machine.probeAnswered(7, at: Self.start + .seconds(21)).isEmpty)
        #expect(machine.probeAnswered(1, at: Self.start + .seconds(21)) == [.confirm])
        #expect(
            machine.timerFired(at: Self.start + .seconds(25))
                == [.scheduleTimer(at: Self.start + .seconds(76))])
    }

    @Test("a transport that cannot ask makes the connection anew")
    func noPing() {
        var machine = Self.ready()
        _ = machine.backgrounded(until: Self.start + .seconds(30), at: Self.start)
        _ = machine.foregrounded(at: Self.start + .seconds(20))
        #expect(machine.probeFailed(1) == [.close(.idle)])
    }

    @Test("without a network nothing is dialled; with it again, at once")
    func network() {
        var machine = Machine()
        _ = machine.started(at: Self.start)
        #expect(machine.networkChanged(isUsable: false, at: Self.start) == [.abandonDial])
        #expect(machine.dialFailed(at: Self.start, jitter: 0.9) == [.awaitNetwork])
        let later = Self.start + .seconds(3_600)
        #expect(machine.timerFired(at: later) == [.awaitNetwork])
        #expect(machine.networkChanged(isUsable: true, at: later) == [.dial])
    }

    @Test("an order to come back later, given to a whole fleet, outlasts the network and the sleep")
    func ordered() {
        var machine = Self.ready()
        let ended = machine.ended(closeCode: .goingAway, at: Self.start, jitter: 0.5)
        #expect(ended == [.wait(.milliseconds(5_250))])
        _ = machine.networkChanged(isUsable: false, at: Self.start)
        let later = Self.start + .seconds(3)
        #expect(
            machine.networkChanged(isUsable: true, at: later) == [.wait(.milliseconds(2_250))])
        // A person outranks it.
        #expect(machine.dialRequested(at: later) == [.dial])
    }

    @Test(
        "a network that comes and goes a hundred times in a minute makes at most thirty dials",
        .limit("channels.dials"))
    func flapping() {
        var machine = Machine()
        var now = Self.start
        var dials = 0
        var due: Duration?
        func count(_ actions: [Machine.Action]) {
            for action in actions {
                if action == .dial { dials += 1 }
                if case .wait(let wait) = action { due = now + wait }
            }
        }
        count(machine.started(at: now))
        for _ in 0..<100 {
            let lost = machine.networkChanged(isUsable: false, at: now)
            count(lost)
            if lost.contains(.abandonDial) { count(machine.dialFailed(at: now, jitter: 0.5)) }
            now += .milliseconds(300)
            count(machine.networkChanged(isUsable: true, at: now))
            now += .milliseconds(300)
            if let moment = due, moment <= now {
                due = nil
                count(machine.timerFired(at: now))
            }
        }
        #expect((28...31).contains(dials), "\(dials)")
    }

    @Test("a clock that has jumped days ahead in a sleep closes once, and dials")
    func longSleep() {
        var machine = Self.ready()
        let now = Self.start + .seconds(3 * 86_400)
        #expect(machine.timerFired(at: now) == [.close(.idle)])
        #expect(machine.ended(closeCode: nil, at: now, jitter: 0) == [.wait(.zero)])
        #expect(machine.timerFired(at: now) == [.dial])
    }

    @Test(
        "a first refusal of a token does not stop the machine; the next one does, until somebody signs in"
    )
    func forgiven() {
        var machine = Self.ready()
        #expect(
            machine.ended(closeCode: .unauthorized, isForgiven: true, at: Self.start, jitter: 0)
                == [.wait(.zero)])
        _ = machine.timerFired(at: Self.start)
        _ = machine.dialSucceeded(at: Self.start)
        #expect(machine.ended(closeCode: .unauthorized, at: Self.start, jitter: 0) == [.stop])
        #expect(machine.networkChanged(isUsable: true, at: Self.start).isEmpty)
        #expect(machine.foregrounded(at: Self.start).isEmpty)
        #expect(machine.dialRequested(at: Self.start) == [.dial])
    }

    @Test(
        "in every order of events the machine dials once at a time, and never asleep or without a network"
    )
    func anyOrder() {
        for seed in 0..<400 {
            var random = SeededGenerator(seed: UInt64(seed))
            var walk = Walk()
            for _ in 0..<300 { walk.step(&random) }
            walk.settle()
            #expect(walk.isOpen, "seed \(seed): \(walk.trace.suffix(12))")
            #expect(walk.mistakes.isEmpty, "seed \(seed): \(walk.mistakes)")
        }
    }
}

/// The machine with a world that answers everything exactly once, in any order.
private struct Walk {
    var machine = ConnectionMachine()
    var now: Duration = .seconds(500)
    var isDialing = false
    var isUp = false
    var isClosing = false
    var isAsleep = false
    var hasNetwork = true
    var timer: Duration?
    var sleep: Duration?
    var probe: Int?
    var mistakes: [String] = []
    var trace: [String] = []

    var isOpen: Bool { machine.isReady }

    init() { perform(machine.started(at: now)) }

    mutating func perform(_ actions: [ConnectionMachine.Action]) {
        for action in actions {
            trace.append("\(action)")
            switch action {
            case .dial:
                if isDialing || isUp { mistakes.append("two dials") }
                if isAsleep { mistakes.append("a dial asleep") }
                if !hasNetwork { mistakes.append("a dial without a network") }
                isDialing = true
            case .abandonDial:
                if !isDialing { mistakes.append("no dial to abandon") }
                isDialing = false
                perform(machine.dialFailed(at: now, jitter: 0.5))
            case .close:
                if !isUp { mistakes.append("nothing to close") }
                isClosing = true
            case .wait(let wait): timer = now + wait
            case .scheduleTimer(let moment): timer = moment
            case .scheduleSleep(let moment): sleep = moment
            case .probe(let number): probe = number
            case .stop: mistakes.append("stop")
            case .sayHello, .begin, .awaitNetwork, .awaitForeground, .confirm: break
            }
        }
    }

    mutating func step(_ random: inout SeededGenerator) {
        now += .milliseconds(Int64.random(in: 0...4_000, using: &random))
        switch Int.random(in: 0..<12, using: &random) {
        case 0:
            hasNetwork.toggle()
            perform(machine.networkChanged(isUsable: hasNetwork, at: now))
        case 1:
            let end = now + .seconds(Int64.random(in: 0...20, using: &random))
            isAsleep = end == now
            sleep = nil
            perform(machine.backgrounded(until: end, at: now))
        case 2:
            isAsleep = false
            perform(machine.foregrounded(at: now))
        case 3: perform(machine.dialRequested(at: now))
        case 4: end()
        case 5 where probe != nil:
            let number = probe ?? 0
            probe = nil
            perform(
                random.chance(0.5)
                    ? machine.probeAnswered(number, at: now) : machine.probeFailed(number))
        default: go(random.chance(0.7))
        }
    }

    /// What the world does of itself.
    mutating func go(_ isGood: Bool) {
        if let moment = sleep, moment <= now {
            sleep = nil
            isAsleep = true
            return perform(machine.sleepDue(at: now))
        }
        if isClosing { return end() }
        if isDialing {
            isDialing = false
            isUp = isGood
            return perform(
                isGood
                    ? machine.dialSucceeded(at: now) : machine.dialFailed(at: now, jitter: 0.5))
        }
        if isUp, !machine.isReady {
            return perform(
                machine.welcomeReceived(ConnectionMachineTests.welcome(), at: now))
        }
        guard let moment = timer, moment <= now else { return machine.framesReceived(at: now) }
        timer = nil
        perform(machine.timerFired(at: now))
    }

    mutating func end() {
        guard isUp else { return }
        isUp = false
        isClosing = false
        probe = nil
        perform(machine.ended(closeCode: nil, at: now, jitter: 0.5))
    }

    /// All is well from here on: it comes back.
    mutating func settle() {
        hasNetwork = true
        isAsleep = false
        sleep = nil
        perform(machine.foregrounded(at: now))
        perform(machine.networkChanged(isUsable: true, at: now))
        for _ in 0..<200 where !isOpen {
            now += .seconds(1)
            go(true)
        }
    }
}
