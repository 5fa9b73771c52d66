package import Metrics
package import RepriseCore
package import RepriseWire

/// A server's metrics; ``ServerMetric`` explains each.
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
    let presenceTold: Counter
    let presenceSaid: Counter
    let presenceIgnored: Counter
    let connectedIgnored: Counter
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
        func counter(_ name: ServerMetric, _ labels: [(String, String)] = []) -> Counter {
            Counter(label: name.rawValue, dimensions: labels, factory: used)
        }
        liveEvents = counter(.eventsSent, [("path", "live")])
        caughtUpEvents = counter(.eventsSent, [("path", "catch_up")])
        demotions = counter(.demotions)
        readFailures = counter(.logErrors, [("operation", "read")])
        commitFailures = counter(.logErrors, [("operation", "append")])
        positionsTold = counter(.receiptsTold)
        typingTold = counter(.typingTold)
        presenceTold = counter(.presenceTold)
        presenceSaid = counter(.presenceSaid)
        presenceIgnored = counter(.presenceIgnored)
        connectedIgnored = counter(.clusterConnectedIgnored)
        catchUps = Timer(label: ServerMetric.catchUpSeconds.rawValue, dimensions: [], factory: used)
        commitTime = Timer(
            label: ServerMetric.commitSeconds.rawValue, dimensions: [], factory: used)
        commitSize = Recorder(
            label: ServerMetric.commitMessages.rawValue, dimensions: [], aggregate: true,
            factory: used)
        outcomes = Self.counters(Self.outcomeNames) {
            counter(.messages, [("outcome", $0)])
        }
        refusals = Dictionary(
            uniqueKeysWithValues: Self.requestNames.map { request in
                (
                    request,
                    Self.counters(Self.refusalNames) {
                        counter(.refusals, [("request", request), ("code", $0)])
                    }
                )
            })
        closes = Dictionary(
            uniqueKeysWithValues: Self.closeCodes.map {
                ($0.number, counter(.closes, [("code", "\($0)")]))
            })
        forms = Self.counters(FormsOutcome.allCases.map(\.rawValue)) {
            counter(.forms, [("outcome", $0)])
        }
        pushes = Dictionary(
            uniqueKeysWithValues: PushService.allCases.map { service in
                (
                    service,
                    Self.counters(Self.pushOutcomes) {
                        counter(
                            .pushes,
                            [("service", service.rawValue), ("outcome", $0)])
                    }
                )
            })
        authFailures = Self.counters(Self.authFailureNames) {
            counter(.authFailures, [("reason", $0)])
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
    package func gauge(_ name: ServerMetric, _ look: @escaping @Sendable () -> Int) {
        let meter = Meter(label: name.rawValue, dimensions: [], factory: factory)
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
        pushes[service]?[acknowledgement.outcome]?.increment()
    }

    func caughtUp(after time: Duration) { catchUps.recordNanoseconds(time.nanoseconds) }

    // MARK: Names

    private static let outcomeNames = ["stored", "duplicate", "refused", "failed"]
    private static let requestNames = ["publish", "subscribe", "receipt", "typing", "presence"]
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

    private static let descriptions = Dictionary(
        uniqueKeysWithValues: ServerMetric.allCases.map { metric in
            let bounds =
                metric == .commitMessages
                ? MetricsRegistry.Description.counts : MetricsRegistry.Description.seconds
            return (
                metric.rawValue,
                MetricsRegistry.Description(metric.reference.help, bounds: bounds)
            )
        })
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
