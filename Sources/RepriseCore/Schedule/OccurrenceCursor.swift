/// One occurrence in numbers: the compact form of an ``Occurrence``.
package struct Ring: Hashable, Sendable {
    /// The rule's own time, in minutes of the wall clock.
    package var local: Int64
    /// Seconds since 1970.
    package var at: Int64
    /// The wall clock at that moment, in seconds.
    package var wall: Int64

    package init(local: Int64, at: Int64, wall: Int64) {
        self.local = local
        self.at = at
        self.wall = wall
    }

    /// When it rings.
    package var time: WallTime { WallTime(milliseconds: at * 1_000) }

    /// In words.
    package var occurrence: Occurrence {
        let day = wall.floored(by: 86_400)
        let minutes = Int(wall - day * 86_400) / 60
        return Occurrence(
            local: Occurrence.text(minutes: local), at: time, date: LocalDate(number: day),
            time: TimeOfDay(minutes / 60, minutes % 60))
    }
}

/// Iterates over the occurrences of a schedule, earliest first.
///
/// Lays the rule's days out one by one, and holds each occurrence back until no later day can have
/// an earlier one: a clock that is set forward, or quiet hours, may move an occurrence behind those
/// of the next day.
package struct OccurrenceCursor: Sendable {
    /// A rule ends after this many days without an occurrence.
    ///
    /// Quiet hours that cover everything are refused before; only some nights remain.
    package static let barrenDays = 1_500

    private let rule: ScheduleRule
    private let clock: ZoneClock
    private let after: WallTime
    /// The next day to lay out, and the lower bound of its occurrences and all later ones.
    private var next: (day: Int64, bound: Int64)?
    private var waiting: [Ring] = []
    private var barren = 0

    /// - Parameters:
    ///   - rule: the schedule.
    ///   - clock: of its days and times.
    ///   - after: occurrences up to this moment are skipped.
    package init(_ rule: ScheduleRule, clock: ZoneClock, after: WallTime) {
        self.rule = rule
        self.clock = clock
        self.after = after
        // A year before the calendar begins, and one after it ends: a clock of any zone is past
        // them.
        let seconds = min(
            max(after.milliseconds.floored(by: 1_000), -62_167_219_200), 253_433_923_200)
        let today = (seconds + clock.offset(at: seconds)).floored(by: 86_400)
        let isPostponed = rule.quiet?.then == .postpone
        advance(to: today - (clock.isSteady(around: seconds) ? (isPostponed ? 1 : 0) : 3))
    }

    private mutating func advance(to day: Int64) {
        next = rule.day(from: day).map { ($0, clock.earliest(ofDay: $0)) }
    }

    /// The next occurrence; nil at the end.
    package mutating func ring() -> Ring? {
        while true {
            if let first = waiting.first, next.map({ first.at < $0.bound }) ?? true {
                return waiting.removeFirst()
            }
            guard let day = next?.day else { return nil }
            let count = waiting.count
            for minute in rule.times { layOut(day * 1_440 + minute) }
            barren = waiting.count > count ? 0 : barren + 1
            if barren > Self.barrenDays { next = nil } else { advance(to: day + 1) }
        }
    }

    private mutating func layOut(_ local: Int64) {
        guard local <= rule.last, let moment = audible(clock.moment(local * 60)) else { return }
        let ring = Ring(local: local, at: moment.at, wall: moment.wall)
        guard ring.time > after else { return }
        let index = waiting.firstIndex { $0.at >= ring.at } ?? waiting.endIndex
        if index < waiting.endIndex, waiting[index].at == ring.at {
            // Two that fall on the same minute are one: the later of them by the rule, which is the
            // one that was not moved, if any was not.
            if waiting[index].local < local { waiting[index] = ring }
        } else {
            waiting.insert(ring, at: index)
        }
    }

    /// The moment after quiet hours.
    ///
    /// The clock may skip their end in turn, so it is checked again, a few times.
    private func audible(_ moment: ZoneClock.Moment) -> ZoneClock.Moment? {
        guard let quiet = rule.quiet else { return moment }
        var moment = moment
        for _ in 0..<4 {
            let day = moment.wall.floored(by: 86_400)
            let minute = (moment.wall - day * 86_400) / 60
            guard quiet.contain(minute: minute) else { return moment }
            guard quiet.then == .postpone else { return nil }
            let end = day + (minute < quiet.to.minutes ? 0 : 1)
            moment = clock.moment(end * 86_400 + quiet.to.minutes * 60)
        }
        return nil
    }
}
