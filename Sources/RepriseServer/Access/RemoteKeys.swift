package import Logging
import Metrics
package import RepriseCore

/// Keys from a remote JSON Web Key Set.
package actor RemoteKeys: KeyProviding {
    private let fetch: @Sendable () async throws -> [UInt8]
    private let clock: any Timekeeper
    private let logger: Logger
    private var machine = KeyFetchMachine()
    private var fetching: Task<Void, Never>?

    /// Makes a source that has fetched nothing yet.
    ///
    /// - Parameters:
    ///   - clock: the time.
    ///   - logger: receives every fetch.
    ///   - fetch: gets the set; it ends within a bounded time.
    package init(
        clock: any Timekeeper, logger: Logger, fetch: @escaping @Sendable () async throws -> [UInt8]
    ) {
        self.clock = clock
        self.logger = logger
        self.fetch = fetch
    }

    package func key(for header: TokenHeader) async throws -> SigningKey? {
        var hasWaited = false
        while true {
            switch machine.asked(for: header, hasWaited: hasWaited, now: clock.uptime()) {
            case .found(let key):
                if machine.isStale(now: clock.uptime()) { _ = begin() }
                return key
            case .notFound: return nil
            case .unavailable:
                throw RepriseError(
                    .unavailable, "The keys that tokens are checked with cannot be had.",
                    remedy: "Try again in a moment.")
            case .wait: await fetching?.value
            case .fetch: await begin().value
            }
            hasWaited = true
        }
    }

    /// Fetches the keys now, or awaits the fetch in flight.
    package func reload() async { await (fetching ?? begin()).value }

    private func begin() -> Task<Void, Never> {
        machine.fetchBegan(now: clock.uptime())
        let task = Task { await run() }
        fetching = task
        return task
    }

    private func run() async {
        var fresh: KeySet?
        do {
            fresh = try await KeySet.read(try await fetch(), isPublished: true)
            logger.debug("fetched the keys", metadata: ["keys": "\(fresh?.keys.count ?? 0)"])
        } catch {
            Counter(label: ServerMetric.keyFetchesFailed.rawValue).increment()
            logger.error(
                "the keys cannot be fetched: the known ones stay in use",
                metadata: ["error": "\(error)"])
        }
        machine.fetchEnded(fresh, now: clock.uptime())
        fetching = nil
    }
}
