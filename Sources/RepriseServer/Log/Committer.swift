package import RepriseCore
package import RepriseWire

/// The one place where messages become durable.
///
/// Whatever waits is taken as one batch, stored by one transaction, handed to the subscribers and then acknowledged. While that
/// goes on the next batch collects, so that the cost of a commit is shared by all that arrive during one.
package final class Committer: Sendable {
    /// Called exactly once for each `submit`.
    package typealias Reply = @Sendable (Result<[AppendResult], RepriseError>) -> Void

    private let log: any MessageLog
    private let limits: Limits
    private let onCommit: @Sendable ([ServerFrame.Event]) -> Void

    /// The bounds of the queue and of a batch.
    package struct Limits: Hashable, Sendable {
        /// The most messages that may wait.
        package var waitingMessages = 65_536
        /// The most bytes of bodies that may wait.
        package var waitingBytes = 64 << 20
        /// The most messages of one transaction; a submission is never split.
        package var batchMessages = 2_048
        /// The most bytes of bodies of one transaction; a submission is never split.
        package var batchBytes = 8 << 20

        package init() {}
    }

    /// - Parameters:
    ///   - log: nobody else may append to it.
    ///   - onCommit: gets the stored events in commit order, before the replies, on the committer's thread; must not block.
    package init(
        log: any MessageLog, limits: Limits = Limits(),
        onCommit: @escaping @Sendable ([ServerFrame.Event]) -> Void
    ) {
        self.log = log
        self.limits = limits
        self.onCommit = onCommit
    }

    /// Queues messages that belong together: they go into one transaction, in this order.
    ///
    /// - Parameter reply: the results, one a message, after they are durable and after `onCommit`. Failures: `full` if the queue is at
    ///   its limit (nothing is stored; tell the peer `overloaded`), `unavailable` if storing failed (unknown: retry with the
    ///   same id), `closed` after ``shutdown()``. May be called before `submit` returns.
    package func submit(_ messages: [NewMessage], reply: @escaping Reply) {
        reply(.failure(RepriseError(.unavailable, "Not built yet.")))
    }

    /// Stores what is submitted until ``shutdown()`` is called and everything accepted before it is answered.
    package func run() async {}

    /// Accepts nothing from now on; ``run()`` ends once the rest is answered.
    package func shutdown() {}
}
