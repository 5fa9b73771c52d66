import Crypto
import Foundation
package import RepriseCore

/// The condition of a waiting step.
package enum WaitTarget: Hashable, Sendable {
    case readiness(String)
    case entry(String)

    /// Its form in a row, and in the hash.
    package var text: String {
        switch self {
        case .readiness(let name): "readiness:\(name)"
        case .entry(let kind): "entry:\(kind)"
        }
    }
}

/// The compensation of a task.
package struct PlannedCompensation: Sendable {
    package let worker: String
    package var input: @Sendable (ChainOutputs) throws -> [UInt8]
}

/// What a task without a worker decides when its step begins: the steps that follow it.
struct PlannedChoice: Sendable {
    /// Its form in the hash.
    let kind: String
    /// The steps of a decision, which is JSON.
    var steps: @Sendable ([UInt8]) throws -> [ChainStep]
    /// All that it can decide on, if that is known beforehand.
    var branches: [[ChainStep]] = []
}

/// A task as the definition has it.
package struct PlannedTask: Sendable {
    /// With the names of the subchains that it is in: `thumbnails/resize`.
    package private(set) var name: String
    /// Nil: it waits or decides.
    package let worker: String?
    package let wait: WaitTarget?
    private(set) var choice: PlannedChoice?
    /// Of its worker; of a choice, the decision.
    package private(set) var input: @Sendable (ChainOutputs) throws -> [UInt8]
    package var attempts = ChainsLimits.attempts
    package var backoff = Backoff()
    package var deadline: Duration?
    package var compensation: PlannedCompensation?
    /// How many subchains it is in.
    private(set) var depth = 0
    /// The name that its own chain gives it.
    private(set) var ownName: String

    init(
        name: String, worker: String,
        input: @escaping @Sendable (ChainOutputs) throws -> [UInt8]
    ) {
        (self.name, ownName, self.worker, wait, self.input) = (name, name, worker, nil, input)
    }

    init(name: String, wait: WaitTarget) {
        (self.name, ownName, worker, self.wait, input) = (name, name, nil, wait, { _ in [] })
    }

    init(
        name: String, choice: PlannedChoice,
        decision: @escaping @Sendable (ChainOutputs) throws -> [UInt8]
    ) {
        (self.name, ownName, worker, wait, input) = (name, name, nil, nil, decision)
        self.choice = choice
    }

    package var isChoice: Bool { choice != nil }

    /// The task as one of a subchain, which reads the outputs of that alone.
    func within(_ subchain: String) -> PlannedTask {
        var copy = self
        copy.name = "\(subchain)/\(name)"
        copy.depth = depth + 1
        copy.input = { [input] in try input($0.within(subchain)) }
        if let compensation {
            copy.compensation?.input = { try compensation.input($0.within(subchain)) }
        }
        if let choice {
            copy.choice?.steps = { try choice.steps($0).map { $0.within(subchain) } }
            copy.choice?.branches = choice.branches.map { $0.map { $0.within(subchain) } }
        }
        return copy
    }

    /// Each part with its length, so that no two shapes have the same text.
    fileprivate func describe(into hash: inout SHA256) {
        var parts = [
            name, worker ?? "", wait?.text ?? "", "\(attempts)", "\(backoff.base.milliseconds)",
            "\(backoff.longest.milliseconds)", deadline.map { "\($0.milliseconds)" } ?? "",
            compensation?.worker ?? "",
        ]
        if let choice { parts += ["choice", choice.kind, "\(choice.branches.count)"] }
        for part in parts {
            let bytes = Array(part.utf8)
            hash.update(data: Array("\(bytes.count):".utf8) + bytes)
        }
        for branch in choice?.branches ?? [] { ChainPlan.describe(branch.map(\.tasks), &hash) }
    }

    /// Of itself, and of all that it may decide on.
    fileprivate var workers: [String] {
        [worker, compensation?.worker].compactMap(\.self)
            + (choice?.branches.joined().flatMap(\.tasks).flatMap(\.workers) ?? [])
    }
}

/// A chain's plan for one input: its tasks in order, and the hash of their shape.
///
/// A task that decides is followed by the steps of its decision, once that is known.
public struct ChainPlan: Sendable {
    /// All tasks, step by step.
    package let tasks: [PlannedTask]
    /// The step of each task.
    package let steps: [Int]
    /// The SHA-256 of the shape: names, workers, waits and rules, in hexadecimal digits.
    public let hash: String
    private let name: String
    private let source: [ChainStep]
    private let decisions: [String: [UInt8]]

