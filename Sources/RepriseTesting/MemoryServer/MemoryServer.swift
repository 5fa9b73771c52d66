import Foundation
public import RepriseCore
public import RepriseWire
import Synchronization

/// An in-memory server for an app's own tests: it is the dialer and the transport too, speaks the
/// wire protocol, and can misbehave as real servers do.
///
/// ```swift
/// let server = try MemoryServer(users: ["ada", "bob"], clock: clock)
/// configuration.dialer = server
/// configuration.transport = server                // settings of notices, forms
/// try await client.signIn("ada") { try server.token(for: "ada") }
///
/// try server.setMembers(["ada", "bob"], of: "order-7")
/// try server.post(Note(text: "hello"), to: "order-7", from: "bob")
/// server.faults.order = .streams(4, seed: 7)      // catch-ups come out of order
/// ```
///
/// It neither delays nor loses messages unless ``faults`` say so. Nothing is limited or durable:
/// what the real server does at its limits and after a restart is not tried with it.
public final class MemoryServer: SocketDialer {
    struct Log {
        var epoch: Epoch
        var events: [ServerFrame.Event] = []
        /// Everything up to here is removed.
        var floor: Int64 = 0
        var head: Int64 { events.last?.seq ?? floor }
    }

    final class Connection: Sendable {
        let id: Int
        let socket = MemorySocket()

        init(id: Int) { self.id = id }
    }

    struct State {
        var logs: [ChannelName: Log] = [:]
        var faults = MemoryServerFaults()
        var connections: [Int: Connection] = [:]
        /// Subscribed channels, by connection.
        var subscriptions: [Int: Set<ChannelName>] = [:]
        var silent: Set<Int> = []
        var requests: [ClientFrame.Subscription] = []
        var published = 0
        var dialled = 0
        var epochs = 1
        var time: Int64 = 1
        /// The user of each token; nil: none is required.
        var tokens: [AccessToken: UserID]?
        var issued = 0
        var lifetime: Duration = .seconds(86_400)
        /// Of channels that are for these users alone.
        var members: [ChannelName: Set<UserID>] = [:]
        var titles: [ChannelName: String] = [:]
        var profiles: [UserID: Profile] = [:]
        var positions: [ChannelName: [UserID: ServerFrame.Position]] = [:]
        var settings: [UserID: MemorySettings] = [:]
        var catalogue: String?
        var phones: [MemoryPhone] = []
        var answer: @Sendable (HTTPCall) -> HTTPAnswer? = { _ in nil }
        /// The user of each greeted connection.
        var users: [Int: UserID] = [:]
        /// The device of each connection.
        var devices: [Int: String] = [:]
        /// When users have read on which device, of those who want no sound elsewhere then.
        var readings: [UserID: [String: WallTime]] = [:]
        /// Nil: presence is not told.
        var presence: [UserID: UserPresence]?
        /// What connections watch, and have said of themselves.
        var watches: [Int: [ClientFrame.Watch]] = [:]
        var reports: [Int: PresenceState] = [:]
        var greeted: [UserID?] = []
        var refused = 0
    }

    let state = Mutex(State())

    /// The user of a client that shows no token.
    let user: UserID?
    let clock: ManualClock?

    /// Makes a server without any message, which requires no tokens.
    ///
    /// - Parameters:
    ///   - user: the user of every client; nil: a server without users.
    ///   - clock: the server's; nil: each message is a millisecond younger than the one before it,
    ///     from 1970 on.
    public init(user: UserID? = nil, clock: ManualClock? = nil) {
        self.user = user
        self.clock = clock
    }

    /// Makes a server without any message, which requires a token of one of these users.
    ///
    /// - Parameters:
    ///   - users: their names; each has a token: ``token(for:)``.
    ///   - clock: the server's; nil: as in ``init(user:clock:)``.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed` for a name that no user has.
    public init(users: [String], clock: ManualClock? = nil) throws {
        user = nil
        self.clock = clock
        state.withLock { $0.tokens = [:] }
        for user in users { _ = try token(for: user) }
    }

    /// Makes a server without any message, which requires tokens as a server with `--dev` or
    /// `--keys` does.
    ///
    /// - Parameter tokens: the accepted tokens and their users. A client that shows another, or
    ///   none, is refused for good.
    public init(tokens: [AccessToken: UserID]) {
        user = nil
        clock = nil
        state.withLock { $0.tokens = tokens }
    }

    /// The accepted tokens and their users; nil: none is required.
    ///
    /// An open connection stays open whatever is changed here.
    public var tokens: [AccessToken: UserID]? {
        get { state.withLock { $0.tokens } }
        set { state.withLock { $0.tokens = newValue } }
    }

