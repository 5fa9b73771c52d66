import RepriseCore

/// Decides which failures of push services are logged: each change once, an unchanged one
/// periodically.
///
/// Three services that are down are three lines, not one per waiting push.
package struct PushTroubles: Sendable {
    /// A line to log.
    package struct News: Hashable, Sendable {
        package enum Kind: Hashable, Sendable { case refused, unavailable, unauthorized, over }

        package let kind: Kind
        package let reason: String
    }

    private struct Key: Hashable {
        let partition: String
        let kind: News.Kind
    }

    private let limit: Int
    /// When each was last logged.
    private var told: [Key: Duration] = [:]

    /// - Parameter limit: the most services remembered; at the limit all are forgotten, and logged
    ///   again.
    package init(limit: Int = PushLimits.partitions) { self.limit = limit }

    /// A push has ended.
    ///
    /// - Parameters:
    ///   - outcome: its outcome.
    ///   - partition: the service: see ``PushAddress/partition``.
    ///   - now: uptime.
    /// - Returns: the line to log; nil if it was logged lately.
    package mutating func ended(_ outcome: PushOutcome, partition: String, now: Duration) -> News? {
        switch outcome {
        case .later: return nil
        case .accepted, .dead:
            guard !told.isEmpty else { return nil }
            let ended = [News.Kind.unavailable, .unauthorized].filter {
                told.removeValue(forKey: Key(partition: partition, kind: $0)) != nil
            }
            return ended.isEmpty ? nil : News(kind: .over, reason: "it has answered")
        case .refused(let why): return tell(.refused, why, partition, now)
        case .unavailable(_, let why, _): return tell(.unavailable, why, partition, now)
        case .unauthorized(let why): return tell(.unauthorized, why, partition, now)
        }
    }

    private mutating func tell(
        _ kind: News.Kind, _ why: String, _ partition: String, _ now: Duration
    ) -> News? {
        let key = Key(partition: partition, kind: kind)
        if let last = told[key], now - last < PushLimits.troubleTold { return nil }
        if told.count >= limit, told[key] == nil { told = [:] }
        told[key] = now
        return News(kind: kind, reason: why)
    }
}
