import RepriseCore
import RepriseWire

/// A phone to which a ``MemoryServer`` pushes.
struct MemoryPhone: Sendable {
    /// A channel as the phone's user has it.
    struct Channel {
        let name: ChannelName
        let title: String?
        let log: MemoryChannelLog
        let position: ServerFrame.Position
        let settings: MemorySettings
        let profiles: [UserID: Profile]
        /// What the user has not read in any channel.
        let unread: Int64
        let isActiveElsewhere: Bool
    }

    let user: UserID
    /// Its app's device, if that is said.
    let device: String?
    let notifications: MemoryNotifications
    let handler: (any NotificationHandler)?
    /// Up to which sequence it was pushed, and up to which its banners were removed.
    private var pushed: [ChannelName: Int64] = [:]
    private var dismissed: [ChannelName: Int64] = [:]

    init(
        user: UserID, device: String?, notifications: MemoryNotifications,
        handler: (any NotificationHandler)?
    ) {
        (self.user, self.device) = (user, device)
        (self.notifications, self.handler) = (notifications, handler)
    }

    /// Whether something is done elsewhere if it is done on this device.
    func isElsewhere(_ device: String) -> Bool {
        (self.device != nil || handler == nil) && device != self.device
    }

    /// What is pushed of a log that begins anew counts from its head.
    mutating func logReplaced(_ channel: ChannelName, head: Int64) {
        pushed[channel] = min(pushed[channel, default: 0], head)
        dismissed[channel] = min(dismissed[channel, default: 0], head)
    }

    /// What is to be pushed now of a channel that its user may read.
    mutating func due(in channel: Channel, at now: WallTime) -> [APNsPayload] {
        let (settings, position) = (channel.settings, channel.position)
        var found: [APNsPayload] = []
        let last = pushed[channel.name, default: 0]
        for event in channel.log.events
        where event.seq > max(last, position.delivered) && event.from != user {
            guard event.change == nil, !event.isDeleted, let content = PushContent(event.body)
            else { continue }
            pushed[channel.name] = event.seq
            let isMention = Mentions(in: event.body).contains(user)
            guard !settings.isMuted(channel.name, from: event.from, isMention: isMention, at: now)
            else {
                found.append(empty(.badge, event.seq, in: channel, at: now))
                continue
            }
            var alert = empty(.alert, event.seq, in: channel, at: now)
            describe(event, content, isMention: isMention, of: channel, in: &alert)
            alert.isQuiet = PushSilence.holds(
                isActiveElsewhere: channel.isActiveElsewhere,
                hours: settings.hours(of: device, at: now), at: now)
            found.append(alert)
        }
        let read = min(position.read, last)
        if read > dismissed[channel.name, default: 0] {
            dismissed[channel.name] = read
            found += [
                empty(.badge, read, in: channel, at: now),
                empty(.dismiss, position.read, in: channel, at: now),
            ]
        }
        return found
    }

    /// A push without content, with the badge of now.
    private func empty(
        _ kind: PushHint.Kind, _ seq: Int64, in channel: Channel, at now: WallTime
    ) -> APNsPayload {
        var hint = PushHint(kind: kind, channel: channel.name, seq: seq, head: channel.log.head)
        hint.to = user
        hint.badge = .init(count: min(channel.unread, WireLimits.unreadCounted), asOf: now)
        return APNsPayload(hint, isQuiet: true)
    }

    /// What the user sees and hears of a message.
    private func describe(
        _ event: ServerFrame.Event, _ content: PushContent, isMention: Bool, of channel: Channel,
        in alert: inout APNsPayload
    ) {
        var content = content
        content.appearance.complete(event.from.flatMap { channel.profiles[$0] })
        (alert.hint.id, alert.hint.from, alert.hint.time) = (event.id, event.from, event.time)
        let title = event.channel.isDirect ? nil : channel.title
        let banner = Banner(of: content, from: event.from, in: title, event.channel)
        (alert.title, alert.subtitle, alert.body) = (banner.title, banner.subtitle, banner.body)
        alert.category = content.category
        alert.hint.name(content.appearance, in: title)
        alert.hint.isMention = isMention
        alert.isTimeSensitive = content.appearance.isTimeSensitive
        alert.relevance = content.appearance.relevance
        alert.sound = content.appearance.sound
    }

    func receive(_ payload: APNsPayload) async {
        switch payload.hint.kind {
        case .alert:
            guard let id = payload.hint.id else { return }
            notifications.push(NotificationRequest(id: id.text, content: payload.content))
        case .badge: notifications.setBadge(Int(payload.hint.badge?.count ?? 0))
        case .dismiss: await handler?.receivedPush(payload.json)
        }
    }
}
