import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseWire
import Testing

@Suite("The machine that pushes")
struct PushMachineTests {
    private let wait = PushLimits.grace + PushLimits.slot

    private func target(_ name: String) -> PushEntry.Target {
        do {
            return PushEntry.Target(user: try UserID(name), device: try EntryID("d"))
        } catch {
            preconditionFailure("\(error)")
        }
    }

    /// A machine that has looked through all channels.
    private func machine(concurrency: Int = 2) -> PushMachine {
        var machine = PushMachine(concurrency: concurrency)
        #expect(machine.next(now: .zero).contains(.recover))
        machine.recovered(succeeded: true, now: .zero)
        machine.loaded([], isAll: true, next: nil, now: .zero)
        return machine
    }

    @Test(
        "scans a channel after its message's grace period, once for all messages of that time",
        .limit("push.grace"))
    func grace() {
        var machine = machine()
        let room = channel("room")
        machine.stored(1, in: room, now: .seconds(1))
        machine.stored(2, in: room, now: .seconds(1) + .milliseconds(400))
        machine.stored(3, in: room, now: .seconds(2))
        #expect(machine.wake(now: .seconds(2)) == .seconds(1) + wait)
        #expect(machine.next(now: .seconds(6)).isEmpty)
        #expect(machine.next(now: .seconds(1) + wait) == [.scan(room, through: 2)])
        #expect(machine.next(now: .seconds(2) + wait).isEmpty, "one walk of a channel at a time")
        machine.scanned(room, added: 0, through: 2)
        #expect(machine.next(now: .seconds(2) + wait) == [.scan(room, through: 3)])
        machine.scanned(room, added: 0, through: 3)
        #expect(machine.wake(now: .seconds(20)) == nil, "nothing is left to do")
    }