    /// Decisions are JSON, by the name of the task.
    init(name: String, steps source: [ChainStep], decisions: [String: [UInt8]] = [:]) throws {
        let steps = try Self.expand(source, decisions)
        try Self.check(name: name, steps: steps, decisions)
        tasks = steps.flatMap { $0 }
        self.steps = steps.enumerated().flatMap { step, tasks in tasks.map { _ in step } }
        var hash = SHA256()
        Self.describe(steps, &hash)
        self.hash = hash.finalize().map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0" + digits : digits
        }.joined()
        (self.name, self.source, self.decisions) = (name, source, decisions)
    }

    /// The plan with what was decided: JSON, by the name of the task.
    package func deciding(_ new: [String: [UInt8]]) throws -> ChainPlan {
        guard !new.isEmpty else { return self }
        return try ChainPlan(
            name: name, steps: source, decisions: decisions.merging(new) { _, new in new })
    }

    /// The workers that it needs.
    package var workers: Set<String> { Set(tasks.flatMap(\.workers)) }

    /// Behind each step come those that its tasks have decided on.
    private static func expand(
        _ steps: [ChainStep], _ decisions: [String: [UInt8]]
    ) throws -> [[PlannedTask]] {
        var all: [[PlannedTask]] = []
        for step in steps {
            all.append(step.tasks)
            let decided = try step.tasks.compactMap { task -> [[PlannedTask]]? in
                guard let choice = task.choice, let json = decisions[task.name] else { return nil }
                return try expand(try choice.steps(json), decisions)
            }
            all += together(decided)
        }
        return all
    }

    /// The first steps of several rows of steps are one step, and so on; none is too large.
    static func together(_ rows: [[[PlannedTask]]]) -> [[PlannedTask]] {
        (0..<(rows.map(\.count).max() ?? 0)).flatMap { index -> [[PlannedTask]] in
            let tasks = rows.flatMap { index < $0.count ? $0[index] : [] }
            return stride(from: 0, to: tasks.count, by: ChainsLimits.parallelTasks).map {
                Array(tasks[$0..<min($0 + ChainsLimits.parallelTasks, tasks.count)])
            }
        }
    }

    fileprivate static func describe(_ steps: [[PlannedTask]], _ hash: inout SHA256) {
        for step in steps {
            hash.update(data: Array("step \(step.count)\n".utf8))
            for task in step { task.describe(into: &hash) }
        }
    }

    private static func check(
        name: String, steps: [[PlannedTask]], _ decisions: [String: [UInt8]]
    ) throws {
        var count = 0
        for step in steps {
            count += step.count
            guard step.count <= ChainsLimits.parallelTasks else {
                throw RepriseError(
                    .tooLarge, "A step of \(name) has \(step.count) tasks.",
                    remedy: "Give a step at most \(ChainsLimits.parallelTasks).")
            }
        }
        guard count > 0 else {
            throw RepriseError(.malformed, "The chain \(name) has no task.")
        }
        guard count <= ChainsLimits.tasks else {
            throw RepriseError(
                .tooLarge, "The chain \(name) has \(count) tasks.",
                remedy: "Give a chain at most \(ChainsLimits.tasks), and start several.")
        }
        _ = try names(name, steps, decisions)
    }

    /// The names of all tasks, and of those that may be decided on, of which two branches may have
    /// the same.
    private static func names(
        _ name: String, _ steps: [[PlannedTask]], _ decisions: [String: [UInt8]]
    ) throws -> Set<String> {
        var names: Set<String> = []
        func add(_ task: String) throws {
            guard names.insert(task).inserted else {
                throw RepriseError(
                    .malformed, "Two tasks of the chain \(name) are named \(task).",
                    remedy: "Give each task a name of its own.")
            }
        }
        for task in steps.joined() {
            for text in [task.ownName, task.worker, task.compensation?.worker].compactMap({ $0 })
                + [name]
                + [task.wait?.text.drop { $0 != ":" }.dropFirst()].compactMap({ $0 })
                .map(String.init)
            where !(1...ChainsLimits.nameBytes).contains(text.utf8.count) {
                throw RepriseError(
                    .malformed, "“\(text.prefix(80))” in the chain \(name.prefix(80)) is no name.",
                    remedy: "Names have 1 to \(ChainsLimits.nameBytes) bytes.")
            }
            guard task.depth <= ChainsLimits.subchains else {
                throw RepriseError(
                    .tooLarge, "The task \(task.name) is in \(task.depth) subchains.",
                    remedy: "Nest at most \(ChainsLimits.subchains).")
            }
            try add(task.name)
            guard let choice = task.choice, decisions[task.name] == nil else { continue }
            var possible: Set<String> = []
            for branch in choice.branches {
                possible.formUnion(try Self.names(name, branch.map(\.tasks), decisions))
            }
            for task in possible.sorted() { try add(task) }
        }
        return names
    }
}
