import Logging
import RepriseChains
import RepriseCore
import RepriseForms
import RepriseNotices
import RepriseReminders

/// Runs the features of one account's client on the platform's parts, each with its own retry.
package struct AccountRunner: Sendable {
    let configuration: RepriseConfiguration

    package init(configuration: RepriseConfiguration) { self.configuration = configuration }

    /// Until the task is cancelled, or the journal is no longer this process's.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.ownershipLost`, `.closed`, and what only a changed
    ///   app can mend.
    func run(_ client: AccountClient) async throws {
        let features = features(of: client)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (name, run) in features { group.addTask { try await keep(name, run) } }
            defer { group.cancelAll() }
            try await group.waitForAll()
        }
    }

    private typealias Feature = (name: String, run: @Sendable () async throws -> Void)

    /// Those that the client and the platform have.
    private func features(of client: AccountClient) -> [Feature] {
        let (notifications, scheduler) = (configuration.notifications, configuration.scheduler)
        var features: [Feature] = []
        func add(_ name: String, _ run: @escaping @Sendable () async throws -> Void) {
            features.append((name, run))
        }
        if let forms = client.forms, let webViews = configuration.webViews,
            let catalogue = catalogue
        {
            add("forms") { try await forms.run(webViews: webViews, catalogue: catalogue) }
        }
        if let reminders = client.reminders, let store = configuration.reminders?.store,
            let notifications
        {
            add("reminders") {
                try await reminders.run(
                    store: store, notifications: notifications, scheduler: scheduler)
            }
        }
        if let notices = client.notices, let notifications {
            add("notices") { try await notices.run(notifications: notifications) }
        }
        if let chains = client.chains {
            add("chains") {
                try await chains.run(
                    conditions: configuration.deviceStatus, scheduler: scheduler,
                    notifications: notifications)
            }
        }
        return features
    }

    private var catalogue: CatalogueSource? {
        configuration.catalogue
            ?? configuration.transport.map {
                CatalogueSource(server: configuration.server, transport: $0)
            }
    }

    /// Runs a feature again, after a wait, until it ends by itself.
    package func keep(_ feature: String, _ run: () async throws -> Void) async throws {
        var failures = 0
        while !Task.isCancelled {
            do {
                return try await run()
            } catch let error as RepriseError where error.isPermanent {
                throw error
            } catch {
                failures += 1
                configuration.logger.error(
                    "A feature has failed, and is tried again.",
                    metadata: ["feature": "\(feature)", "error": "\(error)"])
                let wait = ClientLimits.rerun.delay(failures: failures, jitter: .random(in: 0..<1))
                try? await Task.sleep(for: wait)
            }
        }
    }
}

extension RepriseError {
    /// Whether another try has the same result, until the app or another process has changed
    /// something.
    var isPermanent: Bool {
        [
            .ownershipLost, .closed, .badConfiguration, .badAddress, .malformed, .notAJournal,
            .journalNewer, .duplicateChain, .duplicateReader, .badChannelName, .corrupt,
        ].contains(code)
    }
}
