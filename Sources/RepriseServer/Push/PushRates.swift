import RepriseCore

/// The push rate of each device: a token bucket, stored as the time at which it will be full.
///
/// A device with a full bucket equals one that was never pushed, and is forgotten: two generations
/// of devices are kept, each for as long as a bucket takes to fill. A message to a hundred thousand
/// devices makes as many entries, so an entry is two numbers.
package struct PushRates: Sendable {
    /// The time to refill one token, and the whole bucket, in milliseconds.
    private static let each = Int64(1_000 / PushLimits.devicePerSecond)
    private static let all = Int64(PushLimits.deviceBurst) * each
    /// Keyed by the device's hash, to store no text; two devices with one hash would share a rate.
    private var young: [Int: Int64] = [:]
    private var old: [Int: Int64] = [:]
    /// How many pushes of a device have been told to wait since its last one.
    private var behind: [Int: Int64] = [:]
    private var began: Int64?

    package init() {}

    /// The number of devices remembered.
    var count: Int { young.count + old.count }

    /// Takes a token for a device.
    ///
    /// - Returns: nil to proceed; otherwise how long to wait, each push that waits a token longer
    ///   than the one before, so that few come back in vain.
    package mutating func take(_ target: PushEntry.Target, now: Duration) -> Duration? {
        let moment = now.milliseconds
        if began.map({ moment - $0 >= Self.all }) ?? true {
            (old, young, behind) = (young, [:], [:])
            began = moment
        }
        let key = target.hashValue
        let full = max(young[key] ?? old[key] ?? moment, moment)
        let wait = full + Self.each - (moment + Self.all)
        guard wait <= 0 else {
            let before = min(behind[key, default: 0], Int64(PushLimits.delayedAlerts))
            behind[key] = before + 1
            return .milliseconds(wait + before * Self.each)
        }
        behind[key] = nil
        young[key] = full + Self.each
        return nil
    }
}
