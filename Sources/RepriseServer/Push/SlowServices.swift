import RepriseCore

/// Which push services answer slowly: together they get half of the places, so that the others are
/// never without one.
///
/// A service is known from its first slow answer on, until its average is a fast one again.
package struct SlowServices: Sendable {
    /// By partition, each at least ``PushLimits/slowAnswer``.
    private var averages: [String: Duration] = [:]

    package init() {}

    /// The average time of a slow service's answer; nil for any other.
    package subscript(partition: String) -> Duration? { averages[partition] }

    /// A push was answered.
    package mutating func answered(_ partition: String, took: Duration) {
        let average = averages[partition].map { $0 + (took - $0) / 8 } ?? took
        guard average >= PushLimits.slowAnswer else {
            averages[partition] = nil
            return
        }
        if averages.count >= PushLimits.partitions, averages[partition] == nil {
            averages.removeAll()
        }
        averages[partition] = average
    }
}
