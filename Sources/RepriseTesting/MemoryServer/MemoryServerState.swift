import Foundation
import RepriseCore
import RepriseWire

/// What a ``MemoryServer`` holds and does, under its lock.
struct MemoryServerState {
    var faults = MemoryServerFaults()
    var catalogue: String?
    /// What the app answers to its own requests.
    var answer: @Sendable (HTTPCall) -> HTTPAnswer? = { _ in nil }
    /// The user of each token; nil: none is required.
    var tokens: [AccessToken: UserID]?
    var tokenLifetime: Duration = .seconds(86_400)
    private(set) var connections = MemoryConnections()
    private(set) var directory = MemoryDirectory()
    private(set) var requests: [ClientFrame.Subscription] = []
    private(set) var greeted: [UserID?] = []
    private(set) var refused = 0
    private(set) var time: Int64 = 1
    /// The user of a client that shows no token.
    let user: UserID?
    private let clock: ManualClock?
    private var logs: [ChannelName: MemoryChannelLog] = [:]
    private var epochs = 1
    private var issued = 0
    private var received: [ChannelName: [UserID: ServerFrame.Position]] = [:]
    /// When users have read on which device, of those who want no sound elsewhere then.
    private var readings: [UserID: [String: WallTime]] = [:]
    /// Nil: presence is not told.
    private var presence: [UserID: UserPresence]?
    private var phones: [MemoryPhone] = []

    static let forbidden = "This channel is not there, or not for this user."

    var epoch: Epoch { MemoryChannelLog.epoch(epochs) }
    var tellsPresence: Bool { presence != nil }
    private var now: WallTime { WallTime(milliseconds: time) }

    init(user: UserID?, clock: ManualClock?, tokens: [AccessToken: UserID]? = nil) {
        (self.user, self.clock, self.tokens) = (user, clock, tokens)
    }

    /// Moves the time on: by the clock, or by a millisecond.
    private mutating func tick() {
        time = clock.map { max($0.now.milliseconds, time) } ?? (time + 1)
    }

    // MARK: Tokens

    mutating func token(for user: UserID) throws -> String {
        let known = tokens?.filter { $0.value == user }.map(\.key.secret).max()
        if let known { return known }
        issued += 1
        let name = user.text.utf8.map { String($0, radix: 16) }.joined()
        let token = try AccessToken("test.\(name).\(issued)")
        tokens = (tokens ?? [:]).merging([token: user]) { $1 }
        return token.secret
    }

    /// - Returns: the sockets that are to be ended.
    mutating func revokeTokens(of user: String) -> [MemorySocket] {
        tokens = tokens?.filter { $0.value.text != user }
        return connections.removeAll(of: user)
    }

    // MARK: The log

    func log(of channel: ChannelName) -> MemoryChannelLog? { logs[channel] }

    mutating func store(
        _ json: String, in channel: ChannelName, id: EntryID, from sender: UserID?,
        change: MessageChange<Int64>?
    ) -> Int64 {
        var log = logs[channel] ?? MemoryChannelLog()
        if let known = log.event(id) { return known.seq }
        tick()
        let event = ServerFrame.Event(
            channel: channel, seq: log.head + 1, prev: log.head, id: id, time: now, from: sender,
            change: change, body: Array(json.utf8))
        log.append(event)
        logs[channel] = log
        connections.send([.event(event)], toSubscribersOf: channel)
        return event.seq
    }

    mutating func fill(_ channel: ChannelName, with count: Int) {
        logs[channel, default: MemoryChannelLog()].fill(channel, with: count)
        time += Int64(count)
    }

    mutating func trim(_ channel: ChannelName, through sequence: Int64) {
        logs[channel]?.trim(through: sequence)
    }

    mutating func changeEpoch(of channel: ChannelName, keeping count: Int) {
        guard let former = logs[channel] else { return }
        epochs += 1
        let log = former.restored(as: epochs, keeping: count)
        logs[channel] = log
        // As in a restored server, nobody is ahead of the log.
        received[channel] = received[channel]?.mapValues { position in
            ServerFrame.Position(
                user: position.user, read: min(position.read, log.head),
                delivered: min(position.delivered, log.head))
        }
        for index in phones.indices { phones[index].logReplaced(channel, head: log.head) }
    }

    // MARK: Connections

    mutating func open() -> (id: Int, socket: MemorySocket) { connections.open() }

    /// - Returns: the sockets that are to be ended.
    mutating func removeConnections() -> [MemorySocket] { connections.removeAll() }

