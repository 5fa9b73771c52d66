package import RepriseCore
package import RepriseWire

/// One push that waits in the queue: for one device, about one message.
package struct PushEntry: Hashable, Sendable {
    /// The number of its row.
    package var number: Int64
    package var user: UserID
    package var device: EntryID
    package var kind: PushHint.Kind
    package var channel: ChannelName
    package var seq: Int64
    /// The message; nil for what is about no message.
    package var message: EntryID?
    package var from: UserID?
    package var attempts: Int
    package var expires: WallTime

    package init(
        number: Int64, user: UserID, device: EntryID, kind: PushHint.Kind = .alert,
        channel: ChannelName, seq: Int64, message: EntryID? = nil, from: UserID? = nil,
        attempts: Int = 0, expires: WallTime
    ) {
        self.number = number
        self.user = user
        self.device = device
        self.kind = kind
        self.channel = channel
        self.seq = seq
        self.message = message
        self.from = from
        self.attempts = attempts
        self.expires = expires
    }

    /// The device, for what is counted per device.
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

/// A push whose time has come, with all that decides whether it is still right to send it: of one
/// moment.
package struct DuePush: Hashable, Sendable {
    package var entry: PushEntry
    /// Nil for a device that is gone or has no address any more.
    package var address: PushAddress?
    /// When the device last said that the address is its own.
    package var addressSince: WallTime
    /// How far the device has received the channel.
    package var delivered: Int64
    /// How far the user has read it.
    package var read: Int64
    /// The newest message of the channel of which a push was taken for this device.
    package var pushed: Int64
    package var isMember: Bool
    package var isChannelMuted: Bool
    package var isSenderMuted: Bool
    package var quietHours: QuietHours?
    /// The channel's title.
    package var title: String?
}

/// What is to be done with a push whose time has come.
package enum PushVerdict: Hashable, Sendable {
    /// As this kind; quietly if the person is not to be disturbed.
    case send(PushHint.Kind, isQuiet: Bool)
    case drop(PushDrop)
}

/// Why a push was not sent, or is not sent again.
package enum PushDrop: String, Hashable, Sendable, CaseIterable {
    /// The device has received the message by itself.
    case delivered
    /// The user has read the message.
    case read
    /// Its time to live is over.
    case expired
    /// The device is gone, or has no address any more.
    case unregistered
    /// The user is no member any more.
    case left
    /// The user does not want to hear of it, and nothing else can be shown there.
    case muted
    /// The message is gone: deleted, or not kept so long.
    case gone
    /// The provider has refused it for good.
    case refused
    /// The provider has said that the address is dead.
    case dead
    /// It was tried as often as it may be.
    case exhausted
}

/// Decides about a push at the moment in which it would be sent.
package enum PushRules {
    /// Looks at all that is known of a push.
    ///
    /// - Parameters:
    ///   - due: all that is known.
    ///   - now: the calendar.
    ///   - mayExpire: whether the calendar may be believed.
    /// - Returns: what is to be done with it.
    package static func verdict(
        _ due: DuePush, now: WallTime, mayExpire: Bool
    ) -> PushVerdict {
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
        if due.isChannelMuted || due.isSenderMuted {
            // A muted message counts as unread all the same. A browser must show something for each
            // push, so there it is none.
            return address.service == .apns ? .send(.badge, isQuiet: true) : .drop(.muted)
        }
        return .send(.alert, isQuiet: due.quietHours?.contains(now) ?? false)
    }
}
