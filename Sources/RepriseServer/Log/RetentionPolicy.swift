package import RepriseWire

/// A log's retention per channel; nil keeps everything.
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

    /// Whether nothing is ever removed.
    package var keepsAll: Bool { count == nil && age == nil && bytes == nil }

    /// This policy, with the other's values where this has none.
    package func over(_ standard: RetentionPolicy) -> RetentionPolicy {
        RetentionPolicy(
            count: count ?? standard.count, age: age ?? standard.age,
            bytes: bytes ?? standard.bytes)
    }
}

/// Looks up the own policies of some channels; called for a few at a time, which needs no list of
/// all.
package typealias RetentionOverrides =
    @Sendable ([ChannelName]) async throws -> [ChannelName: RetentionPolicy]
