package import NIOCore
import Synchronization

/// A connection that a server has accepted: closed if nobody takes it, as where the server ends in
/// that moment.
///
/// NIO ends the process over a `NIOAsyncChannel` that is let go of without
/// `executeThenClose(_:)`.
package final class AcceptedChannel<Inbound: Sendable, Outbound: Sendable>: Sendable {
    private let channel: NIOAsyncChannel<Inbound, Outbound>
    private let isTaken = Atomic(false)

    package init(_ channel: NIOAsyncChannel<Inbound, Outbound>) { self.channel = channel }

    /// The caller calls its `executeThenClose(_:)`.
    package func take() -> NIOAsyncChannel<Inbound, Outbound> {
        isTaken.store(true, ordering: .relaxed)
        return channel
    }

    deinit {
        guard !isTaken.load(ordering: .relaxed) else { return }
        Task { [channel] in try? await channel.executeThenClose { _, _ in } }
    }
}
