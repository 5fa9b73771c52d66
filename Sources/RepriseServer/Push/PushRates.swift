import RepriseCore

/// How much each device was pushed lately.
///
/// A device that has not been pushed for as long as its bucket takes to fill is as one that never was, so it is forgotten: two generations
/// of devices are kept, each for that long.
struct PushRates: Sendable {
    private let rate = TokenBucket.Rate(
        perSecond: PushLimits.devicePerSecond, burst: PushLimits.deviceBurst)
    /// By the hash of the device, so that there is no text in it; two devices of one hash would share a rate.
    private var young: [Int: TokenBucket] = [:]
    private var old: [Int: TokenBucket] = [:]
    private var began: Duration?

    /// How many devices are remembered.
    var count: Int { young.count + old.count }

    /// One more for a device.
    ///
    /// - Returns: nil if it may have it; otherwise after how long.
    mutating func take(_ target: PushEntry.Target, now: Duration) -> Duration? {
        if now - (began ?? .zero - rate.refill) >= rate.refill {
            (old, young) = (young, [:])
            began = now
        }
        let key = target.hashValue
        var bucket = young[key] ?? old.removeValue(forKey: key) ?? TokenBucket(rate, now: now)
        defer { young[key] = bucket }
        return bucket.take(rate, now: now)
    }
}
