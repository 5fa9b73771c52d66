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
/// It runs at least once for each task: a process that dies between the effect and its record runs it again, with the same
/// ``WorkContext/key``. It throws `HandOverFailure.permanent` for what is of no use to try again; anything else is tried again as
/// the task's retry says.
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
    ///   - work: which task it is, how long it may take, and where it stood when it was interrupted.
    /// - Returns: what came of it.
    func run(_ input: Input, _ work: WorkContext) async throws -> Output
}