    func heartbeat() {
        for (id, channels) in connections.subscriptions {
            var heads: [ChannelName: Int64] = [:]
            for channel in channels {
                heads[channel] = max(0, (logs[channel]?.head ?? 0) + faults.headOffset)
            }
            connections.push([.heartbeat(time: now, heads: heads)], to: id)
        }
    }

    mutating func receive(_ frame: ClientFrame, from id: Int) {
        guard connections.isOpen(id) else { return }
        guard isKnown(frame, from: id) else { return refuse(id) }
        switch frame {
        case .hello(let hello):
            connections[id].device = hello.device.text
            welcome(id)
        case .subscribe(let asked):
            for request in asked.filter(\.isFirst) + asked.filter({ !$0.isFirst }) {
                requests.append(request)
                guard directory.mayUse(request.channel, connections[id].user) else {
                    refuse(request.channel, of: id)
                    continue
                }
                catchUp(request, of: id)
            }
        case .unsubscribe(let channels):
            for channel in channels { connections.unsubscribe(id, from: channel) }
        case .publish(let publish): store(publish, from: id)
        case .receipt(let receipt): move(receipt, from: id)
        case .authenticate: welcomeAgain(id)
        case .typing(let channel, let isTyping): typed(isTyping, in: channel, by: id)
        case .presence(let report): connections[id].presence = report
        case .watch(let watches): watched(watches, by: id)
        }
    }

    /// Whether the frame is allowed: its token must be a user's, and on a connection that of one
    /// user.
    private mutating func isKnown(_ frame: ClientFrame, from id: Int) -> Bool {
        let token: AccessToken?
        switch frame {
        case .hello(let hello): token = hello.token
        case .authenticate(let fresh): token = fresh
        default: return tokens == nil || connections[id].user != nil
        }
        guard let tokens else {
            connections[id].user = user
            return true
        }
        guard let shown = token.flatMap({ tokens[$0] }) else { return false }
        guard connections[id].user ?? shown == shown else { return false }
        connections[id].user = shown
        return true
    }

    private mutating func refuse(_ id: Int) {
        refused += 1
        connections.push(
            [.error(code: .unauthorized, message: "The token is not one that is known here.")],
            to: id)
        connections[id].user = nil
        connections.remove(id)?.end(code: CloseCode.unauthorized.number)
    }

    private func refuse(_ channel: ChannelName, of id: Int) {
        let refused = ServerFrame.Refused(
            channel: channel.text, id: nil, code: .forbidden, message: Self.forbidden)
        connections.push([.refused(refused)], to: id)
    }

    private func session(of id: Int) -> ServerFrame.Session? {
        connections[id].user.map {
            .init(user: $0, expires: now.advanced(by: tokenLifetime))
        }
    }

    private mutating func welcomeAgain(_ id: Int) {
        if clock != nil { tick() }
        guard let session = session(of: id) else { return }
        connections.push([.authenticated(session)], to: id)
    }

    private mutating func welcome(_ id: Int) {
        if clock != nil { tick() }
        let user = connections[id].user
        greeted.append(user)
        connections.push(
            [
                .welcome(
                    .init(
                        version: ClientFrame.Hello.currentVersion, time: now,
                        heartbeat: faults.heartbeat, server: "memory", session: session(of: id),
                        directory: user.map { .directory(of: $0) },
                        hasPresence: user != nil && tellsPresence))
            ], to: id)
    }

    private mutating func store(_ publish: ClientFrame.Publish, from id: Int) {
        let user = connections[id].user
        guard directory.mayUse(publish.channel, user) else {
            let refused = ServerFrame.Refused(
                channel: publish.channel.text, id: publish.id.text, code: .forbidden,
                message: Self.forbidden)
            return connections.push([.refused(refused)], to: id)
        }
        var change: MessageChange<Int64>?
        if let asked = publish.change {
            guard let target = logs[publish.channel]?.event(asked.target) else {
                let refused = ServerFrame.Refused(
                    channel: publish.channel.text, id: publish.id.text, code: .noSuchMessage,
                    message: "There is no such message.")
                return connections.push([.refused(refused)], to: id)
            }
            change =
                switch asked {
                case .edits: .edits(target.seq)
                case .deletes: .deletes(target.seq)
                }
        }
        let seq = store(
            String(decoding: publish.body, as: UTF8.self), in: publish.channel, id: publish.id,
            from: user, change: change)
        connections.push(
            [.published(.init(channel: publish.channel, id: publish.id, seq: seq))], to: id)
    }

    // MARK: Catch-up

