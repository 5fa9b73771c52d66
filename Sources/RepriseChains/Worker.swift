/// Does one sort of work of a chain.
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
/// it again, with the same ``WorkContext/key``. It throws `HandOverFailure.permanent` for what is
/// of no use to try again; anything else is tried again as the task's retry says.
public protocol Worker<Input, Output>: Sendable {
    /// What it is given.
    associatedtype Input: Codable & Sendable
    /// What it makes: at most 16 MiB as JSON; beyond 8 KiB it lies in a file beside the journal.
    associatedtype Output: Codable & Sendable

    /// Its name, the same in every version of the app: 1 to 64 bytes.
    static var identifier: String { get }

    /// Does the work.
    ///
    /// - Parameters:
    ///   - input: what to do.
    ///   - work: which task it is, how long it may take, and where it stood when it was
    ///     interrupted.
    /// - Returns: what came of it.
    /// - Throws: `HandOverFailure.permanent` for what is of no use to try again;
    ///   `CancellationError` when it was told to stop; anything else is tried again.
    func run(_ input: Input, _ work: WorkContext) async throws -> Output

    /// Lets go of what an attempt may have left outside the journal: the task has failed for good
    /// or was cancelled, and nothing will come of it.
    ///
    /// The default does nothing. It is called when no attempt runs, or the one that does was given
    /// up, and at most once: not later, if the process is killed before.
    ///
    /// - Parameters:
    ///   - input: what was to be done.
    ///   - key: the ``WorkContext/key`` of the task.
    func giveUp(_ input: Input, key: String) async
}

extension Worker {
    /// Has left nothing.
    ///
    /// - Parameters:
    ///   - input: what was to be done.
    ///   - key: of the task.
    public func giveUp(_ input: Input, key: String) async {}
}
