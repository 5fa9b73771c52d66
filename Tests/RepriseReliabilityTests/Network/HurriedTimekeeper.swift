import RepriseCore

/// A device's clocks at ten times their speed: silence that takes a minute to notice takes six
/// seconds.
///
/// The bounds that a device keeps are in proportion to each other; some have no setting, and need
/// none outside of tests.
struct HurriedTimekeeper: Timekeeper {
    static let speed = 10
    private let system = SystemTimekeeper()
    private let beginning: (wall: WallTime, uptime: Duration)

    init() { beginning = (system.wall(), system.uptime()) }

    var boot: String { system.boot }

    func uptime() -> Duration {
        beginning.uptime + (system.uptime() - beginning.uptime) * Self.speed
    }

    func wall() -> WallTime { beginning.wall.advanced(by: uptime() - beginning.uptime) }

    func sleep(until moment: Duration) async throws {
        let left = (moment - uptime()) / Self.speed
        if left > .zero { try await Task.sleep(for: left) }
    }
}