    private mutating func catchUp(_ request: ClientFrame.Subscription, of id: Int) {
        let channel = request.channel
        let log = logs[channel] ?? MemoryChannelLog()
        logs[channel] = log
        connections.subscribe(id, to: channel)
        let target = max(0, log.head + faults.headOffset)
        let isReset = request.epoch == log.epoch && request.coverage.top > log.head
        let coverage = request.epoch == log.epoch && !isReset ? request.coverage : Coverage()
        var frames: [ServerFrame] = [
            .subscribed(
                .init(
                    channel: channel, epoch: log.epoch, head: target, floor: log.floor,
                    reset: isReset))
        ]
        if let user = connections[id].user {
            frames.append(.positions(positions(in: channel, for: user)))
        }
        let complete = ServerFrame.syncComplete(
            .init(channel: channel, epoch: log.epoch, through: target, time: now))
        if faults.completion == .before { frames.append(complete) }
        for range in coverage.complement(through: log.floor) {
            frames.append(.gone(channel: channel, Gone(range: range, reason: .retention)))
        }
        var missing = log.events.filter { $0.seq > log.floor && !coverage.contains($0.seq) }
        if let each = faults.skipsEach, each > 0 {
            missing = missing.enumerated().filter { ($0.offset + 1) % each != 0 }.map(\.element)
        }
        let events = faults.order.arranged(missing).flatMap { event in
            [ServerFrame](repeating: .event(event), count: max(1, faults.repeats))
        }
        send(frames, events, to: id)
        if faults.completion == .after { connections.push([complete], to: id) }
    }

    /// The events of a catch-up, up to a fault's end.
    private mutating func send(_ frames: [ServerFrame], _ events: [ServerFrame], to id: Int) {
        if let limit = faults.closesAfter, events.count >= limit {
            faults.closesAfter = nil
            connections.push(frames + events.prefix(limit), to: id)
            connections.remove(id)?.end(code: faults.closeCode ?? 1006)
        } else if let limit = faults.silentAfter, events.count >= limit {
            faults.silentAfter = nil
            connections.push(frames + events.prefix(limit), to: id)
            connections.silence(id)
        } else {
            connections.push(frames + events, to: id)
        }
    }

    // MARK: Channels

    mutating func setMembers(_ users: Set<UserID>, of channel: ChannelName) {
        for user in directory.setMembers(users, of: channel) { tell(user, of: channel) }
    }

    /// Refuses those who have subscribed and are members no more.
    mutating func endSubscriptions(to channel: ChannelName) {
        for id in connections.subscribers(of: channel)
        where !directory.mayUse(channel, connections[id].user) {
            connections.unsubscribe(id, from: channel)
            refuse(channel, of: id)
        }
    }

    mutating func setTitle(_ title: String?, of channel: ChannelName) {
        for user in directory.setTitle(title, of: channel) { tell(user, of: channel) }
    }

    mutating func setProfile(_ profile: Profile, of user: UserID) {
        for (other, channel) in directory.setProfile(profile, of: user) {
            tell(other, of: channel)
        }
    }

    mutating func setSettings(_ settings: MemorySettings, of user: UserID) {
        directory[user] = settings
    }

    /// Tells a user in the directory what a channel is to him, as the real server does.
    mutating func tell(_ user: UserID, of channel: ChannelName) {
        let entry = directory.entry(of: channel, for: user, at: time)
        let json = String(decoding: (try? JSONEncoder().encode(entry)) ?? Data(), as: UTF8.self)
        _ = store(json, in: .directory(of: user), id: .random(), from: nil, change: nil)
    }

    // MARK: Positions

    func positions(of channel: ChannelName) -> [ServerFrame.Position] {
        received[channel, default: [:]].values.sorted { $0.user < $1.user }
    }

    private func position(of user: UserID, in channel: ChannelName) -> ServerFrame.Position {
        received[channel]?[user] ?? .init(user: user, read: 0, delivered: 0)
    }

    private mutating func move(_ receipt: ClientFrame.Receipt, from id: Int) {
        guard let user = connections[id].user, !faults.losesReceipts else { return }
        let head = logs[receipt.channel]?.head ?? 0
        var position = position(of: user, in: receipt.channel)
        let former = position.read
        position.read = max(position.read, min(receipt.read ?? 0, head))
        position.delivered = max(
            position.delivered, min(receipt.delivered ?? 0, head), position.read)
        received[receipt.channel, default: [:]][user] = position
        if position.read > former, directory[user].isSilentElsewhere,
            let device = connections[id].device
        {
            if clock != nil { tick() }
            readings[user, default: [:]][device] = now
        }
        let frame = ServerFrame.receipt(channel: receipt.channel, position)
        connections.send([frame], toSubscribersOf: receipt.channel)
        // The answer comes to one that has not subscribed, too.
        if !connections.isSubscribed(id, to: receipt.channel) {
            connections.push([frame], to: id)
        }
    }

