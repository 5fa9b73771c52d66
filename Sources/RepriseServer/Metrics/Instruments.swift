import Metrics
import Synchronization

/// One line, or one histogram, of a family of metrics.
protocol Instrument: AnyObject, Sendable {
    func write(_ name: String, _ labels: [(String, String)], to text: inout PrometheusText)
}

/// A counter: one relaxed atomic addition.
final class CountingInstrument: CounterHandler, Instrument {
    private let value = Atomic<Int64>(0)

    func increment(by amount: Int64) { value.wrappingAdd(max(0, amount), ordering: .relaxed) }
    func reset() { value.store(0, ordering: .relaxed) }

    func write(_ name: String, _ labels: [(String, String)], to text: inout PrometheusText) {
        text.sample(name, labels, Double(value.load(ordering: .relaxed)))
    }
}

/// A floating-point counter.
final class FractionCountingInstrument: FloatingPointCounterHandler, Instrument {
    private let value = Mutex(0.0)

    func increment(by amount: Double) {
        guard amount > 0, amount.isFinite else { return }
        value.withLock { $0 += amount }
    }
    func reset() { value.withLock { $0 = 0 } }

    func write(_ name: String, _ labels: [(String, String)], to text: inout PrometheusText) {
        text.sample(name, labels, value.withLock { $0 })
    }
}

/// A gauge: the last value set.
final class GaugeInstrument: MeterHandler, RecorderHandler, Instrument {
    private let value = Mutex(0.0)

    func set(_ value: Int64) { set(Double(value)) }
    func set(_ value: Double) { self.value.withLock { $0 = value } }
    func record(_ value: Int64) { set(value) }
    func record(_ value: Double) { set(value) }
    func increment(by amount: Double) { value.withLock { $0 += amount } }
    func decrement(by amount: Double) { value.withLock { $0 -= amount } }

    func write(_ name: String, _ labels: [(String, String)], to text: inout PrometheusText) {
        text.sample(name, labels, value.withLock { $0 })
    }
}

/// A histogram with given bucket bounds.
final class HistogramInstrument: RecorderHandler, TimerHandler, Instrument {
    private struct State: Sendable {
        var counts: [Int64]
        var sum = 0.0
        var count: Int64 = 0
    }

    private let bounds: [Double]
    private let state: Mutex<State>

    /// - Parameter bounds: ascending; values beyond the last are counted too.
    init(bounds: [Double]) {
        self.bounds = bounds
        state = Mutex(State(counts: [Int64](repeating: 0, count: bounds.count)))
    }

    func record(_ value: Int64) { record(Double(value)) }
    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }

    func record(_ value: Double) {
        guard !value.isNaN else { return }
        let bucket = bounds.firstIndex { value <= $0 }
        state.withLock { state in
            if let bucket { state.counts[bucket] += 1 }
            state.sum += value
            state.count += 1
        }
    }

    func write(_ name: String, _ labels: [(String, String)], to text: inout PrometheusText) {
        let state = state.withLock { $0 }
        var total: Int64 = 0
        for (bound, count) in zip(bounds, state.counts) {
            total += count
            text.sample(
                name + "_bucket", labels + [("le", PrometheusText.number(bound))], Double(total))
        }
        text.sample(name + "_bucket", labels + [("le", "+Inf")], Double(state.count))
        text.sample(name + "_sum", labels, state.sum)
        text.sample(name + "_count", labels, Double(state.count))
    }
}
