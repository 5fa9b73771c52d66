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
    package let input: @Sendable (ChainOutputs) throws -> [UInt8]
}

/// A task as the definition has it.
package struct PlannedTask: Sendable {
    package let name: String
    /// Nil: it waits.
    package let worker: String?
    package let wait: WaitTarget?
    package let input: @Sendable (ChainOutputs) throws -> [UInt8]
    package var attempts = ChainsLimits.attempts
    package var backoff = Backoff()
    package var deadline: Duration?
    package var compensation: PlannedCompensation?

    init(
        name: String, worker: String,
        input: @escaping @Sendable (ChainOutputs) throws -> [UInt8]
    ) {
        (self.name, self.worker, wait, self.input) = (name, worker, nil, input)
    }

    init(name: String, wait: WaitTarget) {
        (self.name, worker, self.wait, input) = (name, nil, wait, { _ in [] })
    }

    /// Each part with its length, so that no two shapes have the same text.
    fileprivate func describe(into hash: inout SHA256) {
        let parts = [
            name, worker ?? "", wait?.text ?? "", "\(attempts)", "\(backoff.base.milliseconds)",
            "\(backoff.longest.milliseconds)", deadline.map { "\($0.milliseconds)" } ?? "",
            compensation?.worker ?? "",
        ]
        for part in parts {
            let bytes = Array(part.utf8)
            hash.update(data: Array("\(bytes.count):".utf8) + bytes)
        }
    }
}

/// A chain's plan for one input: its tasks in order, and the hash of their shape.
public struct ChainPlan: Sendable {
    /// All tasks, step by step.
    package let tasks: [PlannedTask]
    /// The step of each task.
    package let steps: [Int]
    /// The SHA-256 of the shape: names, workers, waits and rules, in hexadecimal digits.
    public let hash: String

    init(name: String, steps: [[PlannedTask]]) throws {
        try Self.check(name: name, steps: steps)
        tasks = steps.flatMap { $0 }
        self.steps = steps.enumerated().flatMap { step, tasks in tasks.map { _ in step } }
        var hash = SHA256()
        for step in steps {
            hash.update(data: Array("step \(step.count)\n".utf8))
            for task in step { task.describe(into: &hash) }
        }
        self.hash = hash.finalize().map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0" + digits : digits
        }.joined()
    }

    /// The workers that it needs.
    package var workers: Set<String> {
        Set(tasks.compactMap(\.worker) + tasks.compactMap(\.compensation?.worker))
    }

    private static func check(name: String, steps: [[PlannedTask]]) throws {
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
        var names: Set<String> = []
        for task in steps.joined() {
            for text in [task.name, task.worker, task.compensation?.worker].compactMap({ $0 })
                + [name]
                + [task.wait?.text.drop { $0 != ":" }.dropFirst()].compactMap({ $0 })
                .map(String.init)
            where !(1...ChainsLimits.nameBytes).contains(text.utf8.count) {
                throw RepriseError(
                    .malformed, "“\(text.prefix(80))” in the chain \(name.prefix(80)) is no name.",
                    remedy: "Names have 1 to \(ChainsLimits.nameBytes) bytes.")
            }
            guard names.insert(task.name).inserted else {
                throw RepriseError(
                    .malformed, "Two tasks of the chain \(name) are named \(task.name).",
                    remedy: "Give each task a name of its own.")
            }
        }
    }
}
