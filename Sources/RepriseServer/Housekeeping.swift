import Logging
import RepriseCore

/// Takes away what the log need not keep any longer, once a minute, as far as the calendar can be believed.
struct Housekeeping {
    let log: any MessageLog
    let policy: RetentionPolicy
    let clock: any Timekeeper
    let logger: Logger

    /// Returns when it is cancelled.
    func run() async {
        var calendar = WallClockGuard(stored: nil, now: clock.sighting())
        while (try? await clock.sleep(for: .seconds(60))) != nil {
            calendar.observe(clock.sighting())
            guard calendar.mayExpire else {
                logger.warning("nothing is trimmed: the calendar has jumped")
                continue
            }
            do {
                try await log.trim(policy, now: clock.wall())
            } catch {
                logger.warning("trimming failed", metadata: ["error": "\(error)"])
            }
        }
    }
}
