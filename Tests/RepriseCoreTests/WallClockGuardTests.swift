import RepriseCore
import Testing

@Suite("The guard of the calendar")
struct WallClockGuardTests {
    private static let day: Int64 = 86_400

    private func clockReading(_ wall: Int64, _ uptime: Int64, boot: String = "a") -> ClockReading {
        ClockReading(
            wall: WallTime(milliseconds: wall * 1_000), uptime: .seconds(uptime), boot: boot)
    }

    private func trusted() -> WallClockGuard {
        WallClockGuard(stored: nil, now: clockReading(1_000_000, 0))
    }

    @Test(
        "A calendar is doubted exactly when it moved a day more or less than the clock that cannot jump",
        arguments: [
            (day, true), (day + 1, false), (0, true), (-day, true), (-day - 1, false),
            (50 * 365 * day, false),
        ])
    func jump(step: Int64, isTrusted: Bool) {
        var guardian = trusted()
        let next = clockReading(1_000_000 + 10 + step, 10)
        #expect(guardian.correction(to: next) == .seconds(step))
        guardian.observe(next)
        #expect(guardian.mayExpire == isTrusted)
    }

    @Test("Days that really passed are no jump")
    func passed() {
        var guardian = trusted()
        guardian.observe(clockReading(1_000_000 + 9 * Self.day, 9 * Self.day))
        #expect(guardian.mayExpire)
    }

    @Test(
        "After a restart a step back is doubted and a step forward believed, because it may be a drawer"
    )
    func restart() {
        var back = trusted()
        let before = clockReading(1_000_000 - Self.day - 1, 5, boot: "b")
        #expect(back.correction(to: before) == .seconds(-Self.day - 1))
        back.observe(before)
        #expect(!back.mayExpire)
        var forward = trusted()
        let after = clockReading(1_000_000 + 900 * Self.day, 5, boot: "b")
        #expect(forward.correction(to: after) == .zero)
        forward.observe(after)
        #expect(forward.mayExpire)
    }

    @Test(
        "The server's time ends doubt when it agrees within a day, and begins it when it does not")
    func server() {
        var guardian = trusted()
        let wrong = clockReading(1_000_000 + 90 * Self.day, 10)
        guardian.observe(wrong)
        guardian.serverTimeReceived(WallTime(milliseconds: 1_000_010_000), now: wrong)
        #expect(!guardian.mayExpire)
        guardian.serverTimeReceived(wrong.wall.advanced(by: .seconds(Self.day)), now: wrong)
        #expect(guardian.mayExpire)
        guardian.serverTimeReceived(wrong.wall.advanced(by: .seconds(-Self.day - 1)), now: wrong)
        #expect(!guardian.mayExpire)
    }

    @Test("A day of uptime ends doubt; a restart keeps what was seen of it")
    func uptime() {
        var guardian = trusted()
        let start = 1_000_000 + 90 * Self.day
        guardian.observe(clockReading(start, 0))
        guardian.observe(clockReading(start + Self.day - 10, Self.day - 10))
        #expect(!guardian.mayExpire)
        var restarted = WallClockGuard(
            stored: guardian.last, doubt: guardian.doubt,
            now: clockReading(start + Self.day, 5, boot: "b"))
        #expect(!restarted.mayExpire)
        restarted.observe(clockReading(start + Self.day + 9, 14, boot: "b"))
        #expect(!restarted.mayExpire)
        restarted.observe(clockReading(start + Self.day + 10, 15, boot: "b"))
        #expect(restarted.mayExpire)
        guardian.observe(clockReading(start + Self.day, Self.day))
        #expect(guardian.mayExpire)
    }

    @Test(
        "An app that is opened for a minute a day comes out of doubt after as many days as make a day of uptime"
    )
    func openedBriefly() {
        var doubt: Duration? = .zero
        var days = 0
        while doubt != nil, days < 2_000 {
            days += 1
            let boot = "boot \(days)"
            var opened = WallClockGuard(
                stored: clockReading(Int64(days - 1) * Self.day + 60, 90, boot: "boot \(days - 1)"),
                doubt: doubt, now: clockReading(Int64(days) * Self.day, 30, boot: boot))
            opened.observe(clockReading(Int64(days) * Self.day + 60, 90, boot: boot))
            doubt = opened.doubt
        }
        #expect(days == 1_440)
    }

    @Test("A step forward that a restart hides is reported, so that no id is forgotten for it")
    func hidden() {
        let guardian = trusted()
        let later = 1_000_000 + 9 * Self.day
        #expect(
            guardian.hiddenStep(to: clockReading(later, 5, boot: "b")) == .seconds(9 * Self.day))
        // Days that were counted, a night in which the device was off, and a step back are none.
        #expect(guardian.hiddenStep(to: clockReading(later, 9 * Self.day)) == .zero)
        #expect(guardian.hiddenStep(to: clockReading(1_000_000 + Self.day, 5, boot: "b")) == .zero)
        #expect(guardian.hiddenStep(to: clockReading(500_000, 5, boot: "b")) == .zero)
    }

    @Test("Doubt that an earlier process wrote down is not forgotten")
    func stored() {
        let seen = clockReading(1_000_000, 100)
        #expect(!WallClockGuard(stored: seen, doubt: .zero, now: seen).mayExpire)
        let jumped = clockReading(1_000_000 + 3 * Self.day, 101)
        #expect(!WallClockGuard(stored: seen, now: jumped).mayExpire)
    }
}
