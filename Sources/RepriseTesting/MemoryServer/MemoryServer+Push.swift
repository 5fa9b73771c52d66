public import RepriseCore
import RepriseWire
import Synchronization

/// A phone to which a ``MemoryServer`` pushes.
struct MemoryPhone: Sendable {
    let user: UserID
    /// Its app's device, if that is said.
    let device: String?
    let notifications: MemoryNotifications
    let handler: (any NotificationHandler)?
    /// Up to which sequence it was pushed, and up to which its banners were removed.
    var pushed: [ChannelName: Int64] = [:]
    var dismissed: [ChannelName: Int64] = [:]
}

/// Pushes, with the real server's payload and decisions.
///
/// ```swift
/// server.addPhone(notifications, of: "ada", app: client)
/// try server.post(Note(text: "hello"), to: "order-7", from: "bob")
/// await server.push()
/// #expect(notifications.delivered.map(\.request.content.body) == ["hello"])
/// ```
extension MemoryServer {
    /// Adds a phone of a user.
    ///
    /// It needs no push token; what the app has registered is in ``settings(of:)``.
    ///
    /// - Parameters:
    ///   - notifications: shows its alerts.
    ///   - user: its user.
    ///   - app: gets pushes in the background, as a running app does; nil: no app runs.
    ///   - device: the app's device, a key of ``MemorySettings/pushTokens``: its own quiet hours
    ///     hold, and reading on the others is reading elsewhere. Nil: quiet hours of any device
    ///     hold; reading on every one is reading elsewhere, but with an `app` on none.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed` for a name that no user has.
    public func addPhone(
        _ notifications: MemoryNotifications, of user: String,
        app: (any NotificationHandler)? = nil, device: String? = nil
    ) throws {
        let phone = MemoryPhone(
            user: try UserID(user), device: device, notifications: notifications, handler: app)
        state.withLock { $0.phones.append(phone) }
    }

    /// Sends what is due to every phone, and returns when its app has handled it.
    ///
    /// The real server does this by itself, half a second after a message, five if the phone is
    /// connected, and two after a receipt. Due are, as there:
    ///
    /// - an alert of each message that its user may read, has not written, and has on no device
    ///   yet, time-sensitive if it asks for that; the badge alone where channel or author are
    ///   muted; without a sound in quiet hours, and within two minutes of reading on another
    ///   device if its user wants that;
    /// - a push in the background where messages that were pushed have been read elsewhere.
    public func push() async {
        let sendings = state.withLock { state in
            if clock != nil { tick(&state) }
            return state.phones.indices.flatMap { phone in
                state.logs.keys.sorted { $0.text < $1.text }.flatMap {
                    due(phone, in: $0, &state)
                }
            }
        }
        for (phone, payload) in sendings { await phone.receive(payload) }
    }

    private func due(_ index: Int, in channel: ChannelName, _ state: inout State)
        -> [(MemoryPhone, APNsPayload)]
    {
        let phone = state.phones[index]
        guard let log = state.logs[channel], mayUse(channel, phone.user, state) else { return [] }
        let position = position(of: phone.user, in: channel, state)
        let settings = state.settings[phone.user] ?? MemorySettings()
        let now = WallTime(milliseconds: state.time)
        let empty = emptyPush(to: phone, in: channel, head: log.head, at: now, state)
        var found: [APNsPayload] = []
        let last = phone.pushed[channel, default: 0]
        for event in log.events
        where event.seq > max(last, position.delivered) && event.from != phone.user {
            guard event.change == nil, !event.isDeleted, let content = PushContent(event.body)
            else { continue }
            state.phones[index].pushed[channel] = event.seq
            let isMention = Mentions(in: event.body).contains(phone.user)
            guard !settings.isMuted(channel, from: event.from, isMention: isMention, at: now)
            else {
                found.append(empty(.badge, event.seq))
                continue
            }
            var alert = empty(.alert, event.seq)
            describe(event, content, isMention: isMention, in: &alert, state)
            alert.isQuiet = PushSilence.holds(
                isActiveElsewhere: isActiveElsewhere(phone, settings, at: now, state),
                hours: settings.hours(of: phone.device, at: now), at: now)
            found.append(alert)
        }
        let read = min(position.read, last)
        if read > phone.dismissed[channel, default: 0] {
            state.phones[index].dismissed[channel] = read
            found += [empty(.badge, read), empty(.dismiss, position.read)]
        }
        return found.map { (phone, $0) }
    }

    /// A push without content, with the badge of now.
    private func emptyPush(
        to phone: MemoryPhone, in channel: ChannelName, head: Int64, at now: WallTime,
        _ state: State
    ) -> (PushHint.Kind, Int64) -> APNsPayload {
        let count = state.logs.keys.filter { mayUse($0, phone.user, state) }
            .reduce(0) { $0 + unread(in: $1, for: phone.user, state).count }
        return { kind, seq in
            var hint = PushHint(kind: kind, channel: channel, seq: seq, head: head)
            hint.to = phone.user
            hint.badge = .init(count: min(count, WireLimits.unreadCounted), asOf: now)
            return APNsPayload(hint, isQuiet: true)
        }
    }

    /// What the user sees and hears of a message.
    private func describe(
        _ event: ServerFrame.Event, _ content: PushContent, isMention: Bool,
        in alert: inout APNsPayload, _ state: State
    ) {
        var content = content
        content.appearance.complete(event.from.flatMap { state.profiles[$0] })
        (alert.hint.id, alert.hint.from, alert.hint.time) = (event.id, event.from, event.time)
        let title = event.channel.isDirect ? nil : state.titles[event.channel]
        let banner = Banner(of: content, from: event.from, in: title, event.channel)
        (alert.title, alert.subtitle, alert.body) = (banner.title, banner.subtitle, banner.body)
        alert.category = content.category
        alert.hint.name(content.appearance, in: title)
        alert.hint.isMention = isMention
        alert.isTimeSensitive = content.appearance.isTimeSensitive
        alert.relevance = content.appearance.relevance
        alert.sound = content.appearance.sound
    }
}

extension MemoryServer {
    private func isActiveElsewhere(
        _ phone: MemoryPhone, _ settings: MemorySettings, at now: WallTime, _ state: State
    ) -> Bool {
        guard settings.isSilentElsewhere, phone.device != nil || phone.handler == nil else {
            return false
        }
        return state.readings[phone.user, default: [:]].contains {
            $0.key != phone.device && PushSilence.isActive(since: $0.value, at: now)
        }
    }
}

extension MemoryPhone {
    fileprivate func receive(_ payload: APNsPayload) async {
        switch payload.hint.kind {
        case .alert:
            guard let id = payload.hint.id else { return }
            notifications.push(NotificationRequest(id: id.text, content: payload.content))
        case .badge: notifications.setBadge(Int(payload.hint.badge?.count ?? 0))
        case .dismiss: await handler?.receivedPush(payload.json)
        }
    }
}
