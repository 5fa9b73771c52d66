import RepriseCore

/// Circuit breaker of a provider: closed, open (nothing is sent), half-open (one push is sent as a
/// probe).
///
/// Opens after ``PushLimits/failuresToOpen`` failures in a row, or at a `Retry-After`.
struct PushCircuit: Sendable {
    enum Permission: Hashable {
        /// No limit.
        case all
        /// One, as a probe.
        case one
        /// None until then; nil until the probe was answered.
        case none(Duration?)
    }

    private var failures = 0
    private var downUntil: Duration?
    private var isProbing = false

    /// Whether the provider is considered down.
    var isDown: Bool { downUntil != nil }

    func permission(now: Duration) -> Permission {
        guard let downUntil else { return .all }
        if isProbing { return .none(nil) }
        return downUntil <= now ? .one : .none(downUntil)
    }

    /// The wait until a push may be sent; nil if one may now.
    func wait(now: Duration) -> Duration? {
        switch permission(now: now) {
        case .all, .one: nil
        case .none(let until): until.map { $0 - now } ?? PushLimits.circuitBase
        }
    }

    /// A push is being sent.
    mutating func tried() {
        if downUntil != nil { isProbing = true }
    }

    /// A push that was being sent was not: if it was the probe, another one follows.
    mutating func notTried() { isProbing = false }

    /// The provider has not answered, or reports that it is down.
    mutating func failed(retryAfter: Duration?, now: Duration, jitter: Double) {
        // Pushes in flight when the circuit opened count once.
        if downUntil != nil, !isProbing { return }
        failures += 1
        isProbing = false
        guard failures >= PushLimits.failuresToOpen || retryAfter != nil else { return }
        let own = Backoff(base: PushLimits.circuitBase, longest: PushLimits.circuitLongest)
            .delay(failures: max(1, failures - PushLimits.failuresToOpen + 1), jitter: jitter)
        let asked = min(retryAfter ?? .zero, PushLimits.retryAfterLongest)
        // Never at once: a jitter of zero would make a busy loop.
        downUntil = now + max(asked, own, .milliseconds(100))
    }
}
