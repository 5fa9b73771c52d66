import Foundation
import GRDB
import RepriseChains
import RepriseCore

/// Sees of a device's schedules what its app and its person see: what was said and is durable, the
/// runs that begin, the times that are counted as skipped, and what the clocks show.
///
/// It computes times itself, from moments of the simulation and readings of the wall clock.
final class SchedulesChecker {
    /// What a commit holds, in order.
    enum Event {
        case scheduled(ScheduleSaying)
        case unscheduled(String)
        /// A command of a schedule ended: a run may have begun.
        case commanded(String)
    }

    private struct Known {
        var saying: ScheduleSaying
        /// From when its next time counts: the last one that came, or when it was said.
        var since: Duration
        var sinceWall: WallTime
        /// The earliest that the calendar has shown since.
        var earliest: WallTime
        /// What the wall clock showed when a time came, by each zone that the app may have meant.
        var last: ClosedRange<Int64>?
        /// The least that it has shown since.
        var least: Int64
        var hasCome = false
        var skipped = 0
        var reason: String?
    }

    private struct Run {
        let id: String
        let name: String
        let definition: String
        let input: [UInt8]
        let needs: Int
        /// In milliseconds from its start.
        let deadline: Int64?
    }

    /// Within how long a time comes once the app lives and nothing is wrong.
    private static let slack: Duration = .seconds(300)
    /// For so long after a change an app may mean the former zone, of what it was writing.
    private static let zoneMemory: Duration = .seconds(300)
    /// Set by less, nobody notices that the clock was set.
    private static let unnoticed: Duration = .seconds(60)
    /// Within how long an app commits something, and so sees that the clock was set.
    private static let unseen: Duration = .seconds(3_600)
    private static let day: Int64 = 1_440

    private let simulation: Simulation
    private let name: String
    private let clock: SimulatedClock
    private let faults: [Fault]
    private var pending: [Event] = []
    private var known: [String: Known] = [:]
    /// Chains that have not ended, by their names.
    private var open: [String: [String]] = [:]
    private var newest: Int64 = 0
    private var byApp: Set<String> = []
    private var steps: [(at: Duration, size: Duration)] = []
    private var losses: [Duration] = []
    private var zones: [(from: Duration, minutes: Int64)] = [(.zero, 0)]
    /// When something happened last that a schedule needs time to follow.
    private var disturbed: Duration = .zero
    /// When the clock was set, if nobody has committed since: no app can know.
    private var clockUnseen: Duration?
    /// The zone has changed since the app began or came to the foreground.
    private var isZoneUnseen = false

    init(_ simulation: Simulation, name: String, clock: SimulatedClock, faults: [Fault]) {
        (self.simulation, self.name, self.clock, self.faults) = (simulation, name, clock, faults)
    }

    private func violated(_ invariant: Invariant, _ what: @autoclosure () -> String) {
        simulation.violated(invariant, "\(name): \(what())")
    }

    func underWay(_ name: String) -> String? { open[name]?.first }

    // MARK: What happens

    /// In the transaction.
    func performed(_ event: Event) { pending.append(event) }

    func commitFailed() { pending = [] }

    /// The app, not the schedule, starts it.
    func isStartedByApp(_ id: String) { byApp.insert(id) }

    /// The app begins, or comes to the foreground.
    func looked() { (isZoneUnseen, disturbed) = (false, simulation.now) }

    func lostPower() { losses.append(simulation.now) }

    func clockWasSet(by step: Duration) {
        steps.append((simulation.now, step))
        clockUnseen = clockUnseen ?? simulation.now
        see()
    }

    func travelled(to minutes: Int64) {
        zones.append((simulation.now, minutes))
        isZoneUnseen = true
        see()
    }

    /// What the clocks show goes back only where they are set.
    private func see() {
        let wall = clock.wall()
        let least = readings(at: wall).lowerBound
        known = known.mapValues { schedule in
            var schedule = schedule
            schedule.earliest = min(schedule.earliest, wall)
            schedule.least = min(schedule.least, least)
            return schedule
        }
    }

    // MARK: Readings

    /// The zones that an app may mean now.
    private var meant: [Int64] {
        let current = zones.lastIndex { $0.from <= simulation.now - Self.zoneMemory } ?? 0
        return zones[current...].map(\.minutes)
    }

    private func reading(at wall: WallTime, _ zone: Int64) -> Int64 {
        wall.milliseconds.floored(by: 60_000) + zone
    }

    private func readings(at wall: WallTime) -> ClosedRange<Int64> {
        let all = meant.map { reading(at: wall, $0) }.sorted()
        return all[0]...all[all.count - 1]
    }

