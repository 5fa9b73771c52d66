/// How long messages stay in the device's own journal after their readers have finished them.
///
/// It is the device's alone: what the device has accounted for does not change, so nothing that is
/// pruned comes again. A message that a reader has yet to handle is never pruned.
public struct MessageRetention: Hashable, Sendable {
    /// What is older by the server's clock goes.
    public var age: Duration
    /// More than so many messages of a channel are not kept, whatever their age.
    public var most: Int
    /// So many of a channel are kept, whatever their age, for a list to have something to show.
    public var least: Int

    /// Says how long messages stay.
    ///
    /// - Parameters:
    ///   - age: what is older goes.
    ///   - most: more of a channel are not kept.
    ///   - least: so many of a channel are kept.
    public init(age: Duration = .seconds(30 * 86_400), most: Int = 100_000, least: Int = 500) {
        self.age = age
        self.most = max(1, most)
        self.least = min(max(0, least), self.most)
    }
}
