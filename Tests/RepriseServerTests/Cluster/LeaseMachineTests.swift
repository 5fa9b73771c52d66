import RepriseCore
import RepriseServer
import Testing

@Suite("Lease machine")
struct LeaseMachineTests {
    private static func lease(_ grant: Int64) -> Lease {
        Lease(holder: 9, grant: grant, expires: WallTime(milliseconds: 0))
    }

    @Test("A free lease is claimed at once, another one when it has not changed for its time")
    func claims() {
        var free = LeaseMachine(now: .zero, jitter: 0)
        #expect(free.next(nil, now: .zero) == .claim)

        var waiting = LeaseMachine(now: .zero, jitter: 0.5)
        #expect(waiting.next(Self.lease(4), now: .seconds(1)) == nil)
        #expect(waiting.next(Self.lease(4), now: .seconds(21)) == nil)
        var renewed = Self.lease(4)
        renewed.expires = WallTime(milliseconds: 1)
        #expect(waiting.next(renewed, now: .seconds(21.5)) == nil)
        #expect(waiting.next(renewed, now: .seconds(42)) == nil)
        #expect(waiting.next(renewed, now: .seconds(42.5)) == .claim)
        #expect(waiting.grant(now: .seconds(43)) == nil)
        waiting.answered(nil, asked: .seconds(42.5))
        #expect(waiting.grant(now: .seconds(43)) == nil, "another was first")
    }

    @Test("A lease is renewed, and valid for 16 s from its request, whatever the clocks say")
    func holds() {
        var machine = LeaseMachine(now: .zero, jitter: 0)
        machine.answered(7, asked: .seconds(1))
        #expect(machine.grant(now: .seconds(16.9)) == 7)
        #expect(machine.next(Self.lease(7), now: .seconds(5)) == nil)
        #expect(machine.next(Self.lease(7), now: .seconds(6)) == .renew(grant: 7))
        machine.answered(7, asked: .seconds(6))
        #expect(machine.grant(now: .seconds(21.9)) == 7)
        // Not answered any more: it asks on, and stops in time.
        #expect(machine.next(Self.lease(7), now: .seconds(11)) == .renew(grant: 7))
        #expect(machine.next(Self.lease(7), now: .seconds(12)) == .renew(grant: 7))
        #expect(machine.grant(now: .seconds(22)) == nil)
        #expect(machine.next(Self.lease(7), now: .seconds(22)) == nil)
        #expect(ClusterLimits.leaseActs < ClusterLimits.leaseTime)
    }

    @Test("A refused renewal and a release end a lease at once")
    func ends() {
        var machine = LeaseMachine(now: .zero, jitter: 0)
        machine.answered(7, asked: .seconds(1))
        machine.answered(nil, asked: .seconds(6))
        #expect(machine.grant(now: .seconds(6)) == nil)
        machine.answered(8, asked: .seconds(7))
        machine.released()
        #expect(machine.grant(now: .seconds(7)) == nil)
        #expect(machine.next(nil, now: .seconds(7)) == .claim)
    }
}