    /// By how much an interval may be wrong: steps of the clock that nobody can notice.
    private func error(since moment: Duration) -> Duration {
        let later = steps.filter { $0.at >= moment }
        // Across a loss of power the calendar is the only clock.
        guard losses.contains(where: { $0 >= moment }) else { return Self.unnoticed * later.count }
        return later.reduce(.zero) { $0 + ($1.size < .zero ? .zero - $1.size : $1.size) }
    }

    // MARK: Commits

    /// Right after each; `read` reads what is committed.
    func committed(
        by app: SimulatedChainsApp, _ read: ((any DeviceTransaction) throws -> Void) throws -> Void
    ) throws {
        let events = pending
        pending = []
        if clockUnseen != nil { (clockUnseen, disturbed) = (nil, simulation.now) }
        let formerly = open
        var runs: [Run] = []
        var rows: [String: (skipped: Int, reason: String?)] = [:]
        try read { transaction in
            let db = try shipping(transaction).db
            runs = try newRuns(db)
            open = try Self.underWay(db)
            let found = try Row.fetchAll(
                db.cachedStatement(sql: "SELECT name, skipped, reason FROM chainSchedule"))
            for row in found {
                let (name, skipped, reason): (String, Int, String?) = (row[0], row[1], row[2])
                rows[name] = (skipped, reason)
            }
        }
        for event in events {
            switch event {
            case .scheduled(let saying): said(saying)
            case .unscheduled(let name): known[name] = nil
            case .commanded(let name):
                if let index = runs.firstIndex(where: { $0.name == name }) {
                    began(runs.remove(at: index), app)
                } else if let row = rows[name] {
                    skipped(name, row.skipped, formerly)
                }
            }
        }
        for run in runs { began(run, app) }
        compare(rows)
    }

    /// The rows say what was said.
    private func compare(_ rows: [String: (skipped: Int, reason: String?)]) {
        for name in rows.keys.sorted() where known[name] == nil {
            violated(.released, "\(name) is scheduled, and nobody has said so")
        }
        for name in known.keys.sorted() {
            guard let row = rows[name] else {
                violated(.recorded, "the schedule \(name) is gone")
                continue
            }
            known[name]?.reason = row.reason
            if let counted = known[name]?.skipped, counted != row.skipped {
                violated(.accounted, "\(name) has skipped \(row.skipped) times, and not \(counted)")
            }
        }
    }

