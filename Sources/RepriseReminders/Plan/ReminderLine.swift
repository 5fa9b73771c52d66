import Foundation
import RepriseCore

/// One reminder of a planner, with its occurrences computed as far as needed.
struct ReminderLine: Sendable {
    let reminder: Reminder
    private let rule: ScheduleRule
    /// Nil: the device's.
    private let fixed: ZoneClock?
    /// In minutes, as in ``Ring/local``: skipped, or ringing at another time.
    private var hidden: Set<Int64> = []
    /// Days that are skipped, from their first moment to their last.
    private var days: Set<Range<WallTime>> = []

    private var cursor: OccurrenceCursor?
    private var zone: TimeZone?
    private var now = WallTime(milliseconds: .min)
    /// Computed occurrences that are not past.
    private var found: [Ring] = []

    /// - Parameter reminder: with a checked schedule.
    init(_ reminder: Reminder) {
        self.reminder = reminder
        rule = ScheduleRule(reminder.schedule)
        fixed =
            switch reminder.schedule.zone {
            case .device: nil
            case .fixed(let name): TimeZone(identifier: name).map(ZoneClock.init)
            }
    }

    /// The wall clock of its schedule.
    func clock(_ device: TimeZone) -> ZoneClock { fixed ?? ZoneClock(device) }

    mutating func hide(_ occurrences: Set<Int64>, days: Set<Range<WallTime>>) {
        guard occurrences != hidden || days != self.days else { return }
        hidden = occurrences
        self.days = days
        cursor = nil
    }

    /// Drops past occurrences; starts over if the clock or the zone was changed.
    mutating func begin(at now: WallTime, in device: TimeZone) {
        if cursor == nil || now < self.now || (fixed == nil && zone != device) {
            restart(at: now, in: device)
        } else if let first = found.first, first.time <= now {
            found.removeAll { $0.time <= now }
            // Beyond the computed ones: those between need not be computed.
            if found.isEmpty { restart(at: now, in: device) }
        }
        self.now = now
    }

    private mutating func restart(at now: WallTime, in device: TimeZone) {
        cursor = OccurrenceCursor(rule, clock: clock(device), after: now)
        zone = device
        found = []
    }

    /// The occurrence at this index from now on; nil: beyond the end.
    mutating func ring(_ index: Int) -> Ring? {
        while found.count <= index {
            guard let ring = cursor?.ring() else { return nil }
            if ring.time > now, !isHidden(ring) { found.append(ring) }
        }
        return found[index]
    }

    private func isHidden(_ ring: Ring) -> Bool {
        hidden.contains(ring.local)
            || !days.isEmpty && days.contains { $0.contains(ring.time) }
    }
}
