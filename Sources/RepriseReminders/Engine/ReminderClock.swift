import Foundation
package import RepriseCore

/// The clocks as they were read last, and when the next reminder rings.
package struct ReminderClock: Sendable {
    package typealias Moment = ReconciliationMachine.Moment

    private var reading: (uptime: Duration, wall: WallTime, zone: String)?
    /// By both clocks.
    private var ring: (wall: WallTime, due: Duration)?

    package init() {}

    package mutating func read(_ now: Moment) {
        reading = (now.uptime, now.wall, now.zone.identifier)
        if let at = ring?.wall, at <= now.wall { ring = nil }
    }

    /// nil: none rings.
    package mutating func ringsNext(at time: WallTime?, now: Moment) {
        ring = time.map { at in
            let wait = max(now.wall.duration(to: at), .zero)
            return (at, now.uptime + wait + .seconds(1))
        }
    }

    /// When they are to be read again, `tick` after the last time at the latest.
    package func due(tick: Duration) -> Duration? {
        [reading.map { $0.uptime + tick }, ring?.due].compactMap { $0 }.min()
    }

    /// The relevant change since the last reading.
    package func cause(_ now: Moment) -> ReconciliationCause? {
        guard let reading else { return nil }
        if reading.zone != now.zone.identifier { return .zone }
        let expected = reading.wall.advanced(by: now.uptime - reading.uptime)
        let step = expected.duration(to: now.wall)
        if step > .seconds(2) || step < .seconds(-2) { return .clock }
        if let ring, ring.wall <= now.wall { return .rang }
        return nil
    }
}
