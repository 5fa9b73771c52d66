/// Limits that several features share.
package enum CoreLimits {
    /// The unread changes that an observer's stream buffers; older ones are dropped.
    package static let observedChanges = 64
}
