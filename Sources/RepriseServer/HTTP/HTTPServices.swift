package import RepriseCore
package import RepriseWire

/// What the HTTP API works with.
package struct HTTPServices: Sendable {
    /// What history reads.
    package var log: any MessageLog
    /// What stores; once it is shut down `/readyz` says so.
    package var committer: Committer
    /// Channels, members, positions, devices.
    package var accounts: Accounts
    /// Finds out who asks; nil where access is open.
    package var authenticator: (any Authenticating)?
    /// Tells when somebody joined, and the like.
    package var clock: any Timekeeper
    /// Refuses who does too much: how long to wait; nil to go on.
    package var wait: @Sendable (Principal) -> Duration? = { _ in nil }
    /// Tells the connections that a user's position has moved.
    package var moved: @Sendable (ChannelName, ServerFrame.Position) async throws -> Void = {
        _, _ in
    }
    /// The streams that end with the server.
    package var streams = OpenStreams()
    /// Counts what came of a request for forms.
    package var formsDone: @Sendable (FormsOutcome) -> Void = { _ in }
    /// What browsers subscribe with; nil where there is no Web Push.
    package var webPushKey: String?
    /// Decides which push services may be registered.
    package var endpoints = EndpointGuard()
    /// The figures of `/metrics`, in Prometheus' text format.
    package var metrics: @Sendable () async throws -> String = { "" }
    /// Makes a backup in the configured folder and names it; nil if no folder is configured.
    package var backup: (@Sendable () async throws -> String)?

    package init(
        log: any MessageLog, committer: Committer, accounts: Accounts,
        authenticator: (any Authenticating)? = nil, clock: any Timekeeper = SystemTimekeeper()
    ) {
        self.log = log
        self.committer = committer
        self.accounts = accounts
        self.authenticator = authenticator
        self.clock = clock
    }
}
