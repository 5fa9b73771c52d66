package import Foundation

/// What a store is made of: how close a run is to the real thing, and how fast.
package enum Tier: Hashable, Sendable {
    /// The shipping machines on the model of the store.
    case model
    /// The shipping machines on the real journal and the real message log, in this folder.
    case real(URL)
    /// Both, compared after every transaction.
    case compared(URL)

    package var name: String {
        switch self {
        case .model: "model"
        case .real: "real"
        case .compared: "compared"
        }
    }
}

/// Something to do in virtual time, with what may go wrong meanwhile and what must hold whatever
/// goes wrong.
package protocol Workload: Sendable {
    /// What `--workload` calls it.
    var name: String { get }
    /// One line for people.
    var summary: String { get }
    /// Draws the schedule of a seed.
    func schedule(seed: UInt64) -> FaultSchedule
    /// Plays the simulation's schedule to its end; violated invariants go to `simulation.violated`.
    func play(_ simulation: Simulation, on tier: Tier)
}

/// What came of one schedule.
package struct RunOutcome: Sendable {
    package var schedule: FaultSchedule
    package var violation: Violation?
    package var faultsMet: [Fault.Kind: Int]
    package var featuresMet: Set<Feature>
    package var steps: Int
    package var lasted: Duration
    package var lines: [TraceLine]
}

extension Workload {
    /// Plays a schedule once.
    package func run(
        _ schedule: FaultSchedule, mutation: Mutation? = nil, tier: Tier = .model,
        isTracing: Bool = false
    ) -> RunOutcome {
        let simulation = Simulation(schedule, mutation: mutation, isTracing: isTracing)
        play(simulation, on: tier)
        simulation.end()
        return RunOutcome(
            schedule: schedule, violation: simulation.violation, faultsMet: simulation.faultsMet,
            featuresMet: simulation.featuresMet, steps: simulation.steps, lasted: simulation.now,
            lines: simulation.lines)
    }

    /// Looks for a schedule that violates an invariant.
    ///
    /// - Returns: the first one, shrunk, and how many were tried; nil if none of the seeds does.
    package func detection(
        of mutation: Mutation? = nil, seeds: Range<UInt64>, tier: Tier = .model
    ) -> Detection? {
        for seed in seeds {
            let whole = schedule(seed: seed)
            let outcome = run(whole, mutation: mutation, tier: tier)
            guard let violation = outcome.violation else { continue }
            let shrunk = Shrinker(workload: self, mutation: mutation, tier: tier)
                .shrink(whole, violation.invariant)
            let traced = run(shrunk, mutation: mutation, tier: tier, isTracing: true)
            return Detection(
                tried: Int(seed - seeds.lowerBound) + 1, whole: whole, shrunk: shrunk,
                violation: traced.violation ?? violation, lines: traced.lines)
        }
        return nil
    }
}

/// A run that violated an invariant, as small as it could be made.
package struct Detection: Sendable {
    /// How many seeds it took.
    package var tried: Int
    package var whole: FaultSchedule
    package var shrunk: FaultSchedule
    package var violation: Violation
    package var lines: [TraceLine]

    /// The command that plays it again.
    package func replay(
        of workload: any Workload, mutation: Mutation? = nil, tier: Tier = .model
    ) -> String {
        var command = "reprise-lab simulate --workload \(workload.name) "
        command += shrunk.options(reducedFrom: whole)
        if let mutation { command += " --mutation \(mutation.rawValue)" }
        if tier != .model { command += " --tier \(tier.name)" }
        return command
    }
}

/// Takes from a failing schedule all that is not needed for it to fail.
package struct Shrinker<W: Workload> {
    package let workload: W
    package let mutation: Mutation?
    package let tier: Tier
    /// How many runs it may cost.
    package var budget = 300

    /// The smallest schedule found that still violates `invariant`.
    package func shrink(_ schedule: FaultSchedule, _ invariant: Invariant) -> FaultSchedule {
        var best = schedule
        var left = budget
        func fails(_ candidate: FaultSchedule) -> Bool {
            guard left > 0, candidate != best else { return false }
            left -= 1
            let outcome = workload.run(candidate, mutation: mutation, tier: tier)
            return outcome.violation?.invariant == invariant
        }
        var isSmaller = true
        while isSmaller, left > 0 {
            isSmaller = false
            for candidate in candidates(of: best) where fails(candidate) {
                best = candidate
                isSmaller = true
                break
            }
        }
        return best
    }

    /// Smaller schedules, the much smaller ones first.
    private func candidates(of schedule: FaultSchedule) -> [FaultSchedule] {
        var candidates: [FaultSchedule] = []
        let indices = schedule.faults.map(\.index)
        if indices.count > 3 {
            candidates.append(schedule.reduced(faults: Array(indices.prefix(indices.count / 2))))
            candidates.append(schedule.reduced(faults: Array(indices.suffix(indices.count / 2))))
        }
        for index in indices {
            candidates.append(schedule.reduced(faults: indices.filter { $0 != index }))
        }
        if schedule.devices > 1 {
            candidates.append(schedule.reduced(devices: 1))
            candidates.append(schedule.reduced(devices: schedule.devices - 1))
        }
        for count in [schedule.messages / 4, schedule.messages / 2, schedule.messages - 1]
        where count > 0 && count < schedule.messages {
            candidates.append(schedule.reduced(messages: count))
        }
        return candidates
    }
}
