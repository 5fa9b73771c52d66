import HeapModule
import RepriseCore

/// One run in virtual time: the only clock, the only order of events, the only randomness.
///
/// Single-threaded. What happens at the same moment happens in the order in which it was asked for.
package final class Simulation {
    /// When something is due, and where it lies; the work itself stays in place while the heap
    /// moves keys.
    private struct Key: Comparable {
        let time: Int64
        let order: Int
        let slot: Int

        static func < (left: Key, right: Key) -> Bool {
            (left.time, left.order) < (right.time, right.order)
        }
    }

    private struct Slot {
        var process: SimulatedProcess?
        var life = 0
        var work: (() -> Void)?
    }

    package let schedule: FaultSchedule
    package let mutation: Mutation?
    package let isTracing: Bool
    @exclusivity(unchecked) package private(set) var violation: Violation?
    /// How often each kind of fault took effect.
    package private(set) var faultsMet: [Fault.Kind: Int] = [:]
    /// What it has had besides faults.
    package private(set) var featuresMet: Set<Feature> = []
    /// How many events were performed.
    @exclusivity(unchecked) package private(set) var steps = 0
    /// What happened, if it is traced.
    package private(set) var lines: [TraceLine] = []

    /// So many events at one moment are a loop.
    private static let momentLimit = 100_000

    /// What lets go of what refers to each other.
    private var endings: [() -> Void] = []
    // Asked several times an event, and only here: no work is called while one of these is being
    // changed.
    @exclusivity(unchecked) private var stepsAtMoment = 0
    @exclusivity(unchecked) private var heap = Heap<Key>()
    @exclusivity(unchecked) private var slots: [Slot] = []
    @exclusivity(unchecked) private var free: [Int] = []
    @exclusivity(unchecked) private var order = 0
    @exclusivity(unchecked) private var nanoseconds: Int64 = 0

    package init(_ schedule: FaultSchedule, mutation: Mutation? = nil, isTracing: Bool = false) {
        self.schedule = schedule
        self.mutation = mutation
        self.isTracing = isTracing
    }

    /// Time since the run began.
    package var now: Duration { .nanoseconds(nanoseconds) }

    /// A source for one purpose; asking twice gives the same numbers twice.
    package func random(_ purpose: String) -> SeededRandom {
        SeededRandom(seed: schedule.seed, purpose: purpose)
    }

    /// Runs `work` after `delay`, not before what was asked for earlier at that moment.
    ///
    /// With a process: never, if this life of it has ended by then; once it is resumed, if it is
    /// suspended then.
    package func after(
        _ delay: Duration, on process: SimulatedProcess? = nil, _ work: @escaping () -> Void
    ) {
        if let process, process.state == .dead { return }
        let slot = Slot(process: process, life: process?.life ?? 0, work: work)
        // Rounded up: who waits for a moment must find that it has come.
        push(slot, at: nanoseconds &+ max(0, delay.nanosecondsRoundedUp))
    }

    private func push(_ slot: Slot, at time: Int64) {
        order += 1
        let index: Int
        if let last = free.popLast() {
            index = last
            slots[index] = slot
        } else {
            index = slots.count
            slots.append(slot)
        }
        heap.insert(Key(time: time, order: order, slot: index))
    }

    /// Performs what is due until `moment`, until nothing is, or until an invariant is violated.
    package func run(until moment: Duration) {
        let end = moment.wholeNanoseconds
        while violation == nil, let key = heap.min, key.time <= end {
            heap.removeMin()
            stepsAtMoment = key.time > nanoseconds ? 0 : stepsAtMoment + 1
            nanoseconds = key.time
            guard stepsAtMoment < Self.momentLimit else {
                return violated(.alive, "Events follow each other and no time passes.")
            }
            var slot = Slot(work: nil)
            swap(&slot, &slots[key.slot])
            free.append(key.slot)
            perform(slot)
        }
        if violation == nil { nanoseconds = max(nanoseconds, end) }
    }

    /// Lets go of what is still due, and so of everything that waits for it.
    package func end() {
        for ending in endings { ending() }
        endings = []
        heap = Heap()
        slots = []
        free = []
    }

    /// Calls `ending` when the run is over.
    func whenEnded(_ ending: @escaping () -> Void) { endings.append(ending) }

    private func perform(_ slot: Slot) {
        guard let process = slot.process else {
            steps += 1
            slot.work?()
            return
        }
        guard process.life == slot.life else { return }
        switch process.state {
        case .dead: return
        case .suspended: if let work = slot.work { process.postpone(work) }
        case .running:
            steps += 1
            slot.work?()
        }
    }

    // MARK: What is seen

    package func trace(_ who: @autoclosure () -> String, _ what: @autoclosure () -> String) {
        if isTracing { lines.append(TraceLine(at: now, who: who(), what: what())) }
    }

    /// An invariant is violated: the run ends with the first one.
    package func violated(_ invariant: Invariant, _ what: @autoclosure () -> String) {
        guard violation == nil else { return }
        let found = Violation(invariant: invariant, what: what(), at: now)
        violation = found
        trace("observer", "VIOLATED INVARIANT, \(found)")
    }

    /// A fault has really taken effect.
    package func met(_ kind: Fault.Kind) { faultsMet[kind, default: 0] += 1 }

    /// The run has had this, where not all have it.
    package func had(_ feature: Feature) { featuresMet.insert(feature) }
}

/// One line of a run's timeline.
package struct TraceLine: Hashable, Sendable {
    package var at: Duration
    package var who: String
    package var what: String

    package init(at: Duration, who: String, what: String) {
        self.at = at
        self.who = who
        self.what = what
    }
}

extension Duration {
    /// Cut to what 64 bits hold: 292 years.
    package var wholeNanoseconds: Int64 {
        Int64(truncatingIfNeeded: attoseconds / 1_000_000_000)
    }

    fileprivate var nanosecondsRoundedUp: Int64 {
        Int64(truncatingIfNeeded: (attoseconds &+ 999_999_999) / 1_000_000_000)
    }
}
