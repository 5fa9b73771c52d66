import Logging
import RepriseCore
import RepriseWire
import Synchronization

/// A server's pushes: one dispatcher per configured service; in a cluster while this gateway is the
/// one that pushes.
struct Pushing: Sendable {
    /// The key for browsers' subscriptions; nil without Web Push.
    let webPushKey: String?
    private let providers: [any PushProvider]
    private let queue: PushQueue
    private let cluster: ClusterMember?
    private let running = RunningDispatchers()
    private let dispatcher: @Sendable (any PushProvider, PushLease?) -> PushDispatcher
    private let clock: any Timekeeper
    private let logger: Logger

    /// Reads the keys; `folder` stores the token for Apple.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration`, with a remedy.
    static func providers(
        _ configuration: PushConfiguration, folder: String, clock: any Timekeeper, logger: Logger
    ) throws -> (providers: [any PushProvider], webPushKey: String?) {
        let apns = try configuration.apns.map { try APNsProvider($0, clock: clock, folder: folder) }
        let web = try configuration.webPush.map { try WebPushProvider($0, clock: clock) }
        let providers = ([apns, web] as [(any PushProvider)?]).compactMap(\.self)
        guard configuration.isDryRun else { return (providers, web?.publicKey) }
        let rehearsals = providers.map { provider in
            DryRun(service: provider.service) { push in
                logger.tell(
                    .notice, "push: dry run",
                    [
                        "service": provider.service.rawValue, "message": push.hint.id?.text,
                        "kind": push.hint.kind.rawValue, "channel": push.hint.channel.text,
                        "seq": "\(push.hint.seq)", "collapse": push.collapse,
                    ])
            }
        }
        return (rehearsals, web?.publicKey)
    }

    init(
        _ providers: [any PushProvider], webPushKey: String?, accounts: Accounts,
        log: any MessageLog, connected: @escaping ConnectedCheck, cluster: ClusterMember? = nil,
        metrics: ServerMetrics, clock: any Timekeeper, logger: Logger
    ) {
        self.providers = providers
        self.webPushKey = webPushKey
        self.logger = logger
        self.cluster = cluster
        self.clock = clock
        queue = accounts.pushQueue
        let unread = UnreadCounts(accounts: accounts, log: log)
        let queue = queue
        dispatcher = { provider, lease in
            PushDispatcher(
                provider, queue: queue, lease: lease, unread: unread, log: log, metrics: metrics,
                connected: connected, clock: clock, logger: logger)
        }
        guard !providers.isEmpty else { return }
        let running = running
        if cluster == nil {
            for provider in providers { running.add(dispatcher(provider, nil), provider.service) }
            watchReads()
        }
        metrics.gauge(.pushesWaiting) {
            running.all.reduce(0) { $0 + $1.figures.queued }
        }
        metrics.gauge(.pushProvidersDown) {
            running.all.reduce(0) { $0 + $1.figures.down }
        }
    }

    /// Hears of dismissals that a read has queued, for the services that are pushed here.
    private func watchReads() {
        let running = running
        let services = running.services
        queue.onQueued(
            services.isEmpty
                ? nil
                : PushQueued(
                    services: services,
                    told: { _, _ in for dispatcher in running.all { dispatcher.othersQueued() } }))
    }

    /// Messages are durable; does not block.
    func committed(_ events: [ServerFrame.Event]) {
        guard !events.isEmpty else { return }
        for dispatcher in running.all { dispatcher.committed(events) }
    }

    /// A commit has failed, and may have stored messages nevertheless; does not block.
    func storingFailed() { for dispatcher in running.all { dispatcher.storingFailed() } }

    /// Pushes until ``stop()``; in a cluster while this gateway has the lease.
    func run() async {
        guard !providers.isEmpty else { return }
        await withTaskExecutorPreference(PushLoop.executor) {
            await withTaskGroup(of: Void.self) { group in
                if let cluster {
                    for provider in providers {
                        group.addTask { await push(provider, for: cluster) }
                    }
                } else {
                    for dispatcher in running.all { group.addTask { await dispatcher.run() } }
                }
            }
        }
        for provider in providers { await provider.close() }
    }

    func stop() async {
        for dispatcher in running.stop() { await dispatcher.stop() }
    }

    // MARK: In a cluster

    private func push(_ provider: any PushProvider, for cluster: ClusterMember) async {
        let service = provider.service
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                await cluster.leases.hold(service.role) { lease in
                    let lease = PushLease(service, lease, submit: cluster.submit)
                    await push(provider, by: lease)
                }
            }
            group.addTask {
                await running.stopped()
                // Who pushes ends by itself, and gives the lease back.
                guard running.services.contains(service) else { return }
                try? await Task.sleep(for: PushLimits.shutdown + .seconds(1))
            }
            await group.next()
            group.cancelAll()
        }
    }

    /// Returns once the server ends; or when cancelled, since the lease is lost.
    private func push(_ provider: any PushProvider, by lease: PushLease) async {
        let service = provider.service
        logger.info("push: this gateway pushes", metadata: ["service": "\(service.rawValue)"])
        let dispatcher = dispatcher(provider, lease)
        running.add(dispatcher, service)
        watchReads()
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                await withTaskCancellationHandler {
                    await dispatcher.run()
                } onCancel: {
                    Task { await dispatcher.stop() }
                }
            }
            group.addTask { await report(service, lease) }
            await group.next()
            group.cancelAll()
        }
        running.remove(dispatcher)
        watchReads()
        logger.info(
            "push: this gateway no longer pushes", metadata: ["service": "\(service.rawValue)"])
    }

    private func report(_ service: PushService, _ lease: PushLease) async {
        while (try? await clock.sleep(for: ClusterLimits.pushProgress)) != nil {
            do {
                try await lease.report(try await queue.done(service))
            } catch {
                logger.debug(
                    "push: the progress could not be stored", metadata: ["error": "\(error)"])
            }
        }
    }

    /// Reloads the keys; an unusable one is logged and the old one stays.
    func reload() {
        for provider in providers {
            let service: Logger.MetadataValue = "\(provider.service.rawValue)"
            do {
                guard try provider.reload() else { continue }
                logger.info("push: the new key is in use", metadata: ["service": service])
            } catch {
                logger.error(
                    "push: the new key cannot be used: the old one stays in use",
                    metadata: ["service": service, "error": "\(error)"])
            }
        }
    }
}

/// The dispatchers that push here now.
private final class RunningDispatchers: Sendable {
    private struct State {
        var dispatchers: [(dispatcher: PushDispatcher, service: PushService)] = []
        var isStopped = false
    }

    private let state = Mutex(State())
    private let changes = ConditionVariable()

    var all: [PushDispatcher] { state.withLock { $0.dispatchers.map(\.dispatcher) } }
    var services: Set<PushService> { state.withLock { Set($0.dispatchers.map(\.service)) } }

    func add(_ dispatcher: PushDispatcher, _ service: PushService) {
        state.withLock { $0.dispatchers.append((dispatcher, service)) }
    }

    func remove(_ dispatcher: PushDispatcher) {
        state.withLock { $0.dispatchers.removeAll { $0.dispatcher === dispatcher } }
    }

    func stop() -> [PushDispatcher] {
        state.withLock { $0.isStopped = true }
        changes.notifyAll()
        return all
    }

    /// Returns once it is stopped, or the task is cancelled.
    func stopped() async {
        await changes.wait(isCancellable: true) { state.withLock { $0.isStopped } }
    }
}
