import RepriseCore

/// How much each device was pushed lately: a bucket for each, of which only the moment is kept at
/// which it will be full again.
///
/// A device whose bucket is full is as one that was never pushed, so it is forgotten: two
/// generations of devices are kept, each for as long as a bucket takes to fill. A message to a
/// hundred thousand devices is as many entries, so an entry is two numbers.
struct PushRates: Sendable {
    /// The time for one more, and for all that a bucket holds, in milliseconds.
    private static let each = Int64(1_000 / PushLimits.devicePerSecond)
    private static let all = Int64(PushLimits.deviceBurst) * each
    /// By the hash of the device, so that there is no text in it; two devices of one hash would
    /// share a rate.
    private var young: [Int: Int64] = [:]
    private var old: [Int: Int64] = [:]
    private var began: Int64?

    /// How many devices are remembered.
    var count: Int { young.count + old.count }

    /// One more for a device.
    ///
    /// - Returns: nil if it may have it; otherwise after how long.
    mutating func take(_ target: PushEntry.Target, now: Duration) -> Duration? {
        let moment = now.milliseconds
        if began.map({ moment - $0 >= Self.all }) ?? true {
            (old, young) = (young, [:])
            began = moment
        }
        let key = target.hashValue
        let full = max(young[key] ?? old[key] ?? moment, moment)
        let wait = full + Self.each - (moment + Self.all)
        guard wait <= 0 else { return .milliseconds(wait) }
        young[key] = full + Self.each
        return nil
    }
}
