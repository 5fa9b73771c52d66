import RepriseCore

/// Decides whether a provider is asked at all: `asked → left alone → tried with one → asked`.
///
/// After ``PushLimits/failuresToOpen`` failures in a row nothing is sent for a while; then one push
/// finds out.
struct PushCircuit: Sendable {
    enum Permission: Hashable {
        /// As many pushes as there may be.
        case all
        /// One, to find out.
        case one
        /// None until then; nil until that one has been answered.
        case none(Duration?)
    }

    private var failures = 0
    private var downUntil: Duration?
    private var isProbing = false

    /// Whether the provider is taken to be down.
    var isDown: Bool { downUntil != nil }

    func permission(now: Duration) -> Permission {
        guard let downUntil else { return .all }
        if isProbing { return .none(nil) }
        return downUntil <= now ? .one : .none(downUntil)
    }

    /// How long to wait before one may be sent; nil if it may be now.
    func wait(now: Duration) -> Duration? {
        switch permission(now: now) {
        case .all, .one: nil
        case .none(let until): until.map { $0 - now } ?? PushLimits.circuitBase
        }
    }

    /// A push goes out.
    mutating func tried() {
        if downUntil != nil { isProbing = true }
    }

    /// The provider has not answered, or says that it is down.
    mutating func failed(retryAfter: Duration?, now: Duration, jitter: Double) {
        // Those that were sent before it was known count once.
        if downUntil != nil, !isProbing { return }
        failures += 1
        isProbing = false
        guard failures >= PushLimits.failuresToOpen || retryAfter != nil else { return }
        let own = Backoff(base: PushLimits.circuitBase, longest: PushLimits.circuitLongest)
            .delay(failures: max(1, failures - PushLimits.failuresToOpen + 1), jitter: jitter)
        let asked = min(retryAfter ?? .zero, PushLimits.retryAfterLongest)
        // Never at once: a jitter of nothing would make a loop of it.
        downUntil = now + max(asked, own, .milliseconds(100))
    }
}
