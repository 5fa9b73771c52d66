package import RepriseWire

/// What a log keeps of each channel; nil keeps everything.
package struct RetentionPolicy: Hashable, Sendable {
    /// The most messages.
    package var count: Int64?
    /// The greatest age of a message.
    package var age: Duration?
    /// The most bytes of bodies.
    package var bytes: Int64?

    package init(count: Int64? = nil, age: Duration? = nil, bytes: Int64? = nil) {
        self.count = count
        self.age = age
        self.bytes = bytes
    }

    /// Whether nothing is ever taken away.
    package var keepsAll: Bool { count == nil && age == nil && bytes == nil }

    /// This policy, and the other one's word where this has none.
    package func over(_ standard: RetentionPolicy) -> RetentionPolicy {
        RetentionPolicy(
            count: count ?? standard.count, age: age ?? standard.age,
            bytes: bytes ?? standard.bytes)
    }
}

/// Which of these channels have a policy of their own; asked for some at a time, so that no list of
/// all is needed.
package typealias RetentionOverrides =
    @Sendable ([ChannelName]) async throws -> [ChannelName: RetentionPolicy]
