public import RepriseChains
public import RepriseChannels
public import RepriseCore
public import RepriseForms
public import RepriseJournal
public import RepriseNotices
public import RepriseReminders

/// The parts of the current account; each opens the journal, if nothing has yet.
///
/// A part belongs to its account: after a change of accounts, ask for it again.
extension RepriseClient {
    /// The journal, for the app's own tables, and for what became of an entry.
    public var journal: Journal {
        get async throws { try await accounts.opened().current.journal }
    }

    /// Forms: the places that they lead to, and their state.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration` if they are not configured.
    public var forms: Forms {
        get async throws { try await feature("forms") { $0.forms } }
    }

    /// Reminders.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration` if they are not configured.
    public var reminders: Reminders {
        get async throws { try await feature("reminders") { $0.reminders } }
    }

    /// Chains.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration` if they are not configured.
    public var chains: Chains {
        get async throws { try await feature("chains") { $0.chains } }
    }

    /// Notices: taps, settings, the badge.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration` if they are not configured.
    public var notices: Notices {
        get async throws { try await feature("notices") { $0.notices } }
    }

    /// The states of the connection, over every account: the current one, then each change.
    public var connectionStates: AsyncStream<ConnectionState> {
        follow { $0.channels.connectionStates }
    }

    /// What became of everything that the current account has accepted.
    ///
    /// - Throws: what opening a journal throws.
    public func ledger() async throws -> LedgerSum {
        try await accounts.opened().current.ledger()
    }

    private func feature<Feature>(
        _ name: String, _ part: (AccountClient) -> Feature?
    ) async throws -> Feature {
        try configuration.expect(part(try await accounts.opened().current), name)
    }

    /// A stream of each account, one after the other; it ends with ``close()``.
    func follow<Value: Sendable>(
        _ stream: @escaping @Sendable (AccountClient) throws -> AsyncStream<Value>
    ) -> AsyncStream<Value> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let task = Task { [self] in
                var current: Task<Void, Never>?
                for await state in states {
                    current?.cancel()
                    if state == .closed { break }
                    guard case .open = state, let account = accounts.current,
                        let values = try? stream(account)
                    else { continue }
                    current = Task { for await value in values { continuation.yield(value) } }
                }
                current?.cancel()
                continuation.finish()
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }
}

extension RepriseConfiguration {
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration`.
    func expect<Feature>(_ feature: Feature?, _ name: String) throws -> Feature {
        if let feature { return feature }
        throw RepriseError(
            .badConfiguration, "The feature \(name) is not configured.",
            remedy: "Write configuration.\(name) = .init().")
    }
}
