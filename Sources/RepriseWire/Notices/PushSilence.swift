package import RepriseCore

/// What makes an alert silent: quiet hours, and a person who is active on another device.
package enum PushSilence {
    /// Whether a person who has read on a device counts as active there.
    ///
    /// - Parameters:
    ///   - read: when that was.
    ///   - now: the same clock's.
    /// - Returns: whether he does.
    package static func isActive(since read: WallTime, at now: WallTime) -> Bool {
        read.duration(to: now) < PushPayloadLimits.activeElsewhere
    }

    /// Whether a push has no sound.
    ///
    /// - Parameters:
    ///   - isActiveElsewhere: whether its person is active on another device, and wants no sound
    ///     then.
    ///   - hours: the quiet hours of the device, or else of its user.
    ///   - now: the wall clock.
    /// - Returns: whether it has none.
    package static func holds(
        isActiveElsewhere: Bool, hours: QuietHours?, at now: WallTime
    ) -> Bool {
        isActiveElsewhere || hours?.contains(now) ?? false
    }
}
