import RepriseCore

/// Clocks that run 3,000 times as fast, the same ones in each process: 15 minutes pass in 300 ms.
struct FastClock: Timekeeper {
    private static let factor = 3_000
    private let real = SystemTimekeeper()

    var boot: String { real.boot }

    func uptime() -> Duration { real.uptime() * Self.factor }

    /// Of one origin with the uptime: the calendar is never set.
    func wall() -> WallTime { WallTime(milliseconds: 1_800_000_000_000).advanced(by: uptime()) }

    func sleep(until moment: Duration) async throws {
        try await real.sleep(until: moment / Self.factor)
    }
}