    private func newRuns(_ db: Database) throws -> [Run] {
        let found = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT seq, id, name, definition, input, needs, deadline - startedAt
                    FROM chain WHERE seq > ? AND name IS NOT NULL ORDER BY seq
                    """), arguments: [newest])
        newest = found.last?[0] ?? newest
        return found.map { row in
            Run(
                id: row[1], name: row[2], definition: row[3], input: Array(row[4] as Data),
                needs: row[5], deadline: row[6])
        }.filter { !byApp.contains($0.id) }
    }

    private static func underWay(_ db: Database) throws -> [String: [String]] {
        let found = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT name, id FROM chain WHERE name IS NOT NULL AND state < 10 ORDER BY seq
                    """))
        return found.reduce(into: [:]) { open, row in
            let (name, id): (String, String) = (row[0], row[1])
            open[name, default: []].append(id)
        }
    }

    // MARK: What is said

    private func said(_ saying: ScheduleSaying) {
        let wall = clock.wall()
        var new = Known(
            saying: saying, since: simulation.now, sinceWall: wall, earliest: wall,
            least: readings(at: wall).lowerBound)
        if let old = known[saying.name] {
            switch (old.saying.rule, saying.rule) {
            case (.daily, .daily) where old.saying.rule != saying.rule:
                // From now on, and what the clock has shown stays known.
                (new.last, new.least, new.hasCome) = (old.last, old.least, old.hasCome)
            case (.every, .every), (.daily, .daily):
                new = old
                new.saying = saying
            case (.every, .daily), (.daily, .every): break
            }
            new.skipped = old.skipped
        }
        known[saying.name] = new
    }

    // MARK: Times that come

    private func began(_ run: Run, _ app: SimulatedChainsApp) {
        guard let saying = known[run.name]?.saying else {
            return violated(.released, "\(run.id) begins, and \(run.name) is not scheduled")
        }
        simulation.trace(name, "a run of \(run.name) begins")
        if run.definition != ChainsScript.definition || run.input != saying.input
            || run.needs != (saying.constraints.network ? 1 : 0)
            || run.deadline != saying.deadline?.milliseconds
        {
            violated(.recorded, "\(run.id) is not the run that was said of \(run.name) last")
        }
        if !app.canStart(saying) {
            violated(.released, "\(run.id) begins in a version that cannot start it")
        }
        if let others = open[run.name], others.count > 1 {
            violated(.bounded, "\(others) of \(run.name) are under way")
        }
        came(run.name, "a run of \(run.name) begins")
    }

    /// `formerly`: the chains that had not ended before this commit.
    private func skipped(_ name: String, _ count: Int, _ formerly: [String: [String]]) {
        guard let counted = known[name]?.skipped, counted != count else { return }
        simulation.trace(self.name, "a time of \(name) is skipped")
        known[name]?.skipped = counted + 1
        if formerly[name] == nil, open[name] == nil {
            violated(.accounted, "a time of \(name) is skipped, and no run is under way")
        }
        came(name, "a time of \(name) is skipped")
    }

    private func came(_ name: String, _ what: String) {
        guard var schedule = known[name] else { return }
        let (now, wall) = (simulation.now, clock.wall())
        let readings = readings(at: wall)
        schedule.least = min(schedule.least, readings.lowerBound)
        switch schedule.saying.rule {
        case .every(let interval):
            let passed = now - schedule.since
            if passed < interval - error(since: schedule.since) - .seconds(1) {
                violated(
                    schedule.hasCome ? .once : .released,
                    "\(what) after \(passed), and not \(interval)")
            }
            schedule.last = nil
        case .daily(let times):
            if !meant.contains(where: { isNew(times, schedule, at: wall, $0) }) {
                violated(
                    schedule.last == nil ? .released : .once,
                    "\(what) at \(wall), and none of its times has come since \(schedule.earliest)")
            }
            schedule.last = readings
        }
        (schedule.since, schedule.sinceWall, schedule.earliest) = (now, wall, wall)
        (schedule.least, schedule.hasCome) = (readings.lowerBound, true)
        known[name] = schedule
    }

    /// Whether a time has come, in this zone, that had not come before.
    private func isNew(
        _ times: [Int64], _ schedule: Known, at wall: WallTime, _ zone: Int64
    ) -> Bool {
        let latest = SimulatedRule.latest(of: times, upTo: reading(at: wall, zone))
        guard (latest - zone) * 60_000 > schedule.earliest.milliseconds else { return false }
        guard let last = schedule.last else { return true }
        // Set back by more than a day, it is not believed any more.
        return latest > last.lowerBound || last.upperBound - schedule.least > Self.day
    }

    // MARK: Times that must have come

    /// Now and then: where nothing has happened for a while that a schedule would have to follow,
    /// none of its times is missing.
    func look(_ app: SimulatedChainsApp?) {
        let now = simulation.now
        guard let app, app.process.state == .running, app.chains != nil, !isZoneUnseen,
            clockUnseen.map({ now - max($0, app.process.awakeSince) >= Self.unseen + Self.slack })
                ?? true,
            now - max(disturbed, app.process.awakeSince) >= Self.slack,
            !faults.contains(where: { $0.at <= now && now < $0.at + $0.length + Self.slack })
        else { return }
        for name in known.keys.sorted() {
            believe(name)
            guard let schedule = known[name], let text = missing(schedule) else { continue }
            if app.canStart(schedule.saying) {
                violated(.alive, "\(name) has not run: \(text)")
            } else if schedule.reason == nil {
                violated(.accounted, "\(name) cannot run, and nobody says why: \(text)")
            }
        }
    }

    /// Set back by more than a day and ten minutes, for steps that nobody notices: the app has
    /// seen that, and goes on by the new time.
    private func believe(_ name: String) {
        guard let schedule = known[name], case .daily = schedule.saying.rule else { return }
        let wall = clock.wall()
        let limit = Self.day + 10
        let isAhead = wall.duration(to: schedule.sinceWall) > .seconds(limit * 60)
        if isAhead { known[name]?.sinceWall = wall }
        guard let last = schedule.last,
            last.lowerBound - reading(at: wall, zones[zones.count - 1].minutes) > limit
        else { return }
        known[name]?.last = nil
    }

    /// The time that has not come; nil: none.
    private func missing(_ schedule: Known) -> String? {
        let error = error(since: schedule.since)
        switch schedule.saying.rule {
        case .every(let interval):
            let passed = simulation.now - schedule.since
            guard passed > interval + error + Self.slack else { return nil }
            return "\(passed) have passed, and not \(interval)"
        case .daily(let times):
            // Nor does anybody notice small steps, which a wait does not follow.
            let small = Self.unnoticed * steps.count { $0.at >= schedule.since }
            let wall = clock.wall().advanced(by: .zero - Self.slack - small)
            let zone = zones[zones.count - 1].minutes
            let latest = SimulatedRule.latest(of: times, upTo: reading(at: wall, zone))
            let isMissing =
                (latest - zone) * 60_000 > schedule.sinceWall.milliseconds
                && latest > schedule.last?.upperBound ?? .min
            return isMissing ? "it was due \(reading(at: wall, zone) - latest) minutes ago" : nil
        }
    }
}
