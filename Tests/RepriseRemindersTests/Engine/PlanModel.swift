import Foundation
import RepriseCore
import RepriseReminders

/// What should be pending, computed anew from nothing but what a person has said: no code of the
/// planner's, no calendar of Foundation's.
struct PlanModel {
    enum Days: Hashable {
        case daily
        case weekly(Set<Int>)
        case every(Int, from: Int)
        case once(Int)
        /// The day of this number, and the last Friday.
        case monthly(Int)
    }

    struct Rule: Hashable {
        var id: String
        var title: String
        var days: Days
        var hour: Int
        var minute: Int
        /// In seconds; nil: the device's.
        var fixed: Int?
    }

    struct Thing: Hashable {
        var isActive = true
        var rules: [Rule]
    }

    struct Mark: Hashable {
        var entity: String
        var rule: String
        var occurrence: String
        /// In seconds since 1970.
        var until: Int
    }

    struct Ring: Hashable, Comparable {
        var at: Int
        var entity: String
        var rule: String
        var local: String
        var title: String

        static func < (left: Self, right: Self) -> Bool {
            (left.at, left.entity, left.rule) < (right.at, right.entity, right.rule)
        }
    }

    /// How long a skip is kept after its day, and a snooze after it has rung.
    static let week = 7 * 86_400

    var things: [String: Thing] = [:]
    var snoozes: [Mark] = []
    var tests: [(mark: Mark, title: String)] = []
    /// `rule` is empty for all of the entity.
    var skips: [Mark] = []
    /// The end of the last day that was skipped more than a week ago.
    var mayBeForgotten = Int.min
    var isAllowed = true
    var offset = 0
    var now = 0
    var foreign = 0

    // MARK: The calendar

    /// Howard Hinnant's days_from_civil, the other way round.
    static func civil(_ days: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let doe = shifted - era * 146_097
        let yoe = (doe - doe / 1_460 + doe / 36_524 - doe / 146_096) / 365
        let doy = doe - (365 * yoe + yoe / 4 - yoe / 100)
        let mp = (5 * doy + 2) / 153
        let month = mp < 10 ? mp + 3 : mp - 9
        return (yoe + era * 400 + (month <= 2 ? 1 : 0), month, doy - (153 * mp + 2) / 5 + 1)
    }

    static func text(_ days: Int, _ hour: Int, _ minute: Int) -> String {
        let date = civil(days)
        return String(
            format: "%04d-%02d-%02dT%02d:%02d", date.year, date.month, date.day, hour, minute)
    }

    func day(of moment: Int, _ offset: Int) -> Int {
        let local = moment + offset
        return local >= 0 ? local / 86_400 : -((-local + 86_399) / 86_400)
    }

    private func rings(_ rule: Rule, on day: Int) -> Bool {
        switch rule.days {
        case .daily: true
        // 1970-01-01 was a Thursday; Monday is 1.
        case .weekly(let days): days.contains((day + 3) % 7 + 1)
        case .every(let count, let from): day >= from && (day - from) % count == 0
        case .once(let only): day == only
        // Seven days later it is another month.
        case .monthly(let number):
            Self.civil(day).day == number
                || ((day + 3) % 7 + 1 == 5
                    && Self.civil(day + 7).month != Self.civil(day).month)
        }
    }

    // MARK: What rings

    /// From now on, as far as so many days.
    private func rings(days: Int) -> [Ring] {
        var rings: [Ring] = []
        for (id, thing) in things where thing.isActive {
            for rule in thing.rules {
                let offset = rule.fixed ?? self.offset
                let today = day(of: now, offset)
                for day in today...(today + days) where self.rings(rule, on: day) {
                    let at = day * 86_400 + rule.hour * 3_600 + rule.minute * 60 - offset
                    let local = Self.text(day, rule.hour, rule.minute)
                    guard at > now, !isHidden(id, rule.id, local, at) else { continue }
                    rings.append(
                        Ring(at: at, entity: id, rule: rule.id, local: local, title: rule.title))
                }
            }
        }
        return rings.sorted()
    }

    private func isHidden(_ entity: String, _ rule: String, _ local: String, _ at: Int) -> Bool {
        skips.contains {
            $0.entity == entity && ($0.rule.isEmpty || $0.rule == rule)
                && at < $0.until && at >= $0.until - 86_400
        }
            || snoozes.contains {
                $0.until + Self.week > now && $0.entity == entity && $0.rule == rule
                    && $0.occurrence == local
            }
    }

    /// What should be pending.
    var desired: Set<Ring> {
        guard isAllowed else { return [] }
        let limit = max(0, min(60, 64 - foreign))
        let placed = said.prefix(limit)
        let room = limit - placed.count
        var horizon = 10
        var all = rings(days: horizon)
        // Few a month take all places for years; one that is over never comes.
        while all.count <= 61 || !isComplete(all), horizon < (all.count <= 61 ? 2_000 : 600) {
            horizon *= 4
            all = rings(days: horizon)
        }
        return Set(placed).union(choose(all, room))
    }

    private func isComplete(_ rings: [Ring]) -> Bool {
        let seen = Set(rings.map { $0.entity + "/" + $0.rule })
        return things.allSatisfy { id, thing in
            !thing.isActive || thing.rules.allSatisfy { seen.contains(id + "/" + $0.id) }
        }
    }

    private var said: [Ring] {
        var said = tests.filter { $0.mark.until > now }.map {
            Ring(
                at: $0.mark.until, entity: $0.mark.entity, rule: $0.mark.rule,
                local: $0.mark.occurrence, title: $0.title)
        }
        for snooze in snoozes where snooze.until > now {
            guard let thing = things[snooze.entity], thing.isActive,
                let rule = thing.rules.first(where: { $0.id == snooze.rule })
            else { continue }
            said.append(
                Ring(
                    at: snooze.until, entity: snooze.entity, rule: rule.id,
                    local: snooze.occurrence, title: rule.title))
        }
        return said.sorted()
    }

    /// Two thirds by time; then the next of each entity that has none; then of each rule that has
    /// none; then by time.
    private func choose(_ all: [Ring], _ room: Int) -> [Ring] {
        guard all.count > room else { return all }
        let share = room * 2 / 3
        var chosen = Array(all.prefix(share))
        var entities = Set(chosen.map(\.entity))
        for ring in all where chosen.count < room && entities.insert(ring.entity).inserted {
            chosen.append(ring)
        }
        var rules = Set(chosen.map { $0.entity + "/" + $0.rule })
        for ring in all
        where chosen.count < room && rules.insert(ring.entity + "/" + ring.rule).inserted {
            chosen.append(ring)
        }
        let names = Set(chosen)
        chosen += all.filter { !names.contains($0) }.prefix(room - chosen.count)
        return chosen
    }
}
