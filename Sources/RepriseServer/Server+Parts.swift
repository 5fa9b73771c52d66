import Logging
import RepriseCore
import ServiceLifecycle

/// What runs while a server does, and in which order it ends.
extension Server {
    /// What runs while the server does.
    enum Part: Sendable {
        case served(Result<Void, any Error>)
        case stored, pushed
        /// A gateway follows its cluster until the server ends, or cannot go on.
        case followed(Result<Void, any Error>)
    }

    /// Ends the others in their order: what was accepted is stored first.
    func ended(
        _ parts: inout TaskGroup<Part>, _ committer: Committer, _ pushing: Pushing
    ) async -> Result<Void, any Error> {
        var (result, isStored, isPushed) = (Result<Void, any Error>?.none, false, false)
        while let part = await parts.next() {
            switch part {
            case .served(let served):
                result = result ?? served
                committer.shutdown()
                await pushing.stop()
            case .followed(.success): break
            case .followed(let failure):
                // Nothing more can be stored or seen here.
                result = result ?? failure
                parts.cancelAll()
            case .stored: isStored = true
            case .pushed: isPushed = true
            }
            if isStored, isPushed, result != nil { parts.cancelAll() }
        }
        return result ?? .success(())
    }

    /// - Returns: false if the server was to end before that.
    func hasCaughtUp(_ cluster: ClusterMember?) async throws -> Bool {
        guard let cluster else { return true }
        do {
            try await cancelWhenGracefulShutdown { try await cluster.catchUp(logger) }
        } catch {
            guard Task.isShuttingDownGracefully else { throw error }
        }
        return !Task.isShuttingDownGracefully
    }

    /// Follows a cluster's journal; in a graceful shutdown for half of its time, so that callers
    /// do not wait for a journal that is not there.
    ///
    /// At its beginning `shutdown` is called, to end what needs the journal for that; it does not
    /// block.
    func follow(
        _ cluster: ClusterMember, leftBehind: @escaping @Sendable () -> Void,
        shutdown: @escaping @Sendable () async -> Void,
        _ onApplied: @escaping @Sendable (AppliedEntry, _ isOwn: Bool) -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask {
                try await cluster.replica.run(
                    { entry, isOwn in
                        cluster.applied(entry, isOwn: isOwn)
                        onApplied(entry, isOwn)
                    }, onLeftBehind: leftBehind)
            }
            tasks.addTask {
                try await gracefulShutdown()
                await shutdown()
                try await Task.sleep(for: configuration.limits.shutdown / 2)
            }
            try await tasks.next()
            tasks.cancelAll()
            guard Task.isShuttingDownGracefully else {
                throw RepriseError(
                    .unavailable, "The journal can no longer be followed.",
                    remedy: "Look at NATS, and start this server again.")
            }
        }
    }

    /// What `/metrics` tells of a cluster.
    static func watch(_ cluster: ClusterMember, by metrics: ServerMetrics) {
        let health = cluster.health
        metrics.gauge(.clusterApplied) { Int(cluster.view.position.sequence) }
        metrics.gauge(.clusterLag) {
            Int(max((health.status?.last ?? 0) - cluster.view.position.sequence, 0))
        }
        metrics.gauge(.clusterJournalBytes) { Int(health.status?.bytes ?? 0) }
        metrics.gauge(.clusterJournalFill) { health.fill }
        metrics.gauge(.clusterLeases) { cluster.leases.count }
        metrics.gauge(.clusterHashOwed) {
            Int((cluster.bases?.owing ?? .zero) / .seconds(1))
        }
        metrics.gauge(.clusterSent) { cluster.replica.figures.sent }
        metrics.gauge(.clusterStored) { cluster.replica.figures.stored }
        metrics.gauge(.clusterReads) { cluster.replica.figures.reads }
    }

    /// Positions that have moved at other gateways; at this one their callers tell of them.
    func tell(_ entry: AppliedEntry, by gateway: Gateway) {
        let moves = entry.outcomes.compactMap { outcome in
            if case .changed(_, let effects) = outcome { effects.moved } else { nil }
        }
        guard !moves.isEmpty else { return }
        Task {
            do {
                for move in moves { try await gateway.tell(move) }
            } catch {
                logger.debug("positions could not be sent", metadata: ["error": "\(error)"])
            }
        }
    }

    static func result(
        _ body: () async throws -> Void
    ) async -> Result<Void, any Error> {
        do {
            return .success(try await body())
        } catch {
            return .failure(error)
        }
    }
}
