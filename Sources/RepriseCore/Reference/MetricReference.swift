/// A metric as `docs/operations.md` shows it.
package struct MetricReference: Sendable, Encodable {
    package let name: String
    /// As Prometheus calls it: counter, gauge, histogram.
    package let kind: String
    let labels: [String]
    let meaning: String
    let alert: String

    /// The meaning as plain text.
    package var help: String { meaning.filter { $0 != "`" } }

    package init(name: String, kind: String, labels: [String], meaning: String, alert: String) {
        self.name = name
        self.kind = kind
        self.labels = labels
        self.meaning = meaning
        self.alert = alert
    }
}
