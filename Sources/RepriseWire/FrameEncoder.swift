import RepriseCore

extension ClientFrame {
    /// The frame as JSON text.
    public func encoded() -> [UInt8] {
        var writer = JSONWriter()
        writer.object { json in
            switch self {
            case .hello(let hello): Self.write(hello, to: &json)
            case .subscribe(let subscriptions): Self.write(subscriptions, to: &json)
            case .unsubscribe(let channels):
                json.key("type")
                json.plain("unsubscribe")
                json.key("channels")
                json.array { list in channels.forEach { list.plain($0.text) } }
            case .publish(let publish): Self.write(publish, to: &json)
            case .receipt(let receipt): Self.write(receipt, to: &json)
            case .typing(let channel, let isTyping):
                json.key("type")
                json.plain("typing")
                json.key("channelId")
                json.plain(channel.text)
                json.key("active")
                json.bool(isTyping)
            case .presence(let state):
                json.key("type")
                json.plain("presence")
                json.key("state")
                json.plain(state.rawValue)
            case .watch(let watched): Self.write(watched, to: &json)
            case .authenticate(let token):
                json.key("type")
                json.plain("authenticate")
                json.key("token")
                json.plain(token.secret)
            }
        }
        return writer.bytes
    }

    private static func write(_ hello: Hello, to json: inout JSONWriter) {
        json.key("type")
        json.plain("hello")
        json.key("version")
        json.integer(hello.version)
        json.key("device")
        json.plain(hello.device.text)
        json.key("client")
        json.string(hello.client)
        if let token = hello.token {
            json.key("token")
            json.plain(token.secret)
        }
        if hello.isIdle {
            json.key("idle")
            json.bool(true)
        }
    }

    private static func write(_ receipt: Receipt, to json: inout JSONWriter) {
        json.key("type")
        json.plain("receipt")
        json.key("channelId")
        json.plain(receipt.channel.text)
        if let read = receipt.read {
            json.key("read")
            json.integer(read)
        }
        if let delivered = receipt.delivered {
            json.key("delivered")
            json.integer(delivered)
        }
    }

    private static func write(_ subscriptions: [Subscription], to json: inout JSONWriter) {
        json.key("type")
        json.plain("subscribe")
        json.key("channels")
        json.array { list in
            for subscription in subscriptions {
                list.object { json in
                    json.key("channelId")
                    json.plain(subscription.channel.text)
                    if let epoch = subscription.epoch {
                        json.key("epoch")
                        json.plain(epoch.text)
                    }
                    json.key("coverage")
                    json.raw(Array(subscription.coverage.description.utf8))
                    if subscription.isFirst {
                        json.key("first")
                        json.bool(true)
                    }
                }
            }
        }
    }

    private static func write(_ watched: [Watch], to json: inout JSONWriter) {
        json.key("type")
        json.plain("watch")
        json.key("channels")
        json.array { list in
            for watch in watched {
                list.object { json in
                    json.key("channelId")
                    json.plain(watch.channel.text)
                    guard let users = watch.users else { return }
                    json.key("users")
                    json.array { names in users.forEach { names.plain($0.text) } }
                }
            }
        }
    }

    private static func write(_ publish: Publish, to json: inout JSONWriter) {
        json.key("type")
        json.plain("publish")
        json.key("channelId")
        json.plain(publish.channel.text)
        json.key("id")
        json.plain(publish.id.text)
        if let after = publish.after {
            json.key("after")
            json.plain(after.text)
        }
        switch publish.change {
        case nil: break
        case .edits(let id):
            json.key("edits")
            json.plain(id.text)
        case .deletes(let id):
            json.key("deletes")
            json.plain(id.text)
        }
        json.key("body")
        json.raw(publish.body)
    }
}

extension ServerFrame {
    /// The frame as JSON text.
    public func encoded() -> [UInt8] {
        if case .event(let event) = self { return event.encoded() }
        var writer = JSONWriter()
        writer.object { write(to: &$0) }
        return writer.bytes
    }

    private func write(to json: inout JSONWriter) {
        switch self {
        case .welcome(let welcome): Self.write(welcome, to: &json)
        case .subscribed(let subscribed): Self.write(subscribed, to: &json)
        case .event(let event): event.write(to: &json)
        case .gone(let channel, let gone): Self.write(gone, of: channel, to: &json)
        case .syncComplete(let complete): Self.write(complete, to: &json)
        case .heartbeat(let time, let heads): Self.write(time, heads, to: &json)
        case .published(let published): Self.write(published, to: &json)
        case .refused(let refused): Self.write(refused, to: &json)
        case .authenticated(let session):
            json.key("type")
            json.plain("authenticated")
            Self.write(session, to: &json)
        case .positions(let positions): Self.write(positions, to: &json)
        case .receipt(let channel, let position):
            json.key("type")
            json.plain("receipt")
            json.key("channelId")
            json.plain(channel.text)
            Self.write(position, to: &json)
        case .typing(let channel, let user, let isTyping, let expires):
            json.key("type")
            json.plain("typing")
            json.key("channelId")
            json.plain(channel.text)
            json.key("user")
            json.plain(user.text)
            json.key("active")
            json.bool(isTyping)
            json.key("expires")
            json.integer(expires.milliseconds)
        case .presence(let presence): Self.write(presence, to: &json)
        case .error(let code, let message):
            json.key("type")
            json.plain("error")
            json.key("code")
            json.integer(Int64(code.number))
            json.key("message")
            json.string(message)
        }
    }

