import Foundation
import RepriseCore
import Testing

/// Returns when it is opened, whatever becomes of the task.
final class Latch: Sendable {
    private let gate = AsyncStream<Void>.makeStream()

    func open() { gate.continuation.finish() }

    func wait() async { await Task { for await _ in gate.stream {} }.value }
}
