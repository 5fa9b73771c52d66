package import Metrics
package import RepriseCore
package import RepriseWire

/// A server's metrics; `docs/operations.md` explains each.
///
/// Labels have few values that are known in advance: never a channel, a user or a client's text.
package final class ServerMetrics: Sendable {
    package let registry: MetricsRegistry
    private let factory: any MetricsFactory

    let liveEvents: Counter
    let caughtUpEvents: Counter
    let demotions: Counter
    let readFailures: Counter
    let positionsTold: Counter
    let typingTold: Counter
    private let catchUps: Timer
    private let commitTime: Timer
    private let commitSize: Recorder
    private let commitFailures: Counter
    private let outcomes: [String: Counter]
    private let refusals: [String: [String: Counter]]
    private let closes: [UInt16: Counter]
    private let authFailures: [String: Counter]
    private let forms: [String: Counter]
    private let pushes: [PushService: [String: Counter]]

    /// - Parameter factory: receives everything too, beside the registry: the program's
    ///   bootstrapped swift-metrics.
    package init(also factory: (any MetricsFactory)? = nil) {
        let registry = MetricsRegistry(descriptions: Self.descriptions)
        self.registry = registry
        let both = factory.map { MultiplexMetricsHandler(factories: [registry, $0]) }
        let used: any MetricsFactory = both ?? registry
        self.factory = used
        func counter(_ name: String, _ labels: [(String, String)] = []) -> Counter {
            Counter(label: name, dimensions: labels, factory: used)
        }
        liveEvents = counter("reprise_events_sent_total", [("path", "live")])
        caughtUpEvents = counter("reprise_events_sent_total", [("path", "catch_up")])
        demotions = counter("reprise_demotions_total")
        readFailures = counter("reprise_log_errors_total", [("operation", "read")])
        commitFailures = counter("reprise_log_errors_total", [("operation", "append")])
        positionsTold = counter("reprise_receipts_told_total")
        typingTold = counter("reprise_typing_told_total")
        catchUps = Timer(label: "reprise_catch_up_seconds", dimensions: [], factory: used)
        commitTime = Timer(label: "reprise_commit_seconds", dimensions: [], factory: used)
        commitSize = Recorder(
            label: "reprise_commit_messages", dimensions: [], aggregate: true, factory: used)
        outcomes = Self.counters(Self.outcomeNames) {
            counter("reprise_messages_total", [("outcome", $0)])
        }
        refusals = Dictionary(
            uniqueKeysWithValues: Self.requestNames.map { request in
                (
                    request,
                    Self.counters(Self.refusalNames) {
                        counter("reprise_refusals_total", [("request", request), ("code", $0)])
                    }
                )
            })
        closes = Dictionary(
            uniqueKeysWithValues: Self.closeCodes.map {
                ($0.number, counter("reprise_closes_total", [("code", "\($0)")]))
            })
        forms = Self.counters(FormsOutcome.allCases.map(\.rawValue)) {
            counter("reprise_forms_total", [("outcome", $0)])
        }
        pushes = Dictionary(
            uniqueKeysWithValues: PushService.allCases.map { service in
                (
                    service,
                    Self.counters(Self.pushOutcomes) {
                        counter(
                            "reprise_pushes_total",
                            [("service", service.rawValue), ("outcome", $0)])
                    }
                )
            })
        authFailures = Self.counters(Self.authFailureNames) {
            counter("reprise_auth_failures_total", [("reason", $0)])
        }
    }

    /// The program's bootstrapped swift-metrics; nil without one.
    static var bootstrapped: (any MetricsFactory)? {
        let factory = MetricsSystem.factory
        return factory is NOOPMetricsHandler ? nil : factory
    }

    /// All metrics in Prometheus' text format.
    package func text() -> String { registry.text() }

    /// A gauge that is read when the text is requested.
    package func gauge(_ name: String, _ look: @escaping @Sendable () -> Int) {
        let meter = Meter(label: name, dimensions: [], factory: factory)
        registry.beforeEachText { meter.set(look()) }
    }

    // MARK: Events

    /// A batch is durable.
    package func committed(_ results: [AppendResult], after time: Duration) {
        commitTime.recordNanoseconds(time.nanoseconds)
        commitSize.record(results.count)
        var counts: [String: Int] = [:]
        for result in results { counts[result.outcome, default: 0] += 1 }
        for (outcome, count) in counts { outcomes[outcome]?.increment(by: count) }
    }

    /// A batch could not be stored.
    package func commitFailed(_ count: Int, after time: Duration) {
        commitTime.recordNanoseconds(time.nanoseconds)
        commitFailures.increment()
        outcomes["failed"]?.increment(by: count)
    }

    /// A request was refused before the log was read.
    package func refused(_ request: String, _ code: RefusalCode) {
        let codes = refusals[request]
        (codes?[code.name] ?? codes?["other"])?.increment()
    }

    /// The server has ended a connection.
    package func closed(_ code: CloseCode) { closes[code.number]?.increment() }

    /// A token was refused, or could not be checked.
    package func authFailed(_ error: RepriseError) {
        let reason =
            switch error.code {
            case .tokenExpired: "expired"
            case .unavailable: "unavailable"
            default: "unauthorized"
            }
        authFailures[reason]?.increment()
    }

    /// A request for forms was answered.
    package func formsDone(_ outcome: FormsOutcome) { forms[outcome.rawValue]?.increment() }

    /// A push has got a disposition.
    package func pushed(_ service: PushService, _ acknowledgement: PushMachine.Acknowledgement) {
        let outcome =
            switch acknowledgement {
            case .pushed: "sent"
            case .dropped(let why): why.rawValue
            case .dead: PushDrop.dead.rawValue
            case .again(_, isAttempt: true): "retried"
            case .again(_, isAttempt: false): "waited"
            }
        pushes[service]?[outcome]?.increment()
    }

    func caughtUp(after time: Duration) { catchUps.recordNanoseconds(time.nanoseconds) }

    // MARK: Names

    private static let outcomeNames = ["stored", "duplicate", "refused", "failed"]
    private static let requestNames = ["publish", "subscribe", "receipt", "typing"]
    private static let authFailureNames = ["expired", "unauthorized", "unavailable"]
    private static let refusalNames = [
        "tooLarge", "tooManyChannels", "forbidden", "unavailable", "rateLimited", "overloaded",
        "other",
    ]
    private static let pushOutcomes =
        ["sent", "retried", "waited"] + PushDrop.allCases.map(\.rawValue)
    private static let closeCodes: [CloseCode] = [
        .protocolError, .notText, .invalidText, .frameTooLarge, .idle, .notReading,
        .handshakeTimedOut, .tokenExpired, .goingAway, .overloaded, .tooManyConnections,
        .malformedFrame, .outOfOrder, .unsupportedVersion, .unauthorized, .unavailable,
        .replaced,
    ]

    private static func counters(
        _ names: [String], _ make: (String) -> Counter
    ) -> [String: Counter] {
        Dictionary(uniqueKeysWithValues: names.map { ($0, make($0)) })
    }

    private static let descriptions: [String: MetricsRegistry.Description] = [
        "reprise_auth_failures_total": .init("Tokens that were refused, by reason."),
        "reprise_catch_up_seconds": .init("From subscribed to sync_complete."),
        "reprise_catch_ups_open": .init("Subscriptions that are catching up now."),
        "reprise_closes_total": .init("Connections that the server has closed, by close code."),
        "reprise_commit_messages": .init(
            "Messages in one commit.", bounds: MetricsRegistry.Description.counts),
        "reprise_commit_seconds": .init("One durable transaction of the log."),
        "reprise_connected_users": .init("Users with at least one connection."),
        "reprise_connections": .init("WebSocket connections."),
        "reprise_demotions_total": .init("Times that a connection had too much unsent."),
        "reprise_events_sent_total": .init("Events written to connections, live or from the log."),
        "reprise_forms_total": .init("Requests for catalogues of forms, by outcome."),
        "reprise_log_errors_total": .init("Times that the log failed, by operation."),
        "reprise_messages_total": .init("Messages that reached the log, by outcome."),
        "reprise_publishes_waiting": .init("Messages that wait to be stored."),
        "reprise_pushes_total": .init("What became of pushes, by service and outcome."),
        "reprise_pushes_waiting": .init("Pushes that wait on the disk."),
        "reprise_push_providers_down": .init("Providers that are taken to be down."),
        "reprise_reads_waiting": .init("Catch-ups that wait for a reader of the log."),
        "reprise_receipts_told_total": .init("Moves of positions that were told to subscribers."),
        "reprise_refusals_total": .init("Requests refused before the log was asked, by code."),
        "reprise_subscriptions": .init("Open subscriptions."),
        "reprise_typing_told_total": .init("Typing that was told to subscribers."),
    ]
}

extension AppendResult {
    fileprivate var outcome: String {
        switch self {
        case .stored, .buried: "stored"
        case .duplicate: "duplicate"
        case .refused: "refused"
        }
    }
}

extension Duration {
    fileprivate var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds.multipliedReportingOverflow(by: 1_000_000_000).partialValue
            + attoseconds / 1_000_000_000
    }
}
