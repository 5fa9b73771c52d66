import RepriseCore

/// Which push services answer slowly: together they get half of the places, so that the others are
/// never without one.
///
/// A service counts as slow until its first fast answer: names cost nothing, and each push could go
/// to a new one that is silent. Later it is slow from a slow answer on, until its average is a fast
/// one again.
package struct SlowServices: Sendable {
    /// By partition, each at least ``PushLimits/slowAnswer``.
    private var averages: [String: Duration] = [:]
    /// The services whose answers are fast.
    private var fast: Set<String> = []

    package init() {}

    /// The average time of a slow service's answer, or the least one of a service that has not
    /// answered; nil for a fast one.
    package subscript(partition: String) -> Duration? {
        fast.contains(partition) ? nil : averages[partition] ?? PushLimits.slowAnswer
    }

    /// A push was answered.
    package mutating func answered(_ partition: String, took: Duration) {
        let average = averages[partition].map { $0 + (took - $0) / 8 } ?? took
        guard average >= PushLimits.slowAnswer else {
            averages[partition] = nil
            if fast.count >= PushLimits.partitions, !fast.contains(partition) { fast.removeAll() }
            fast.insert(partition)
            return
        }
        fast.remove(partition)
        if averages.count >= PushLimits.partitions, averages[partition] == nil {
            averages.removeAll()
        }
        averages[partition] = average
    }
}
