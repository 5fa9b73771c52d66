package import Logging
package import RepriseCore

/// Trims the log by its retention, and never by a doubtful wall clock.
///
/// After the wall clock jumps by more than a day while the server runs, nothing is trimmed until a
/// day of uptime has confirmed it: see `WallClockGuard`. A jump while no server ran is trusted: the
/// first pass runs at the start, or a server restarted more often than once per interval would keep
/// everything.
package struct Housekeeping: Sendable {
    private let log: any MessageLog
    private let policy: RetentionPolicy
    private let accounts: Accounts?
    /// The time between two passes.
    static let interval = Duration.seconds(60)

    private let clock: any Timekeeper
    private let logger: Logger

    /// Makes the runner; nothing happens before ``run()``.
    ///
    /// - Parameters:
    ///   - log: the log to trim.
    ///   - policy: the retention; ids expire even if it keeps everything.
    ///   - accounts: the channels' own policies; nil if there are none.
    ///   - clock: the wall clock and the pause.
    ///   - logger: receives failures.
    package init(
        log: any MessageLog, policy: RetentionPolicy, accounts: Accounts? = nil,
        clock: any Timekeeper, logger: Logger
    ) {
        self.log = log
        self.policy = policy
        self.accounts = accounts
        self.clock = clock
        self.logger = logger
    }

    /// Trims at once and then once a minute until cancelled; the next pass repeats a failed one.
    package func run() async {
        var calendar = WallClockGuard(stored: nil, now: clock.clockReading())
        repeat {
            await pass(&calendar)
            await eraseDeleted()
        } while (try? await clock.sleep(for: Self.interval)) != nil
    }

    /// Erases content deleted since the last pass from the files, unless a reader holds it; then
    /// the next pass does.
    private func eraseDeleted() async {
        do {
            try await log.eraseDeleted()
            try await accounts?.eraseDeleted()
        } catch {
            guard !Task.isCancelled else { return }  // the server ends
            logger.warning("erasing deleted messages failed", metadata: ["error": "\(error)"])
        }
    }

    /// Runs one pass, if the wall clock is trusted.
    package func pass(_ calendar: inout WallClockGuard) async {
        calendar.observe(clock.clockReading())
        guard calendar.mayExpire else {
            logger.warning("no messages are trimmed: the calendar has jumped")
            return
        }
        do {
            try await log.trim(
                policy, now: clock.wall(), overrides: accounts?.retentionOverrides())
        } catch {
            guard !Task.isCancelled else { return }
            logger.warning("trimming failed", metadata: ["error": "\(error)"])
        }
    }
}
