/// How long messages stay in the device's own journal after their readers have finished them.
///
/// It applies to the device alone: the device's coverage does not change, so pruned messages never
/// return. A message that a reader has yet to handle is never pruned.
public struct MessageRetention: Hashable, Sendable {
    /// Messages older than this, by the server's clock, are removed.
    public var age: Duration
    /// The most messages of a channel, whatever their age.
    public var most: Int
    /// The least messages of a channel to keep, whatever their age, so that a list has content.
    public var least: Int

    /// Makes a retention.
    ///
    /// - Parameters:
    ///   - age: older messages are removed.
    ///   - most: the most messages of a channel.
    ///   - least: the least messages of a channel to keep.
    public init(age: Duration = .seconds(30 * 86_400), most: Int = 100_000, least: Int = 500) {
        self.age = age
        self.most = max(1, most)
        self.least = min(max(0, least), self.most)
    }
}
