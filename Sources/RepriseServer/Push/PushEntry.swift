package import RepriseCore
package import RepriseWire

/// A queued push: for one device, about one message.
package struct PushEntry: Hashable, Sendable {
    /// The number of its row.
    package var number: Int64
    package var user: UserID
    package var device: EntryID
    package var kind: PushHint.Kind
    package var channel: ChannelName
    package var seq: Int64
    /// The message; nil for a push about none.
    package var message: EntryID?
    package var from: UserID?
    package var attempts: Int
    package var expires: WallTime
    /// Whether the message mentions the user.
    package var isMention = false
    /// Whether it was delayed: see ``PushLimits/delayedAlerts``.
    package var isDelayed = false

    /// The device, for limits per device.
    package struct Target: Hashable, Sendable {
        package var user: UserID
        package var device: EntryID

        package init(user: UserID, device: EntryID) {
            self.user = user
            self.device = device
        }
    }

    package var target: Target { Target(user: user, device: device) }
}

/// A due push, with all data that decides whether to send it, in one snapshot.
package struct DuePush: Hashable, Sendable {
    package var entry: PushEntry
    /// Nil for a device that is gone or has no address.
    package var address: PushAddress?
    /// When the device last registered the address.
    package var addressSince: WallTime
    /// The device's delivered position in the channel.
    package var delivered: Int64
    /// The user's read position.
    package var read: Int64
    /// The channel's newest message for which a push to this device was accepted.
    package var pushed: Int64
    package var isMember: Bool
    /// Whether the channel or the author is muted, and the message does not come through.
    package var isMuted: Bool
    /// Whether the user is active on another device, and wants no sound then.
    package var isActiveElsewhere: Bool
    package var quietHours: QuietHours?
    /// The channel's title.
    package var title: String?
    /// Whether the author is an owner of the channel, or no user: then the message may be
    /// time-sensitive.
    package var isFromOwner = false
    /// The author's profile.
    package var sender: Profile?
}

/// The decision about a due push.
package enum PushDisposition: Hashable, Sendable {
    /// Send as this kind; quietly if the user must not be disturbed.
    case send(PushHint.Kind, isQuiet: Bool)
    case drop(PushDrop)
}

/// Why a push was not sent, or is not sent again.
package enum PushDrop: String, Hashable, Sendable, CaseIterable {
    /// The device has received the message by itself.
    case delivered
    /// The user has read it.
    case read
    /// Its time to live has expired.
    case expired
    /// The device is gone, or has no address.
    case unregistered
    /// The user is no longer a member.
    case left
    /// The user has muted it, and nothing else can be shown there.
    case muted
    /// The message was deleted, or removed by retention.
    case gone
    /// The provider has refused it permanently.
    case refused
    /// The provider has reported the address as invalid.
    case dead
    /// Its attempts are exhausted.
    case exhausted
    /// Newer alerts of the user wait as well: see ``PushLimits/delayedAlerts``.
    case displaced
}

/// Decides about a push when it would be sent.
package enum PushRules {
    /// Decides from all known data about a push.
    ///
    /// - Parameters:
    ///   - due: the push and its data.
    ///   - now: the wall clock.
    ///   - mayExpire: whether the wall clock is trusted.
    /// - Returns: what to do with it.
    package static func disposition(
        _ due: DuePush, now: WallTime, mayExpire: Bool
    ) -> PushDisposition {
        let entry = due.entry
        guard let address = due.address else { return .drop(.unregistered) }
        guard due.isMember else { return .drop(.left) }
        if mayExpire, entry.expires <= now { return .drop(.expired) }
        switch entry.kind {
        case .badge, .dismiss:
            return address.service == .apns
                ? .send(entry.kind, isQuiet: true) : .drop(.muted)
        case .alert: break
        }
        if due.read >= entry.seq { return .drop(.read) }
        if due.delivered >= entry.seq { return .drop(.delivered) }
        if due.isMuted {
            // A muted message still counts as unread. A browser must show something for each push,
            // so it gets none.
            return address.service == .apns ? .send(.badge, isQuiet: true) : .drop(.muted)
        }
        let isQuiet = PushSilence.holds(
            isActiveElsewhere: due.isActiveElsewhere, hours: due.quietHours, at: now)
        return .send(.alert, isQuiet: isQuiet)
    }
}