    @Test(
        "scans at once for devices that are not connected, and never beside the other scan",
        .limit("push.grace"))
    func early() {
        var machine = PushMachine(concurrency: 2, scansEarly: true)
        _ = machine.next(now: .zero)
        machine.recovered(succeeded: true, now: .zero)
        machine.loaded([], isAll: true, next: nil, now: .zero)
        let (room, other) = (channel("room"), channel("other"))
        machine.stored(1, in: room, now: .zero)
        machine.stored(1, in: other, now: .zero)
        #expect(machine.wake(now: .zero) == PushLimits.slot)
        #expect(machine.next(now: PushLimits.slot) == [.scanEarly(room, through: 1)])
        #expect(machine.next(now: wait) == [.scan(other, through: 1)], "its early scan is late")
        machine.walkedEarly(room, added: 0, through: nil)
        #expect(machine.next(now: wait) == [.scan(room, through: 1)], "the early one waits now")
        machine.stored(2, in: room, now: wait)
        #expect(machine.next(now: wait + PushLimits.slot).isEmpty)
        machine.scanned(room, added: 0, through: 1)
        machine.scanned(other, added: 0, through: 1)
        #expect(
            machine.next(now: wait + PushLimits.slot) == [.scanEarly(room, through: 2)])
        machine.walkedEarly(room, added: 0, through: 2)
        #expect(
            machine.next(now: wait + PushLimits.slot) == [.scanEarly(other, through: 1)])
        machine.walkedEarly(other, added: 0, through: 1)
        #expect(machine.next(now: wait + wait) == [.scan(room, through: 2)])
        machine.scanned(room, added: 0, through: 2)
        #expect(machine.wake(now: wait + wait) == nil, "nothing is left to do")
    }

    @Test("a scan goes on step by step, and pauses while too much is queued", .limit("push.queued"))
    func pauses() {
        var machine = machine()
        let room = channel("room")
        machine.stored(1, in: room, now: .zero)
        #expect(machine.next(now: wait) == [.scan(room, through: 1)])
        machine.scanned(room, added: PushLimits.queued, through: nil)
        let actions = machine.next(now: wait)
        #expect(!actions.contains(.scan(room, through: 1)) && actions.count == 1)
        machine.loaded([.init(number: 1, target: target("a"))], isAll: false, next: nil, now: wait)
        #expect(machine.next(now: wait).contains(.send(1)))
        _ = machine.answered(.accepted, attempts: 0, now: wait, jitter: 0)
        machine.settled([1], removed: 1, next: nil)
        #expect(machine.next(now: wait).contains(.scan(room, through: 1)))
    }

    @Test(
        "has no more under way than it may, and holds no push twice",
        .limit("push.queuePage", "push.inFlight"))
    func concurrency() {
        var machine = machine(concurrency: 2)
        machine.othersQueued(dueAfter: .zero, now: .zero)
        #expect(machine.next(now: .zero) == [.load(PushLimits.page)])
        let rows = (1...4).map { PushMachine.Row(number: $0, target: target("\($0)")) }
        machine.loaded(rows + rows, isAll: true, next: nil, now: .zero)
        #expect(machine.next(now: .zero) == [.send(1), .send(2)])
        _ = machine.answered(.accepted, attempts: 0, now: .zero, jitter: 0)
        #expect(machine.next(now: .zero) == [.send(3)])
        #expect(machine.holds(1), "until what became of it is written down")
        machine.settled([1], removed: 1, next: nil)
        #expect(!machine.holds(1))
    }

    @Test(
        "each outcome ends a push, drops it, or has it sent again after its wait",
        .limit("push.attempts"),
        arguments: [
            (PushOutcome.accepted, 0, PushMachine.Acknowledgement.pushed),
            (.refused("x"), 0, .dropped(.refused)),
            (.dead(since: nil), 0, .dead(since: nil)),
            (.later(nil, "x"), 0, .again(after: .milliseconds(500), isAttempt: true)),
            (.later(nil, "x"), 3, .again(after: .seconds(4), isAttempt: true)),
            (.later(.seconds(30), "x"), 0, .again(after: .seconds(30), isAttempt: true)),
            (
                .later(.seconds(1 << 30), "x"), 0,
                .again(after: PushLimits.retryAfterLongest, isAttempt: true)
            ),
            (.later(nil, "x"), PushLimits.attempts - 1, .dropped(.exhausted)),
            (.unavailable(nil, "x"), 0, .again(after: .milliseconds(500), isAttempt: false)),
            (.unavailable(.seconds(9), "x"), 50, .again(after: .zero, isAttempt: false)),
            (
                .unavailable(nil, "x", again: .seconds(900)), 0,
                .again(after: .seconds(900), isAttempt: false)
            ),
            (.unauthorized("x"), 0, .again(after: .zero, isAttempt: false)),
        ])
    func answers(outcome: PushOutcome, attempts: Int, expected: PushMachine.Acknowledgement) {
        var machine = machine()
        #expect(
            machine.answered(outcome, attempts: attempts, now: .zero, jitter: 0.5) == expected)
    }

    @Test(
        "after five failures in a row nothing is sent, then one, and after its success all",
        .limit("push.failures"))
    func circuit() {
        var machine = machine(concurrency: 10)
        machine.othersQueued(dueAfter: .zero, now: .zero)
        #expect(machine.next(now: .zero) == [.load(PushLimits.page)])
        let rows = (1...20).map { PushMachine.Row(number: $0, target: target("\($0)")) }
        machine.loaded(rows, isAll: true, next: nil, now: .zero)
        #expect(machine.next(now: .zero).count == 10)
        for _ in 0..<10 {
            _ = machine.answered(.unavailable(nil, "down"), attempts: 0, now: .zero, jitter: 0.9)
        }
        #expect(machine.downCount == 1)
        #expect(machine.next(now: .milliseconds(899)) == [.release(Array(11...20))])
        #expect(machine.wake(now: .zero) == .milliseconds(900))
        let load = PushMachine.Action.load(PushLimits.page)
        let again = Array(rows[10...])
        #expect(machine.next(now: .milliseconds(900)) == [load])
        machine.loaded(again, isAll: true, next: nil, now: .milliseconds(900))
        let probe = machine.next(now: .milliseconds(900))
        #expect(probe == [.send(11), .release(Array(12...20))], "one finds out")
        #expect(machine.next(now: .seconds(5)).isEmpty)
        _ = machine.answered(
            .unavailable(nil, "down"), attempts: 0, now: .seconds(5), jitter: 0.9)
        #expect(machine.next(now: .seconds(6)).isEmpty, "the wait has doubled")
        #expect(machine.next(now: .seconds(7)).count == 1)
        machine.loaded(Array(again.dropFirst()), isAll: true, next: nil, now: .seconds(7))
        #expect(machine.next(now: .seconds(7)).first == .send(12))
        _ = machine.answered(.accepted, attempts: 0, now: .seconds(7), jitter: 0.9)
        #expect(machine.downCount == 0)
        #expect(machine.next(now: .seconds(7)).count == 1)
        machine.loaded(Array(again.dropFirst(2)), isAll: true, next: nil, now: .seconds(7))
        #expect(machine.next(now: .seconds(7)).count == 8)
    }

    @Test("a push that is not sent after all says nothing of a provider that is down")
    func notSent() {
        var machine = machine(concurrency: 10)
        for _ in 0..<5 {
            _ = machine.answered(.unavailable(nil, "down"), attempts: 0, now: .zero, jitter: 0.9)
        }
        machine.othersQueued(dueAfter: .zero, now: .zero)
        let load = PushMachine.Action.load(PushLimits.page)
        let rows = (1...3).map { PushMachine.Row(number: $0, target: target("\($0)")) }
        #expect(machine.next(now: .seconds(1)) == [load])
        machine.loaded(rows, isAll: true, next: nil, now: .seconds(1))
        #expect(machine.next(now: .seconds(1)) == [.send(1), .release([2, 3])])
        #expect(
            machine.notSent(attempts: 0, jitter: 0.5)
                == .again(after: .seconds(1), isAttempt: true))
        #expect(machine.downCount == 1)
        #expect(machine.next(now: .seconds(1)) == [load], "another one finds out")
        machine.loaded(Array(rows[1...]), isAll: true, next: nil, now: .seconds(1))
        #expect(machine.next(now: .seconds(1)) == [.send(2), .release([3])])
        _ = machine.answered(.accepted, attempts: 0, now: .seconds(1), jitter: 0.9)
        #expect(machine.downCount == 0)
    }

    @Test("one push service of the web that is down holds up no other")
    func partitions() {
        var machine = machine(concurrency: 10)
        for _ in 0..<5 {
            _ = machine.answered(
                .unavailable(nil, "down"), partition: "https://a", attempts: 0, now: .zero,
                jitter: 0.9)
        }
        machine.othersQueued(dueAfter: .zero, now: .zero)
        #expect(machine.next(now: .zero) == [.load(PushLimits.page)])
        machine.loaded(
            [
                .init(number: 1, target: target("1"), partition: "https://a"),
                .init(number: 2, target: target("2"), partition: "https://b"),
            ], isAll: true, next: nil, now: .zero)
        #expect(
            machine.next(now: .zero) == [
                .postpone(1, .milliseconds(900), .down), .send(2),
            ])
    }

    /// A machine that has rows to send, each to a device of its own.
    private func machine(
        concurrency: Int, _ rows: [(number: Int64, partition: String)]
    ) -> PushMachine {
        var machine = machine(concurrency: concurrency)
        load(rows, into: &machine)
        return machine
    }

    private func load(
        _ rows: [(number: Int64, partition: String)], into machine: inout PushMachine
    ) {
        machine.othersQueued(dueAfter: .zero, now: .zero)
        #expect(machine.next(now: .zero) == [.load(PushLimits.page)])
        machine.loaded(
            rows.map {
                .init(number: $0.number, target: target("\($0.number)"), partition: $0.partition)
            }, isAll: true, next: nil, now: .zero)
    }

    @Test(
        "push services that have not answered yet get half of the places together, under whatever names",
        .limit("push.slowServices"))
    func unknownServices() {
        var machine = machine(concurrency: 4, [(1, "https://fast")])
        #expect(machine.next(now: .zero) == [.send(1)])
        _ = machine.answered(
            .accepted, partition: "https://fast", took: .milliseconds(100), attempts: 0,
            now: .zero, jitter: 0)
        let unknown = (2...9).map { (number: Int64($0), partition: "https://r\($0)") }
        load(unknown + [(10, "https://fast"), (11, "https://fast")], into: &machine)
        let postponed = (4...9).map {
            PushMachine.Action.postpone($0, PushLimits.slowAnswer, .slow)
        }
        let expected: [PushMachine.Action] =
            [.send(2), .send(3)] + postponed + [.send(10), .send(11)]
        #expect(machine.next(now: .zero) == expected)
        _ = machine.answered(
            .accepted, partition: "https://r2", attempts: 0, now: .zero, jitter: 0)
        load([(12, "https://r2")], into: &machine)
        #expect(machine.next(now: .zero) == [.send(12)], "it has answered")
    }

    @Test(
        "slow push services of the web get half of the places together, and no other waits",
        .limit("push.slowServices"))
    func slowServices() {
        let rows: [(number: Int64, partition: String)] = [(1, "https://0"), (2, "https://1")]
        var machine = machine(concurrency: 4, rows)
        #expect(machine.next(now: .zero) == rows.map { .send($0.number) })
        for row in rows {
            _ = machine.answered(
                .accepted, partition: row.partition, took: .seconds(9), attempts: 0, now: .zero,
                jitter: 0)
        }
        load([(3, "https://fast")], into: &machine)
        #expect(machine.next(now: .zero) == [.send(3)])
        _ = machine.answered(
            .accepted, partition: "https://fast", attempts: 0, now: .zero, jitter: 0)
        let again = (5...8).map { (number: Int64($0), partition: "https://\($0 % 2)") }
        load(again + [(9, "https://fast"), (10, "https://fast")], into: &machine)
        #expect(
            machine.next(now: .zero) == [
                .send(5), .send(6), .postpone(7, .seconds(9), .slow),
                .postpone(8, .seconds(9), .slow), .send(9), .send(10),
            ])
        _ = machine.notSent(partition: "https://1", attempts: 0, jitter: 0)
        load([(11, "https://0"), (12, "https://1")], into: &machine)
        #expect(machine.next(now: .zero) == [.send(11)], "one that was not sent left its place")
        _ = machine.answered(
            .accepted, partition: "https://fast", attempts: 0, now: .zero, jitter: 0)
        #expect(machine.next(now: .zero) == [.postpone(12, .seconds(9), .slow)])
    }

    @Test(
        "a push service is slow until its first fast answer, and no more once its average is fast",
        .limit("push.slowServices"))
    func slowNoMore() {
        var slow = SlowServices()
        #expect(slow["a"] == PushLimits.slowAnswer)
        slow.answered("a", took: .milliseconds(999))
        #expect(slow["a"] == nil)
        slow.answered("a", took: .seconds(2))
        #expect(slow["a"] == .seconds(2))
        for _ in 0..<5 { slow.answered("a", took: .zero) }
        #expect(slow["a"].map { $0 > .seconds(1) } == true)
        slow.answered("a", took: .zero)
        #expect(slow["a"] == nil)
        for number in 0..<PushLimits.partitions { slow.answered("\(number)", took: .seconds(2)) }
        #expect(slow["0"] == .seconds(2))
        slow.answered("one more", took: .seconds(2))
        #expect(slow["0"] == PushLimits.slowAnswer && slow["one more"] == .seconds(2))
        #expect(slow["a"] == nil, "the fast ones are remembered beside them")
        for number in 1..<PushLimits.partitions { slow.answered("f\(number)", took: .zero) }
        #expect(slow["a"] == nil)
        slow.answered("another", took: .zero)
        #expect(slow["a"] == PushLimits.slowAnswer && slow["another"] == nil)
    }

    @Test("delayed pushes do not pause scans", .limit("push.queued"))
    func delayed() {
        let room = channel("room")
        for (delayed, pauses) in [(0, true), (1, false)] {
            var machine = machine()
            machine.started(queued: PushLimits.queued, delayed: 0)
            machine.settled([1], removed: 0, delayed: delayed, next: nil)
            machine.stored(1, in: room, now: .zero)
            #expect(machine.next(now: wait).contains(.scan(room, through: 1)) != pauses)
        }
    }

    @Test(
        "pushes beyond a device's rate wait one longer than the other, until one is sent",
        .limit("push.deviceRate"))
    func rates() {
        var rates = PushRates()
        let phone = target("a")
        for _ in 0..<20 { #expect(rates.take(phone, now: .zero) == nil) }
        for number in 1...101 {
            #expect(rates.take(phone, now: .zero) == .seconds(number))
        }
        #expect(rates.take(phone, now: .zero) == .seconds(101), "no longer than for all of them")
        #expect(rates.take(target("b"), now: .zero) == nil)
        #expect(rates.take(phone, now: .seconds(1)) == nil)
        #expect(rates.take(phone, now: .seconds(1)) == .seconds(1))
    }

    @Test(
        "beyond 10,000 push services that fail, the failures of one more are not counted",
        .limit("push.failingServices"))
    func manyLanes() {
        var machine = machine()
        func fails(_ partition: Int) {
            for _ in 0..<5 {
                _ = machine.answered(
                    .unavailable(nil, "down"), partition: "https://\(partition)", attempts: 0,
                    now: .zero,
                    jitter: 0.9)
            }
        }
        for partition in 0..<10_000 { fails(partition) }
        #expect(machine.downCount == 10_000)
        fails(3)
        #expect(machine.downCount == 10_000, "one that is known takes no place")
        fails(10_000)
        #expect(machine.downCount == 1)
    }

    @Test(
        "two channels are scanned at a time, and 65,536 messages are noted; beyond that all channels are scanned",
        .limit("push.noted", "push.scans"))
    func scans() {
        var machine = machine()
        for number in 0..<65_536 {
            machine.stored(1, in: channel("c\(number)"), now: .zero)
        }
        #expect(!machine.next(now: .zero).contains(.recover))
        machine.stored(1, in: channel("one-more"), now: .zero)
        #expect(machine.next(now: .zero) == [.recover])
        machine.recovered(succeeded: true, now: .zero)
        let scans = machine.next(now: wait)
        #expect(scans == [.scan(channel("c0"), through: 1), .scan(channel("c1"), through: 1)])
        #expect(machine.next(now: wait).isEmpty)
        machine.scanned(channel("c1"), added: 0, through: 1)
        #expect(machine.next(now: wait) == [.scan(channel("c2"), through: 1)])
    }

    @Test("channels that could not be noted are looked for again once the others are scanned")
    func moreThanNoted() {
        var machine = PushMachine(concurrency: 2)
        func find(_ now: Duration) {
            for number in 0...65_536 {
                machine.stored(1, in: channel("c\(number)"), now: now)
            }
            machine.recovered(succeeded: true, now: now)
        }
        #expect(machine.next(now: .zero).contains(.recover))
        machine.loaded([], isAll: true, next: nil, now: .zero)
        find(.zero)
        #expect(machine.next(now: .zero).isEmpty, "no more can be noted yet")
        #expect(machine.wake(now: .zero) == wait)
        #expect(
            machine.next(now: wait)
                == [.recover, .scan(channel("c0"), through: 1), .scan(channel("c1"), through: 1)])
        find(wait)
        #expect(machine.next(now: wait + wait).isEmpty, "the last one was noted")
    }

    @Test("a row that was settled while the queue was being read is not taken for a new one")
    func settledMeanwhile() {
        var machine = machine()
        machine.othersQueued(dueAfter: .zero, now: .zero)
        _ = machine.next(now: .zero)
        machine.loaded([.init(number: 1, target: target("a"))], isAll: false, next: nil, now: .zero)
        #expect(machine.next(now: .zero) == [.send(1), .load(PushLimits.page)])
        _ = machine.answered(.accepted, attempts: 0, now: .zero, jitter: 0)
        machine.settled([1], removed: 1, next: nil)
        // What was read before that has the row still.
        machine.loaded([.init(number: 1, target: target("a"))], isAll: true, next: nil, now: .zero)
        #expect(machine.next(now: .zero).isEmpty)
        #expect(!machine.holds(1))
    }

    @Test("pushes that were queued while the queue was being read are not forgotten")
    func queuedMeanwhile() {
        var machine = machine()
        machine.othersQueued(dueAfter: .zero, now: .zero)
        #expect(machine.next(now: .zero) == [.load(PushLimits.page)])
        machine.othersQueued(dueAfter: .seconds(2), now: .zero)
        machine.loaded([], isAll: true, next: nil, now: .zero)
        #expect(machine.wake(now: .zero) == .seconds(2))
        #expect(machine.next(now: .seconds(2)) == [.load(PushLimits.page)])
    }

    @Test(
        "a push that waits for a slow provider is read again before it is sent",
        .limit("push.inMemory"))
    func freshness() {
        var machine = machine(concurrency: 1)
        machine.othersQueued(dueAfter: .zero, now: .zero)
        _ = machine.next(now: .zero)
        let rows = (1...3).map { PushMachine.Row(number: $0, target: target("\($0)")) }
        machine.loaded(rows, isAll: true, next: nil, now: .zero)
        #expect(machine.next(now: .zero) == [.send(1)])
        #expect(machine.wake(now: .zero) == PushLimits.waitsInMemory)
        let late = machine.next(now: PushLimits.waitsInMemory)
        #expect(late == [.release([2, 3]), .load(PushLimits.page)])
        #expect(!machine.holds(2))
    }

    @Test("a push that is released while the queue is being read is read again after that")
    func releasedMeanwhile() {
        var machine = machine(concurrency: 2)
        machine.othersQueued(dueAfter: .zero, now: .zero)
        _ = machine.next(now: .zero)
        let load = PushMachine.Action.load(PushLimits.page)
        let rows = (1...3).map { PushMachine.Row(number: $0, target: target("\($0)")) }
        machine.loaded(rows, isAll: false, next: nil, now: .zero)
        #expect(machine.next(now: .zero) == [.send(1), .send(2), load])
        let late = PushLimits.waitsInMemory
        #expect(machine.next(now: late) == [.release([3])])
        // What is read does not have it, because it was held.
        machine.loaded([], isAll: true, next: nil, now: late)
        #expect(machine.next(now: late) == [load])
    }

    @Test("recoveries have a pause, however often messages were not noted")
    func recoveries() {
        var machine = machine()
        machine.overflowed()
        #expect(machine.next(now: .zero).isEmpty)
        #expect(machine.wake(now: .zero) == wait)
        #expect(machine.next(now: wait) == [.recover])
    }

    @Test("a recovery that fails is made again")
    func recovery() {
        var machine = PushMachine(concurrency: 1)
        #expect(machine.next(now: .zero).contains(.recover))
        machine.recovered(succeeded: false, now: .zero)
        #expect(machine.next(now: .milliseconds(500)).isEmpty)
        #expect(machine.wake(now: .zero) == PushLimits.afterFailure)
        #expect(machine.next(now: PushLimits.afterFailure) == [.recover])
    }
}
