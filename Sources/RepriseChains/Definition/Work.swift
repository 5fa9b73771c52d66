import Foundation
public import RepriseCore

/// A task of a chain: its worker and its input.
///
/// Also the handle by which later tasks read its output: `done[work]`.
public struct Work<W: Worker>: Sendable {
    /// Its name, unique in its chain.
    public let name: String
    var task: PlannedTask

    /// Describes a task.
    ///
    /// - Parameters:
    ///   - name: 1 to 64 bytes, unique in its chain.
    ///   - worker: the type of its worker.
    ///   - input: makes the input from earlier outputs when the task's step begins; cheap, and
    ///     without effects. An error fails the task for good.
    public init(
        _ name: String, _ worker: W.Type,
        _ input: @escaping @Sendable (ChainOutputs) throws -> W.Input
    ) {
        self.name = name
        task = PlannedTask(
            name: name, worker: W.identifier, input: { try ChainJSON.encode(try input($0)) })
    }

    /// Retries it when it fails.
    ///
    /// - Parameters:
    ///   - attempts: how many failures end it; at least 1. Without this, 3.
    ///   - backoff: the waits between.
    /// - Returns: the task with this rule.
    public func retry(attempts: Int, _ backoff: Backoff = Backoff()) -> Self {
        var copy = self
        copy.task.attempts = max(1, attempts)
        copy.task.backoff = backoff
        return copy
    }

    /// Limits its time over all attempts.
    ///
    /// - Parameter deadline: counted from the beginning of its step.
    /// - Returns: the task with this rule.
    public func deadline(_ deadline: Duration) -> Self {
        var copy = self
        copy.task.deadline = deadline
        return copy
    }

    /// Compensates its effect, if the chain fails or is cancelled after it has succeeded.
    ///
    /// Compensations run one after the other, the newest first, with as many attempts as the task.
    ///
    /// - Parameters:
    ///   - worker: the type of the compensating worker.
    ///   - input: makes its input from the outputs of this task and earlier ones.
    /// - Returns: the task with this rule.
    public func compensation<U: Worker>(
        with worker: U.Type, _ input: @escaping @Sendable (ChainOutputs) throws -> U.Input
    ) -> Self {
        var copy = self
        copy.task.compensation = PlannedCompensation(
            worker: U.identifier, input: { try ChainJSON.encode(try input($0)) })
        return copy
    }
}

/// A step that waits for a condition, at no cost.
public struct WaitFor: Sendable {
    var task: PlannedTask

    /// Waits until a condition of the app holds.
    ///
    /// - Parameters:
    ///   - readiness: set with the client's `setReady(_:)`.
    ///   - name: of the task; unique in its chain.
    public init(for readiness: Readiness, name: String? = nil) {
        task = PlannedTask(
            name: name ?? "wait-\(readiness.name)", wait: .readiness(readiness.name))
    }

    /// Waits until an entry is recorded after the step began.
    ///
    /// - Parameters:
    ///   - kind: the kind of the entry.
    ///   - name: of the task; unique in its chain.
    public init(forEntry kind: String, name: String? = nil) {
        task = PlannedTask(name: name ?? "wait-entry-\(kind)", wait: .entry(kind))
    }

    /// Gives up when it takes too long: then the chain fails.
    ///
    /// - Parameter deadline: how long after its step began.
    /// - Returns: the wait with this rule.
    public func deadline(_ deadline: Duration) -> Self {
        var copy = self
        copy.task.deadline = deadline
        return copy
    }
}

/// The outputs of earlier tasks.
public struct ChainOutputs: Sendable {
    /// Thrown for an output that is not in memory.
    package struct Missing: Error {
        let name: String
    }

    private let find: @Sendable (String) throws -> [UInt8]
    private let isDone: @Sendable (String) -> Bool

    package init(
        isDone: @escaping @Sendable (String) -> Bool = { _ in true },
        _ find: @escaping @Sendable (String) throws -> [UInt8]
    ) {
        (self.find, self.isDone) = (find, isDone)
    }

    /// The output of a task.
    ///
    /// - Throws: if that task is not done, or has another output type.
    public subscript<W: Worker>(_ work: Work<W>) -> W.Output {
        get throws { try output(of: work.name, by: W.self) }
    }

    /// The output of a task that has no handle here, as those of an ``Each``.
    ///
    /// - Parameters:
    ///   - task: its name.
    ///   - worker: the type of its worker.
    /// - Returns: the output.
    /// - Throws: if that task is not done, or has another output type.
    public func output<W: Worker>(of task: String, by worker: W.Type) throws -> W.Output {
        try ChainJSON.decode(W.Output.self, from: find(task))
    }

    /// Whether a task is done: one of a branch that was not taken never is.
    public func isDone<W: Worker>(_ work: Work<W>) -> Bool { isDone(work.name) }

    /// The outputs of a subchain's tasks.
    public subscript<Input>(in subchain: Subchain<Input>) -> ChainOutputs { within(subchain.name) }

    func within(_ subchain: String) -> ChainOutputs {
        ChainOutputs(isDone: { [isDone] in isDone("\(subchain)/\($0)") }) { [find] in
            try find("\(subchain)/\($0)")
        }
    }
}

/// How inputs and outputs are written.
enum ChainJSON {
    static func encode(_ value: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(value))
    }

    static func decode<T: Decodable>(_ type: T.Type, from bytes: [UInt8]) throws -> T {
        try JSONDecoder().decode(type, from: Data(bytes))
    }

    static func isJSON(_ bytes: [UInt8]) -> Bool {
        (try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)) != nil
    }
}
