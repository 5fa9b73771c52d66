public import RepriseWire

/// A request for state that the app has to load, because messages of a channel will never arrive.
public struct SnapshotRequest: Hashable, Sendable {
    /// The channel.
    public let channel: ChannelName
    /// The epoch of its log.
    public let epoch: Epoch
    /// The loaded state must contain everything up to here; later messages arrive as messages.
    public let position: Int64
    /// The missing sequences; those of the former log, if that was replaced.
    public let lost: [SequenceRange]
    /// `.retention` or `.epoch`.
    public let reason: Gone.Reason
    /// How often it has been requested in this run, this time included.
    public let attempt: Int
}

extension Channel {
    /// Loads the state of a snapshot and stores it durably.
    public typealias SnapshotHandler = @Sendable (SnapshotRequest) async throws -> Void

    /// Sets the handler that loads a snapshot when messages are lost: when the server's retention
    /// has overtaken this device, or when the channel's log was replaced.
    ///
    /// ```swift
    /// await general.onSnapshot { request in
    ///     let state = try await api.state(of: request.channel)  // at request.position or later
    ///     try await store.replace(request.channel, with: state)  // durably
    /// }
    /// ```
    ///
    /// The position is recorded before the handler is called. Nothing of the channel arrives
    /// meanwhile: the state is ``ChannelState/beyondRetention(lost:)``. Once `load` returns, the
    /// subscription continues after the position; earlier missing messages count as contained in
    /// the snapshot. If it throws it is called again, with growing pauses; after a kill it is
    /// called again with the same position. The ledger counts the loss either way.
    ///
    /// Without a handler the messages left on the server arrive as messages. Set it before the
    /// channel is read or subscribed to.
    ///
    /// - Parameter load: loads the state, stores it, and returns once it is durable; may be called
    ///   again after a kill.
    public func onSnapshot(_ load: @escaping SnapshotHandler) async {
        await channels.driver.takeSnapshots(name, with: load)
    }
}
