package import Hummingbird

/// The HTTP API: publish, history, health and readiness.
package struct HTTPRoutes: Sendable {
    private let log: any MessageLog
    private let committer: Committer
    private let isShuttingDown: @Sendable () -> Bool

    /// - Parameter isShuttingDown: once true, `/readyz` says so.
    package init(
        log: any MessageLog, committer: Committer,
        isShuttingDown: @escaping @Sendable () -> Bool
    ) {
        self.log = log
        self.committer = committer
        self.isShuttingDown = isShuttingDown
    }

    /// Adds the routes to a router, and the rule that every error is JSON.
    package func add(to router: Router<BasicRequestContext>) {}
}
