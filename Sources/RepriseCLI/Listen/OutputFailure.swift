import RepriseCore
import Synchronization

/// Ends a command whose output takes nothing more: a handler's error alone only delays its message.
final class OutputFailure: Sendable {
    private let raised = Signal()
    private let first = Mutex<(any Error)?>(nil)

    /// Prints within a handler; what that throws ends the command, too.
    func ends(_ print: () throws -> Void) throws {
        do { try print() } catch {
            first.withLock { $0 = $0 ?? error }
            raised.raise()
            throw error
        }
    }

    /// Returns when the task is cancelled.
    ///
    /// - Throws: ``BrokenPipe``; ``CommandFailure`` if the disk behind the output fails.
    func wait() async throws {
        await raised.wait()
        if let error = first.withLock({ $0 }) { throw error }
    }
}
