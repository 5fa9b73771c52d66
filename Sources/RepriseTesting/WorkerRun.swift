import Foundation
public import RepriseChains
public import RepriseCore
import Synchronization

/// One attempt of a task, for a unit test of a worker: without a journal, a chain or an engine.
///
/// ```swift
/// let first = WorkerRun(key: "photo-1", remaining: .seconds(10))
/// try await first.perform(Upload(), .init(photo: file))
/// #expect(first.checkpoints(as: Int.self) == [1_000, 2_000])
///
/// let second = first.afterKill()                  // the next attempt, as after a kill
/// try await second.perform(Upload(), .init(photo: file))
/// ```
///
/// Input and output pass through JSON as in a chain, with the same limits.
public final class WorkerRun: Sendable {
    /// A report of progress.
    public struct Progress: Hashable, Sendable {
        /// 0 to 1.
        public let fraction: Double
        /// For people.
        public let note: String?
    }

    private struct State {
        var remaining: Duration?
        var checkpoints: [[UInt8]] = []
        var progress: [Progress] = []
        var log: [String] = []
    }

    private let key: String
    private let attempt: Int
    private let deadline: WallTime?
    private let saved: [UInt8]?
    private let state: Mutex<State>

    /// Describes the first attempt.
    ///
    /// - Parameters:
    ///   - key: the task's, the same for every attempt.
    ///   - remaining: how long the app may still run; nil: no limit is known.
    ///   - deadline: when the task is late and given up.
    public convenience init(
        key: String = "task-1", remaining: Duration? = nil, deadline: WallTime? = nil
    ) {
        self.init(key: key, attempt: 1, remaining: remaining, deadline: deadline, json: nil)
    }

    /// Describes a later attempt.
    ///
    /// - Parameters:
    ///   - key: the task's, the same for every attempt.
    ///   - attempt: its number; the first is 1.
    ///   - remaining: how long the app may still run; nil: no limit is known.
    ///   - deadline: when the task is late and given up.
    ///   - saved: the last checkpoint of an earlier attempt.
    /// - Throws: the errors of encoding.
    public convenience init(
        key: String = "task-1", attempt: Int = 2, remaining: Duration? = nil,
        deadline: WallTime? = nil, saved: some Encodable
    ) throws {
        let saved = Array(try JSONEncoder().encode(saved))
        self.init(
            key: key, attempt: attempt, remaining: remaining, deadline: deadline, json: saved)
    }

    private init(
        key: String, attempt: Int, remaining: Duration?, deadline: WallTime?, json saved: [UInt8]?
    ) {
        (self.key, self.attempt, self.deadline, self.saved) = (key, attempt, deadline, saved)
        state = Mutex(State(remaining: remaining))
    }

    // MARK: Running

    /// Runs a worker.
    ///
    /// - Parameters:
    ///   - worker: the worker.
    ///   - input: its input.
    /// - Returns: its output.
    /// - Throws: the worker's errors; `DispatchFailure.permanent` for an input or an output that
    ///   does not survive JSON or is too large, as in a chain.
    @discardableResult
    public func perform<W: Worker>(_ worker: W, _ input: W.Input) async throws -> W.Output {
        let input = Array(try JSONEncoder().encode(input))
        guard input.count <= ChainsLimits.inputBytes else {
            throw DispatchFailure.permanent(
                "The input has \(input.count) bytes; \(ChainsLimits.inputBytes) are allowed.")
        }
        guard let run = try WorkerRegistry([worker])[W.identifier] else {
            throw DispatchFailure.permanent("There is no worker \(W.identifier).")
        }
        let output = try await run(input, context)
        return try JSONDecoder().decode(W.Output.self, from: Data(output))
    }

    /// What the worker is given, for one that is called directly.
    public var context: WorkContext {
        WorkContext(
            key: key, attempt: attempt, deadline: deadline, saved: saved,
            hooks: WorkContext.Hooks(
                progress: { [self] fraction, note in
                    state.withLock { $0.progress.append(Progress(fraction: fraction, note: note)) }
                },
                checkpoint: { [self] json in
                    guard json.count <= ChainsLimits.checkpointBytes else {
                        throw RepriseError(
                            .tooLarge,
                            "A checkpoint has at most \(ChainsLimits.checkpointBytes) bytes.")
                    }
                    state.withLock { $0.checkpoints.append(json) }
                },
                log: { [self] line in state.withLock { $0.log.append(line) } },
                remaining: { [self] in remaining }))
    }

    /// How long the app may still run, also while the worker runs; nil: no limit is known.
    ///
    /// At the end a chain cancels the worker's task; here the test does.
    public var remaining: Duration? {
        get { state.withLock { $0.remaining } }
        set { state.withLock { $0.remaining = newValue } }
    }

    /// The next attempt at the same task, with its last checkpoint: as after a kill.
    public func afterKill() -> WorkerRun {
        let (remaining, last) = state.withLock { ($0.remaining, $0.checkpoints.last) }
        return WorkerRun(
            key: key, attempt: attempt + 1, remaining: remaining, deadline: deadline,
            json: last ?? saved)
    }

    // MARK: What the worker has said

    /// The kept positions, oldest first.
    ///
    /// - Parameter type: of the positions.
    /// - Returns: those of this type.
    public func checkpoints<Position: Decodable>(as type: Position.Type) -> [Position] {
        state.withLock { $0.checkpoints }
            .compactMap { try? JSONDecoder().decode(type, from: Data($0)) }
    }

    /// All reports of progress, oldest first; a chain keeps at most one a second.
    public var progress: [Progress] { state.withLock { $0.progress } }

    /// All lines of the log.
    public var log: [String] { state.withLock { $0.log } }
}
