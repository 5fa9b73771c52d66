public import RepriseWire

/// What an app has to load by itself, because messages of a channel will never come.
public struct SnapshotRequest: Hashable, Sendable {
    /// The channel.
    public let channel: ChannelName
    /// The epoch of its log.
    public let epoch: Epoch
    /// What is loaded must contain everything up to here; messages after it come as messages.
    public let position: Int64
    /// What was missing; sequences of the former log, if that was replaced.
    public let lost: [SequenceRange]
    /// `.retention` or `.epoch`.
    public let reason: Gone.Reason
    /// How often it has been asked for in this run, this time included.
    public let attempt: Int
}

extension Channel {
    /// Loads what a snapshot has to contain and stores it durably.
    public typealias SnapshotHandler = @Sendable (SnapshotRequest) async throws -> Void

    /// Has the app load a snapshot when messages are lost: when the server's retention has
    /// overtaken this device, or when the channel's log was replaced.
    ///
    /// ```swift
    /// await general.onSnapshot { request in
    ///     let state = try await api.state(of: request.channel)   // as of request.position or later
    ///     try await store.replace(request.channel, with: state)  // durably
    /// }
    /// ```
    ///
    /// The position is recorded before the app is asked. Nothing of the channel comes meanwhile:
    /// the state is ``ChannelState/beyondRetention(lost:)``. Once `load` returns, the subscription
    /// goes on after the position; what was before and had not come counts as contained in the
    /// snapshot. If it throws it is asked again, with growing pauses; after a kill it is asked
    /// again with the same position. What was lost stands in the ledger either way.
    ///
    /// Without a handler what is left on the server comes as messages. Set it before the channel is
    /// read or subscribed to.
    ///
    /// - Parameter load: loads the state, stores it, and returns once it is durable; may be called
    ///   again after a kill.
    public func onSnapshot(_ load: @escaping SnapshotHandler) async {
        await channels.driver.takeSnapshots(name, with: load)
    }
}
