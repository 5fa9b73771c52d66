package import Metrics
import RepriseCore
import Synchronization

/// A swift-metrics backend that writes the metrics of one server in Prometheus' text format.
///
/// ```swift
/// let registry = MetricsRegistry()
/// let stored = Counter(
///     label: "messages_total", dimensions: [("outcome", "stored")], factory: registry)
/// stored.increment()
/// print(registry.text())
/// ```
///
/// Each server has its own, so that two in one process do not share counts.
package final class MetricsRegistry: MetricsFactory {
    /// The properties of a family beside its name.
    package struct Description: Sendable {
        package var help: String
        /// The bounds of a histogram's buckets.
        package var bounds: [Double]

        package init(_ help: String, bounds: [Double] = Description.seconds) {
            self.help = help
            self.bounds = bounds
        }

        /// From 100 µs to 30 s.
        package static let seconds = [
            0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30,
        ]
        /// From 1 to 65,536.
        package static let counts: [Double] = (0...8).map { Double(1 << (2 * $0)) }
    }

    enum Kind: String {
        case counter, gauge, histogram
    }

    private struct Family {
        let kind: Kind
        var series: [[String]: (labels: [(String, String)], instrument: any Instrument)] = [:]
    }

    private struct State {
        var families: [String: Family] = [:]
        var count = 0
        var refused = 0
    }

    /// The most lines and histograms.
    package static let limit = 1_000

    private let limit: Int
    private let descriptions: [String: Description]
    private let state = Mutex(State())
    private let beforeText = Mutex<[@Sendable () -> Void]>([])

    /// - Parameters:
    ///   - limit: the most lines and histograms; further ones count, but are not shown.
    ///   - descriptions: by name.
    package init(limit: Int = MetricsRegistry.limit, descriptions: [String: Description] = [:]) {
        self.limit = limit
        self.descriptions = descriptions
    }

    /// Called before the text is written: for values that are read rather than counted.
    package func beforeEachText(_ look: @escaping @Sendable () -> Void) {
        beforeText.withLock { $0.append(look) }
    }

    /// All metrics in Prometheus' text format.
    package func text() -> String {
        for look in beforeText.withLock({ $0 }) { look() }
        return state.withLock { state in
            var text = PrometheusText()
            for (name, family) in state.families.sorted(by: { $0.key < $1.key }) {
                text.family(name, kind: family.kind.rawValue, help: descriptions[name]?.help)
                for (_, series) in family.series.sorted(by: {
                    $0.key.lexicographicallyPrecedes($1.key)
                }) {
                    series.instrument.write(name, series.labels, to: &text)
                }
            }
            let notShown = ServerMetric.notShown.reference
            text.family(notShown.name, kind: notShown.kind, help: notShown.help)
            text.sample(notShown.name, [], Double(state.refused))
            return text.text
        }
    }

    // MARK: MetricsFactory

    package func makeCounter(
        label: String, dimensions: [(String, String)]
    ) -> any CounterHandler {
        instrument(label, dimensions, .counter) { CountingInstrument() }
    }

    package func makeFloatingPointCounter(
        label: String, dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        instrument(label, dimensions, .counter) { FractionCountingInstrument() }
    }

    package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        instrument(label, dimensions, .gauge) { GaugeInstrument() }
    }

    package func makeRecorder(
        label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
        guard aggregate else {
            return instrument(label, dimensions, .gauge) { GaugeInstrument() }
        }
        return makeHistogram(label, dimensions)
    }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        makeHistogram(label, dimensions)
    }

    // Instruments live as long as the server.
    package func destroyCounter(_ handler: any CounterHandler) {}
    package func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {}
    package func destroyMeter(_ handler: any MeterHandler) {}
    package func destroyRecorder(_ handler: any RecorderHandler) {}
    package func destroyTimer(_ handler: any TimerHandler) {}

    // MARK: -

    private func makeHistogram(
        _ label: String, _ dimensions: [(String, String)]
    ) -> HistogramInstrument {
        let bounds = descriptions[PrometheusText.metricName(label)]?.bounds ?? Description.seconds
        return instrument(label, dimensions, .histogram) { HistogramInstrument(bounds: bounds) }
    }

    /// The existing instrument, or a new one; beyond the limit a new one works but is not shown.
    private func instrument<Made: Instrument>(
        _ label: String, _ dimensions: [(String, String)], _ kind: Kind, _ make: () -> Made
    ) -> Made {
        let name = PrometheusText.metricName(label)
        let labels = dimensions.map { (PrometheusText.labelName($0), $1) }
            .sorted { $0.0 < $1.0 }
        let key = labels.flatMap { [$0.0, $0.1] }
        return state.withLock { state in
            var family = state.families[name] ?? Family(kind: kind)
            if let there = family.series[key]?.instrument as? Made { return there }
            let made = make()
            guard family.kind == kind, family.series[key] == nil, state.count < limit,
                Set(labels.map(\.0)).count == labels.count
            else {
                state.refused += 1
                return made
            }
            family.series[key] = (labels, made)
            state.families[name] = family
            state.count += 1
            return made
        }
    }
}
