import RepriseCore
import Synchronization

/// Ends a command whose output takes nothing more: a handler's error alone only delays its message.
final class OutputFailure: Sendable {
    private let raised = Signal()
    /// Never raised: a wait for it ends with its task.
    private let never = Signal()
    private let first = Mutex<(any Error)?>(nil)

    /// Why the output takes nothing more.
    var error: (any Error)? { first.withLock { $0 } }

    /// Prints within a handler; what that throws ends the command, too.
    ///
    /// It throws when the handler is cancelled: each further message would fail, too, and wait for
    /// another attempt.
    func ends(_ print: () throws -> Void) async throws {
        do { try print() } catch {
            first.withLock { $0 = $0 ?? error }
            raised.raise()
            await never.wait()
            throw error
        }
    }

    /// Returns when the task is cancelled.
    ///
    /// - Throws: ``BrokenPipe``; ``CommandFailure`` if the disk behind the output fails.
    func wait() async throws {
        await raised.wait()
        if let error { throw error }
    }
}
