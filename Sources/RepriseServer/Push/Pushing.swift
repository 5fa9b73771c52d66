import Logging
import RepriseCore
import RepriseWire

/// A server's pushes: one dispatcher per configured service.
struct Pushing: Sendable {
    let dispatchers: [PushDispatcher]
    /// The key for browsers' subscriptions; nil without Web Push.
    let webPushKey: String?
    private let providers: [any PushProvider]
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
                logger.notice(
                    "push: dry run",
                    metadata: [
                        "service": "\(provider.service.rawValue)",
                        "kind": "\(push.hint.kind.rawValue)", "channel": "\(push.hint.channel)",
                        "seq": "\(push.hint.seq)", "collapse": "\(push.collapse)",
                    ])
            }
        }
        return (rehearsals, web?.publicKey)
    }

    init(
        _ providers: [any PushProvider], webPushKey: String?, accounts: Accounts,
        log: any MessageLog, metrics: ServerMetrics, clock: any Timekeeper, logger: Logger
    ) {
        self.providers = providers
        self.webPushKey = webPushKey
        self.logger = logger
        let unread = UnreadCounts(accounts: accounts, log: log)
        let dispatchers = providers.map {
            PushDispatcher(
                $0, queue: accounts.pushQueue, unread: unread, log: log, metrics: metrics,
                clock: clock,
                logger: logger)
        }
        self.dispatchers = dispatchers
        guard !providers.isEmpty else { return }
        metrics.gauge(.pushesWaiting) {
            dispatchers.reduce(0) { $0 + $1.figures.queued }
        }
        metrics.gauge(.pushProvidersDown) {
            dispatchers.reduce(0) { $0 + $1.figures.down }
        }
        accounts.pushQueue.onQueued(
            PushQueued(
                services: Set(providers.map(\.service)),
                told: { _, _ in for dispatcher in dispatchers { dispatcher.othersQueued() } }))
    }

    /// Messages are durable; does not block.
    func committed(_ events: [ServerFrame.Event]) {
        for dispatcher in dispatchers { dispatcher.committed(events) }
    }

    /// Pushes until ``stop()``.
    func run() async {
        guard !dispatchers.isEmpty else { return }
        await withTaskExecutorPreference(PushLoop.executor) {
            await withTaskGroup(of: Void.self) { group in
                for dispatcher in dispatchers { group.addTask { await dispatcher.run() } }
            }
        }
        for provider in providers { await provider.close() }
    }

    /// Reloads the keys; an unusable one is logged and the old one stays.
    func reload() {
        for provider in providers {
            let service: Logger.MetadataValue = "\(provider.service.rawValue)"
            do {
                guard try provider.reload() else { continue }
                logger.info("push: another key is used now", metadata: ["service": service])
            } catch {
                logger.error(
                    "push: the old key stays", metadata: ["service": service, "error": "\(error)"])
            }
        }
    }

    func stop() async {
        for dispatcher in dispatchers { await dispatcher.stop() }
    }
}