    private func positions(in channel: ChannelName, for user: UserID) -> ServerFrame.Positions {
        let others = positions(of: channel).filter { $0.user != user }
            .prefix(WireLimits.positions - 1)
        return .init(
            channel: channel, positions: [position(of: user, in: channel)] + others,
            unread: unread(in: channel, for: user))
    }

    func unread(in channel: ChannelName, for user: UserID) -> Unread {
        let log = logs[channel]
        let read = position(of: user, in: channel).read
        let start = Unread.start(read: read, joined: 0, floor: log?.floor ?? 0)
        let unread = (log?.events ?? []).filter {
            $0.seq > start && $0.from != user && !$0.isDeleted && $0.change == nil
        }
        let mentions = unread.count { Mentions(in: $0.body).contains(user) }
        return Unread(
            count: min(Int64(unread.count), WireLimits.unreadCounted), head: log?.head ?? 0,
            mentions: min(Int64(mentions), WireLimits.unreadCounted))
    }

    // MARK: Typing and presence

    private func typed(_ isTyping: Bool, in channel: ChannelName, by id: Int) {
        guard let user = connections[id].user else { return }
        let frame = ServerFrame.typing(
            channel: channel, user: user, isTyping: isTyping,
            expires: isTyping ? WireLimits.typing : .zero)
        for other in connections.subscribers(of: channel) where other != id {
            connections.push([frame], to: other)
        }
    }

    mutating func setPresence(_ told: UserPresence) {
        presence = (presence ?? [:]).merging([told.user: told]) { $1 }
        for (id, client) in connections.clients {
            let users = client.watches.flatMap { shown($0, to: id) ?? [] }
            guard users.contains(told.user) else { continue }
            connections.push([.presence(.init(users: [told]))], to: id)
        }
    }

    private mutating func watched(_ watches: [ClientFrame.Watch], by id: Int) {
        guard let presence else { return }
        let new = watches.filter { !connections[id].watches.contains($0) }
        connections[id].watches = watches
        for watch in new {
            let users = shown(watch, to: id)
            connections.push(
                [
                    .presence(
                        .init(
                            channel: watch.channel,
                            users: (users ?? []).sorted().map { user in
                                presence[user] ?? UserPresence(user: user, state: .offline)
                            },
                            refusal: users == nil ? .forbidden : nil))
                ], to: id)
        }
    }

    /// The users whom a watch shows; nil to one who is no member.
    private func shown(_ watch: ClientFrame.Watch, to id: Int) -> Set<UserID>? {
        guard let user = connections[id].user, let members = directory.members[watch.channel],
            members.contains(user)
        else { return nil }
        return members.subtracting([user]).intersection(watch.users.map { Set($0) } ?? members)
    }

    // MARK: Pushes

    mutating func add(_ phone: MemoryPhone) { phones.append(phone) }

    /// What is to be pushed now, and to which phone.
    mutating func due() -> [(MemoryPhone, APNsPayload)] {
        if clock != nil { tick() }
        return phones.indices.flatMap { index in
            logs.keys.sorted().flatMap { name -> [(MemoryPhone, APNsPayload)] in
                let phone = phones[index]
                guard let channel = channel(name, of: phone) else { return [] }
                return phones[index].due(in: channel, at: now).map { (phone, $0) }
            }
        }
    }

    /// Nil: its user may not use it.
    private func channel(_ name: ChannelName, of phone: MemoryPhone) -> MemoryPhone.Channel? {
        let user = phone.user
        guard let log = logs[name], directory.mayUse(name, user) else { return nil }
        let settings = directory[user]
        let count = logs.keys.filter { directory.mayUse($0, user) }
            .reduce(0) { $0 + unread(in: $1, for: user).count }
        let isActiveElsewhere =
            settings.isSilentElsewhere
            && readings[user, default: [:]].contains {
                phone.isElsewhere($0.key) && PushSilence.isActive(since: $0.value, at: now)
            }
        return MemoryPhone.Channel(
            name: name, title: directory.titles[name], log: log,
            position: position(of: user, in: name), settings: settings,
            profiles: directory.profiles, unread: count, isActiveElsewhere: isActiveElsewhere)
    }
}
