/// Performs one kind of task.
///
/// ```swift
/// struct Resize: Worker {
///     struct Input: Codable, Sendable { var photo: URL, width: Int }
///     static let identifier = "resize"
///     func run(_ input: Input, _ work: WorkContext) async throws -> URL { … }
/// }
/// ```
///
/// It runs at least once for each task: a process that dies between the effect and its record runs
/// it again, with the same ``WorkContext/key``. It throws `DispatchFailure.permanent` if a retry is
/// pointless; after any other error it is retried by the task's rule.
public protocol Worker<Input, Output>: Sendable {
    /// Its input.
    associatedtype Input: Codable & Sendable
    /// Its output: at most 16 MiB as JSON; beyond 8 KiB it is a file beside the journal.
    associatedtype Output: Codable & Sendable

    /// Its name, the same in every version of the app: 1 to 64 bytes.
    static var identifier: String { get }

    /// Performs the task.
    ///
    /// - Parameters:
    ///   - input: the task's input.
    ///   - work: the task, its remaining time, and its last checkpoint.
    /// - Returns: the output.
    /// - Throws: `DispatchFailure.permanent` if a retry is pointless; `CancellationError` when it
    ///   was cancelled; any other error is retried.
    func run(_ input: Input, _ work: WorkContext) async throws -> Output

    /// Cleans up what an attempt may have left outside the journal, after the task has failed for
    /// good, was cancelled, or has ended with its account at a sign-out.
    ///
    /// The default does nothing. It is called when no attempt runs, or the running one was
    /// abandoned, and at most once: a kill before it skips it. At a sign-out, which goes on after a
    /// kill, it may be called again.
    ///
    /// - Parameters:
    ///   - input: the task's input.
    ///   - key: the ``WorkContext/key`` of the task.
    func onAbandon(_ input: Input, key: String) async
}

extension Worker {
    /// Does nothing.
    ///
    /// - Parameters:
    ///   - input: the task's input.
    ///   - key: of the task.
    public func onAbandon(_ input: Input, key: String) async {}
}
