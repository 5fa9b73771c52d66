package import RepriseCore
package import RepriseWire

/// The dependencies of the HTTP API.
package struct HTTPServices: Sendable {
    /// The log that history reads.
    package var log: any MessageLog
    /// Stores messages; once it is shut down `/readyz` fails.
    package var committer: Committer
    /// Channels, members, positions, devices.
    package var accounts: Accounts
    /// Authenticates requests; nil where access is open.
    package var authenticator: (any Authenticating)?
    /// The time of joins and other changes.
    package var clock: any Timekeeper
    /// The rate limit: how long to wait; nil to proceed.
    package var wait: @Sendable (Principal) -> Duration? = { _ in nil }
    /// Notifies connections that a user's position has moved.
    package var moved: @Sendable (ChannelName, ServerFrame.Position) async throws -> Void = {
        _, _ in
    }
    /// Why a gateway of a cluster is not ready, though its own parts are; nil for no reason.
    package var problem: @Sendable () -> String? = { nil }
    /// Passed before what is stored is read, in a cluster; nil if this server is alone.
    package var barrier: ReadBarrier?
    /// The streams that end when the server does.
    package var streams = OpenStreams()
    /// What counts unread messages over all channels of a user.
    let unreadTurns = UnreadTurns()
    /// Counts tokens that were refused, or could not be checked.
    package var authFailed: @Sendable (RepriseError) -> Void = { _ in }
    /// Counts the outcomes of requests for forms.
    package var formsDone: @Sendable (FormsOutcome) -> Void = { _ in }
    /// The key for browsers' subscriptions; nil without Web Push.
    package var webPushKey: String?
    /// Decides which push services may be registered.
    package var endpoints = EndpointGuard()
    /// The metrics of `/metrics`, in Prometheus' text format.
    package var metrics: @Sendable () async throws -> String = { "" }
    /// The setting to hide one's presence; nil where the server does not offer presence.
    package var presence: PresenceService?
    /// Makes a backup in the configured folder and returns its name; nil if no folder is
    /// configured.
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