    private static func write(_ welcome: Welcome, to json: inout JSONWriter) {
        json.key("type")
        json.plain("welcome")
        json.key("version")
        json.integer(welcome.version)
        json.key("timestamp")
        json.integer(welcome.time.milliseconds)
        json.key("heartbeat")
        json.integer(welcome.heartbeat.milliseconds)
        json.key("server")
        json.string(welcome.server)
        if let session = welcome.session { write(session, to: &json) }
        if let directory = welcome.directory {
            json.key("directory")
            json.plain(directory.text)
        }
        if welcome.hasPresence {
            json.key("presence")
            json.bool(true)
        }
    }

    private static func write(_ session: Session, to json: inout JSONWriter) {
        json.key("user")
        json.plain(session.user.text)
        json.key("expires")
        json.integer(session.expires.milliseconds)
    }

    private static func write(_ position: Position, to json: inout JSONWriter) {
        json.key("user")
        json.plain(position.user.text)
        json.key("read")
        json.integer(position.read)
        json.key("delivered")
        json.integer(position.delivered)
    }

    private static func write(_ positions: Positions, to json: inout JSONWriter) {
        json.key("type")
        json.plain("positions")
        json.key("channelId")
        json.plain(positions.channel.text)
        json.key("users")
        json.array { list in
            for position in positions.positions { list.object { write(position, to: &$0) } }
        }
        json.key("unread")
        json.integer(positions.unread.count)
        if positions.unread.mentions > 0 {
            json.key("mentions")
            json.integer(positions.unread.mentions)
        }
        json.key("head")
        json.integer(positions.unread.head)
    }

    private static func write(_ presence: Presence, to json: inout JSONWriter) {
        json.key("type")
        json.plain("presence")
        if let channel = presence.channel {
            json.key("channelId")
            json.plain(channel.text)
        }
        json.key("users")
        json.array { list in
            for user in presence.users {
                list.object { json in
                    json.key("user")
                    json.plain(user.user.text)
                    json.key("state")
                    json.plain(user.state.rawValue)
                    guard let seen = user.seen else { return }
                    json.key("seen")
                    json.integer(seen.milliseconds)
                }
            }
        }
        if let refusal = presence.refusal {
            json.key("code")
            json.string(refusal.name)
        }
    }

    private static func write(_ subscribed: Subscribed, to json: inout JSONWriter) {
        json.key("type")
        json.plain("subscribed")
        json.key("channelId")
        json.plain(subscribed.channel.text)
        json.key("epoch")
        json.plain(subscribed.epoch.text)
        json.key("head")
        json.integer(subscribed.head)
        json.key("floor")
        json.integer(subscribed.floor)
        if subscribed.reset {
            json.key("reset")
            json.bool(true)
        }
        if let request = subscribed.request {
            json.key("request")
            json.integer(request)
        }
    }

    private static func write(_ gone: Gone, of channel: ChannelName, to json: inout JSONWriter) {
        json.key("type")
        json.plain("gone")
        json.key("channelId")
        json.plain(channel.text)
        json.key("after")
        json.integer(gone.range.after)
        json.key("through")
        json.integer(gone.range.through)
        json.key("reason")
        json.plain(gone.reason.rawValue)
    }

    private static func write(_ complete: SyncComplete, to json: inout JSONWriter) {
        json.key("type")
        json.plain("sync_complete")
        json.key("channelId")
        json.plain(complete.channel.text)
        json.key("catchUpComplete")
        json.bool(true)
        json.key("timestamp")
        json.integer(complete.time.milliseconds)
        json.key("epoch")
        json.plain(complete.epoch.text)
        json.key("through")
        json.integer(complete.through)
    }

    private static func write(
        _ time: WallTime, _ heads: [ChannelName: Int64], to json: inout JSONWriter
    ) {
        json.key("type")
        json.plain("heartbeat")
        json.key("timestamp")
        json.integer(time.milliseconds)
        json.key("heads")
        json.object { json in
            for (channel, head) in heads.sorted(by: { $0.key < $1.key }) {
                json.key(plain: channel.text)
                json.integer(head)
            }
        }
    }

    private static func write(_ published: Published, to json: inout JSONWriter) {
        json.key("type")
        json.plain("published")
        json.key("channelId")
        json.plain(published.channel.text)
        json.key("id")
        json.plain(published.id.text)
        json.key("seq")
        json.integer(published.seq)
    }

    private static func write(_ refused: Refused, to json: inout JSONWriter) {
        json.key("type")
        json.plain("refused")
        if let channel = refused.channel {
            json.key("channelId")
            json.string(channel)
        }
        if let id = refused.id {
            json.key("id")
            json.string(id)
        }
        json.key("code")
        json.string(refused.code.name)
        json.key("message")
        json.string(refused.message)
        if let retryAfter = refused.retryAfter {
            json.key("retryAfter")
            json.integer(retryAfter.milliseconds)
        }
        if let request = refused.request {
            json.key("request")
            json.integer(request)
        }
    }
}

extension ServerFrame.Event {
    /// The frame as JSON text, with the body byte for byte.
    public func encoded() -> [UInt8] {
        var writer = JSONWriter(reserving: body.count + 224 + channel.text.utf8.count)
        writer.object { write(to: &$0) }
        return writer.bytes
    }

    func write(to json: inout JSONWriter) {
        json.key("type")
        json.plain("event")
        json.key("channelId")
        json.plain(channel.text)
        json.key("seq")
        json.integer(seq)
        if prev != seq - 1 {
            json.key("prev")
            json.integer(prev)
        }
        json.key("id")
        json.plain(id.text)
        json.key("timestamp")
        json.integer(time.milliseconds)
        if let from {
            json.key("from")
            json.plain(from.text)
        }
        switch change {
        case nil: break
        case .edits(let seq):
            json.key("edits")
            json.integer(seq)
        case .deletes(let seq):
            json.key("deletes")
            json.integer(seq)
        }
        if isDeleted {
            json.key("deleted")
            json.bool(true)
        }
        json.key("body")
        json.raw(body)
    }
}