    /// The welcomed users, in order; nil: a client without a user.
    public var greeted: [UserID?] { state.withLock { $0.greeted } }

    /// How often it has refused a client for a wrong or missing token.
    public var refused: Int { state.withLock { $0.refused } }

    deinit {
        for connection in state.withLock({ $0.connections.values }) { connection.socket.cut() }
    }

    /// How the server misbehaves; takes effect from the next frame on.
    public var faults: MemoryServerFaults {
        get { state.withLock { $0.faults } }
        set { state.withLock { $0.faults = newValue } }
    }

    /// The clients' subscription requests, in order.
    public var requests: [ClientFrame.Subscription] { state.withLock { $0.requests } }

    /// How often it was dialled.
    public var dialled: Int { state.withLock { $0.dialled } }

    // MARK: The log

    /// Stores a message and sends it to all subscribers.
    ///
    /// - Parameters:
    ///   - json: one JSON value.
    ///   - channel: its channel; it is made if it is absent.
    ///   - id: its identity; storing the same id again changes nothing.
    ///   - sender: its author.
    ///   - change: its change to an earlier message, by sequence.
    /// - Returns: its sequence.
    /// - Throws: ``RepriseCore/RepriseError`` `.badChannelName`.
    @discardableResult
    public func publish(
        _ json: String, to channel: String, id: EntryID = .random(), from sender: UserID? = nil,
        change: MessageChange<Int64>? = nil
    ) throws -> Int64 {
        let name = try ChannelName(channel)
        return state.withLock { state in
            store(json, in: name, id: id, from: sender, change: change, &state)
        }
    }

    func store(
        _ json: String, in channel: ChannelName, id: EntryID, from sender: UserID?,
        change: MessageChange<Int64>?, _ state: inout State
    ) -> Int64 {
        var log = state.logs[channel] ?? Log(epoch: Self.epoch(1))
        if let known = log.events.first(where: { $0.id == id }) { return known.seq }
        tick(&state)
        let head = log.head
        let event = ServerFrame.Event(
            channel: channel, seq: head + 1, prev: head, id: id,
            time: WallTime(milliseconds: state.time), from: sender, change: change,
            body: Array(json.utf8))
        if case .deletes(let target) = change {
            for place in log.events.indices
            where log.events[place].seq == target
                || log.events[place].change == .edits(target)
            {
                log.events[place].isDeleted = true
                log.events[place].body = Array("null".utf8)
            }
        }
        log.events.append(event)
        state.logs[channel] = log
        send([.event(event)], toSubscribersOf: channel, &state)
        return event.seq
    }

    /// Stores a message and sends it to all subscribers.
    ///
    /// - Parameters:
    ///   - body: written as JSON.
    ///   - channel: its channel; it is made if it is absent.
    ///   - user: its author; nil: nobody.
    ///   - id: its identity; storing the same id again changes nothing.
    /// - Returns: its sequence.
    /// - Throws: ``RepriseCore/RepriseError`` `.badChannelName`, `.malformed` for a name that no
    ///   user has; the errors of encoding.
    @discardableResult
    public func post(
        _ body: some Encodable, to channel: String, from user: String? = nil,
        id: EntryID = .random()
    ) throws -> Int64 {
        try publish(
            String(decoding: try JSONEncoder().encode(body), as: UTF8.self), to: channel, id: id,
            from: try user.map { try UserID($0) })
    }

    /// The messages of a channel, oldest first: what clients have published, too.
    ///
    /// - Parameters:
    ///   - channel: its name.
    ///   - body: the type of the bodies.
    /// - Returns: the bodies that are of this type, of messages that are neither deleted nor edits.
    public func bodies<Body: Decodable>(of channel: String, as body: Body.Type) -> [Body] {
        messages(of: channel).compactMap { event in
            guard event.change == nil, !event.isDeleted else { return nil }
            return try? JSONDecoder().decode(Body.self, from: Data(event.body))
        }
    }

    /// Everything in a channel, oldest first, with author, time and change.
    public func messages(of channel: String) -> [ServerFrame.Event] {
        state.withLock { state in
            (try? ChannelName(channel)).flatMap { state.logs[$0]?.events } ?? []
        }
    }

    /// Moves the server's time on: by its clock, or by a millisecond.
    func tick(_ state: inout State) {
        state.time = clock.map { max($0.now.milliseconds, state.time) } ?? (state.time + 1)
    }

