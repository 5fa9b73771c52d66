public import RepriseChannels
public import RepriseCore
public import RepriseWire

/// The figures of a client at one moment, for a debug screen or a report.
public struct ClientDiagnostics: Sendable {
    /// The connection's state, its last error and its counters.
    public internal(set) var connection: ConnectionDiagnostics
    /// The channels that are subscribed to, with what the device has of each.
    public internal(set) var channels: [ChannelName: ChannelDiagnostics]
    /// How many messages and changes are neither stored by the server nor failed.
    public internal(set) var waiting: Int
    /// The messages that will not be sent any more, oldest first; at most 100.
    public internal(set) var deadLetters: [DeadLetter]
    /// What became of everything that the account has accepted.
    public internal(set) var ledger: LedgerSum
    /// Whether the device's calendar was set by more than a day: nothing expires and nothing is
    /// pruned until the server says the time, or a day has passed.
    public internal(set) var isCalendarDoubted: Bool
}

extension RepriseClient {
    /// The current account's figures.
    ///
    /// ```swift
    /// let diagnostics = try await client.diagnostics()
    /// print(diagnostics.connection.state, diagnostics.waiting, diagnostics.ledger.pending)
    /// ```
    ///
    /// - Throws: what opening a journal throws, and the journal's errors.
    public func diagnostics() async throws -> ClientDiagnostics {
        let account = try await accounts.opened().current
        return ClientDiagnostics(
            connection: await account.channels.diagnostics,
            channels: await account.channels.channelDiagnostics,
            waiting: try await account.channels.outbox.waiting(),
            deadLetters: try await account.channels.outbox.deadLetters(),
            ledger: try await account.ledger(),
            isCalendarDoubted: !account.journal.mayExpire)
    }

    /// The unsent messages and dead letters of all channels of the current account.
    ///
    /// - Throws: what opening a journal throws.
    public var outbox: Outbox {
        get async throws { try await accounts.opened().current.channels.outbox }
    }

    /// Dials at once, whatever the client waits for: on a person's request.
    public func reconnect() async { await accounts.current?.reconnect() }
}
