import Logging
package import RepriseCore

/// Trims the log at intervals, and never by a calendar that it doubts.
///
/// ```swift
/// try await Retention(log: log, policy: RetentionPolicy(age: .seconds(7 * 86_400))).run()
/// ```
///
/// A calendar that jumps by more than a day while the server runs takes nothing away until a day of uptime has confirmed it: see
/// ``WallClockGuard``. One that jumped while no server ran is believed.
package struct Retention: Sendable {
    private let log: any MessageLog
    private let policy: RetentionPolicy
    private let clock: any Timekeeper
    private let interval: Duration
    private let logger = Logger(label: "reprise.retention")

    /// Makes the runner; nothing happens before ``run()``.
    ///
    /// - Parameters:
    ///   - log: what is trimmed.
    ///   - policy: what is kept; ids are forgotten in time even if it keeps everything.
    ///   - clock: the calendar and the pause.
    ///   - interval: from one pass to the next.
    package init(
        log: any MessageLog, policy: RetentionPolicy,
        clock: any Timekeeper = SystemTimekeeper(), interval: Duration = .seconds(60)
    ) {
        self.log = log
        self.policy = policy
        self.clock = clock
        self.interval = interval
    }

    /// Trims until it is cancelled; a pass that fails is logged and tried again at the next.
    package func run() async {
        var calendar = WallClockGuard(stored: nil, now: clock.sighting())
        while !Task.isCancelled {
            await pass(&calendar)
            do {
                try await clock.sleep(for: interval)
            } catch {
                return  // cancelled
            }
        }
    }

    /// One pass, if the calendar may be believed.
    package func pass(_ calendar: inout WallClockGuard) async {
        calendar.observe(clock.sighting())
        guard calendar.mayExpire else { return }
        do {
            try await log.trim(policy, now: clock.wall())
        } catch {
            logger.warning("The log could not be trimmed.", metadata: ["error": "\(error)"])
        }
    }
}
