package import Logging
package import RepriseCore

/// Takes away what the log need not keep any longer, and never by a calendar that it doubts.
///
/// A calendar that jumps by more than a day while the server runs takes nothing away until a day of
/// uptime has confirmed it: see `WallClockGuard`. One that jumped while no server ran is believed:
/// the first pass is made at the start, or a server that is started more often than it waits would
/// keep everything.
package struct Housekeeping: Sendable {
    private let log: any MessageLog
    private let policy: RetentionPolicy
    private let accounts: Accounts?
    private let clock: any Timekeeper
    private let logger: Logger

    /// Makes the runner; nothing happens before ``run()``.
    ///
    /// - Parameters:
    ///   - log: what is trimmed.
    ///   - policy: what is kept; ids are forgotten in time even if it keeps everything.
    ///   - accounts: know the channels that have a policy of their own; nil if there are none.
    ///   - clock: the calendar and the pause.
    ///   - logger: hears of what could not be done.
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

    /// Trims at once and then once a minute until it is cancelled; a pass that fails is tried again
    /// at the next.
    package func run() async {
        var calendar = WallClockGuard(stored: nil, now: clock.sighting())
        repeat {
            await pass(&calendar)
            await eraseDeleted()
        } while (try? await clock.sleep(for: .seconds(60))) != nil
    }

    /// Takes what was deleted since the last time out of the files, as far as nobody reads there;
    /// the rest at the next time.
    private func eraseDeleted() async {
        do {
            try await log.eraseDeleted()
            try await accounts?.eraseDeleted()
        } catch {
            guard !Task.isCancelled else { return }  // the server ends
            logger.warning("erasing failed", metadata: ["error": "\(error)"])
        }
    }

    /// One pass, if the calendar may be believed.
    package func pass(_ calendar: inout WallClockGuard) async {
        calendar.observe(clock.sighting())
        guard calendar.mayExpire else {
            logger.warning("nothing is trimmed: the calendar has jumped")
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