    /// Stores many messages with numbers as bodies, as if sent before any subscription.
    ///
    /// - Parameters:
    ///   - channel: their channel.
    ///   - count: how many.
    /// - Throws: ``RepriseCore/RepriseError`` `.badChannelName`.
    public func fill(_ channel: String, with count: Int) throws {
        let name = try ChannelName(channel)
        state.withLock { state in
            var log = state.logs[name] ?? Log(epoch: Self.epoch(1))
            for _ in 0..<count {
                let seq = log.head + 1
                log.events.append(
                    ServerFrame.Event(
                        channel: name, seq: seq, prev: seq - 1,
                        id: EntryID(unchecked: "\(channel)-\(seq)"),
                        time: WallTime(milliseconds: seq), body: Array("\(seq)".utf8)))
            }
            state.time += Int64(count)
            state.logs[name] = log
        }
    }

    /// Removes the oldest messages, as a server's retention does.
    ///
    /// - Parameters:
    ///   - channel: the channel.
    ///   - sequence: everything up to here.
    /// - Throws: ``RepriseCore/RepriseError`` `.badChannelName`.
    public func trim(_ channel: String, through sequence: Int64) throws {
        let name = try ChannelName(channel)
        state.withLock { state in
            guard var log = state.logs[name] else { return }
            log.floor = min(max(log.floor, sequence), log.head)
            let floor = log.floor
            log.events.removeAll { $0.seq <= floor }
            state.logs[name] = log
        }
    }

    /// Replaces the log of a channel, as a restored backup does, and ends every connection.
    ///
    /// - Parameters:
    ///   - channel: the channel.
    ///   - count: how many of its oldest messages are in the new log, under new sequences.
    /// - Throws: ``RepriseCore/RepriseError`` `.badChannelName`.
    public func changeEpoch(_ channel: String, keeping count: Int = 0) throws {
        let name = try ChannelName(channel)
        state.withLock { state in
            guard let former = state.logs[name] else { return }
            state.epochs += 1
            var log = Log(epoch: Self.epoch(state.epochs))
            for event in former.events.prefix(count) {
                var event = event
                event.seq = log.head + 1
                event.prev = log.head
                log.events.append(event)
            }
            state.logs[name] = log
        }
        end(code: CloseCode.goingAway.number)
    }

    static func epoch(_ number: Int) -> Epoch { (try? Epoch("e\(number)")) ?? .random() }

    /// The newest sequence of a channel.
    public func head(of channel: String) -> Int64 {
        state.withLock { state in
            (try? ChannelName(channel)).flatMap { state.logs[$0]?.head } ?? 0
        }
    }

    // MARK: Connections

    /// Ends every connection as a server does.
    public func end(code: UInt16) {
        for connection in forget() { connection.socket.end(code: code) }
    }

    /// Ends every connection without a close frame.
    public func cut() { for connection in forget() { connection.socket.cut() } }

    private func forget() -> [Connection] {
        state.withLock { state in
            defer {
                (state.connections, state.subscriptions, state.silent) = ([:], [:], [])
                (state.users, state.watches, state.reports) = ([:], [:], [:])
            }
            return Array(state.connections.values)
        }
    }

    /// Sends a heartbeat with the heads of all channels, falsified as ``faults`` say; it sends none
    /// by itself.
    public func heartbeat() {
        state.withLock { state in
            let lie = state.faults.headOffset
            for (id, channels) in state.subscriptions {
                var heads: [ChannelName: Int64] = [:]
                for channel in channels {
                    heads[channel] = max(0, (state.logs[channel]?.head ?? 0) + lie)
                }
                let time = WallTime(milliseconds: state.time)
                push([.heartbeat(time: time, heads: heads)], to: id, &state)
            }
        }
    }

    /// Sends a frame to every connection, whatever its content.
    public func send(_ frame: ServerFrame) {
        state.withLock { state in
            for id in state.connections.keys.sorted() { push([frame], to: id, &state) }
        }
    }

    /// Opens a connection in memory, whatever the address.
    public func dial(url: String, protocol: String, maximumFrameBytes: Int) async throws
        -> any Socket
    {
        let connection = state.withLock { state in
            state.dialled += 1
            let connection = Connection(id: state.dialled)
            state.connections[connection.id] = connection
            return connection
        }
        Task { [weak self] in
            var decoder = FrameDecoder()
            while let bytes = await connection.socket.sent() {
                guard let frame = try? decoder.clientFrame(bytes) else {
                    return connection.socket.end(code: CloseCode.malformedFrame.number)
                }
                self?.receive(frame, from: connection.id)
            }
        }
        return connection.socket
    }
}
