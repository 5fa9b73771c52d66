import RepriseCore

/// Decides what the log is told of push services that fail: each change once, and what stays as it
/// is every now and then.
///
/// Three services that are down are three lines, not one for each push that waits for them.
package struct PushTroubles: Sendable {
    /// What is told.
    package struct News: Hashable, Sendable {
        package enum Kind: Hashable, Sendable { case refused, unavailable, unauthorized, over }

        package let kind: Kind
        package let reason: String
    }

    private struct Key: Hashable {
        let lane: String
        let kind: News.Kind
    }

    private let limit: Int
    /// When each was told last.
    private var told: [Key: Duration] = [:]

    /// - Parameter limit: the most services that are remembered; at it all are forgotten, and told
    ///   again.
    package init(limit: Int = PushLimits.lanes) { self.limit = limit }

    /// A push has ended so.
    ///
    /// - Parameters:
    ///   - outcome: how.
    ///   - lane: whose service it is: see ``PushAddress/lane``.
    ///   - now: uptime.
    /// - Returns: what to tell; nil if that was told lately.
    package mutating func ended(_ outcome: PushOutcome, lane: String, now: Duration) -> News? {
        switch outcome {
        case .later: return nil
        case .accepted, .dead:
            guard !told.isEmpty else { return nil }
            let ended = [News.Kind.unavailable, .unauthorized].filter {
                told.removeValue(forKey: Key(lane: lane, kind: $0)) != nil
            }
            return ended.isEmpty ? nil : News(kind: .over, reason: "it has answered")
        case .refused(let why): return tell(.refused, why, lane, now)
        case .unavailable(_, let why, _): return tell(.unavailable, why, lane, now)
        case .unauthorized(let why): return tell(.unauthorized, why, lane, now)
        }
    }

    private mutating func tell(
        _ kind: News.Kind, _ why: String, _ lane: String, _ now: Duration
    ) -> News? {
        let key = Key(lane: lane, kind: kind)
        if let last = told[key], now - last < PushLimits.troubleTold { return nil }
        if told.count >= limit, told[key] == nil { told = [:] }
        told[key] = now
        return News(kind: kind, reason: why)
    }
}
