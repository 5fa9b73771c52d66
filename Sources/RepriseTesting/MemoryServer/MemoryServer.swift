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
    private let state: Mutex<MemoryServerState>

    /// Makes a server without any message, which requires no tokens.
    ///
    /// - Parameters:
    ///   - user: the user of every client; nil: a server without users.
    ///   - clock: the server's; nil: each message is a millisecond younger than the one before it,
    ///     from 1970 on.
    public init(user: UserID? = nil, clock: ManualClock? = nil) {
        state = Mutex(MemoryServerState(user: user, clock: clock))
    }

    /// Makes a server without any message, which requires a token of one of these users.
    ///
    /// - Parameters:
    ///   - users: their names; each has a token: ``token(for:)``.
    ///   - clock: the server's; nil: as in ``init(user:clock:)``.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed` for a name that no user has.
    public init(users: [String], clock: ManualClock? = nil) throws {
        state = Mutex(MemoryServerState(user: nil, clock: clock, tokens: [:]))
        for user in users { _ = try token(for: user) }
    }

    /// Makes a server without any message, which requires tokens as a server with `--dev` or
    /// `--keys` does.
    ///
    /// - Parameter tokens: the accepted tokens and their users. A client that shows another, or
    ///   none, is refused for good.
    public init(tokens: [AccessToken: UserID]) {
        state = Mutex(MemoryServerState(user: nil, clock: nil, tokens: tokens))
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
        for socket in state.withLock({ $0.connections.sockets }) { socket.cut() }
    }

    /// How the server misbehaves; takes effect from the next frame on.
    public var faults: MemoryServerFaults {
        get { state.withLock { $0.faults } }
        set { state.withLock { $0.faults = newValue } }
    }

    /// The clients' subscription requests, in order.
    public var requests: [ClientFrame.Subscription] { state.withLock { $0.requests } }

    /// How often it was dialled.
    public var dialled: Int { state.withLock { $0.connections.dialled } }

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
        return state.withLock {
            $0.store(json, in: name, id: id, from: sender, change: change)
        }
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
            (try? ChannelName(channel)).flatMap { state.log(of: $0)?.events } ?? []
        }
    }

    /// Stores many messages with numbers as bodies, as if sent before any subscription.
    ///
    /// - Parameters:
    ///   - channel: their channel.
    ///   - count: how many.
    /// - Throws: ``RepriseCore/RepriseError`` `.badChannelName`.
    public func fill(_ channel: String, with count: Int) throws {
        let name = try ChannelName(channel)
        state.withLock { $0.fill(name, with: count) }
    }

    /// Removes the oldest messages, as a server's retention does.
    ///
    /// - Parameters:
    ///   - channel: the channel.
    ///   - sequence: everything up to here.
    /// - Throws: ``RepriseCore/RepriseError`` `.badChannelName`.
    public func trim(_ channel: String, through sequence: Int64) throws {
        let name = try ChannelName(channel)
        state.withLock { $0.trim(name, through: sequence) }
    }

    /// Replaces the log of a channel, as a restored backup does, and ends every connection.
    ///
    /// Positions are cut back to it.
    ///
    /// - Parameters:
    ///   - channel: the channel.
    ///   - count: how many of its oldest messages are in the new log, under new sequences.
    /// - Throws: ``RepriseCore/RepriseError`` `.badChannelName`.
    public func changeEpoch(_ channel: String, keeping count: Int = 0) throws {
        let name = try ChannelName(channel)
        state.withLock { $0.changeEpoch(of: name, keeping: count) }
        end(code: CloseCode.goingAway.number)
    }

    /// The newest sequence of a channel.
    public func head(of channel: String) -> Int64 {
        state.withLock { state in
            (try? ChannelName(channel)).flatMap { state.log(of: $0)?.head } ?? 0
        }
    }

    // MARK: Connections

    /// Ends every connection as a server does.
    public func end(code: UInt16) {
        for socket in state.withLock({ $0.removeConnections() }) { socket.end(code: code) }
    }

    /// Ends every connection without a close frame.
    public func cut() {
        for socket in state.withLock({ $0.removeConnections() }) { socket.cut() }
    }

    /// Sends a heartbeat with the heads of all channels, falsified as ``faults`` say; it sends none
    /// by itself.
    public func heartbeat() { state.withLock { $0.heartbeat() } }

    /// Sends a frame to every connection, whatever its content.
    public func send(_ frame: ServerFrame) {
        state.withLock { state in
            for id in state.connections.ids { state.connections.push([frame], to: id) }
        }
    }

    /// Opens a connection in memory, whatever the address.
    public func dial(url: String, protocol: String, maximumFrameBytes: Int) async throws
        -> any Socket
    {
        let (id, socket) = state.withLock { $0.open() }
        Task { [weak self] in
            var decoder = FrameDecoder()
            while let bytes = await socket.sent() {
                guard let frame = try? decoder.clientFrame(bytes) else {
                    return socket.end(code: CloseCode.malformedFrame.number)
                }
                self?.state.withLock { $0.receive(frame, from: id) }
            }
        }
        return socket
    }

    // MARK: Tokens

    /// A token of a user, who is known from now on.
    ///
    /// - Parameter user: the name.
    /// - Returns: the newest token that was not revoked, or a new one.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed` for a name that no user has.
    public func token(for user: String) throws -> String {
        let user = try UserID(user)
        return try state.withLock { try $0.token(for: user) }
    }

    /// Refuses all tokens of a user from now on, and ends the user's connections; ``token(for:)``
    /// gives a new one.
    public func revokeTokens(of user: String) {
        let ended = state.withLock { $0.revokeTokens(of: user) }
        for socket in ended { socket.end(code: CloseCode.unauthorized.number) }
    }

    /// How long after its greeting a connection's token is valid: a day.
    public var tokenLifetime: Duration {
        get { state.withLock { $0.tokenLifetime } }
        set { state.withLock { $0.tokenLifetime = newValue } }
    }

    // MARK: Members

    /// Makes a channel private, and sets who may read and publish in it; others are refused from
    /// now on, as by the real server.
    ///
    /// A channel that was never named here is open to every user.
    ///
    /// - Parameters:
    ///   - users: the members; none: nobody.
    ///   - channel: the channel.
    /// - Throws: ``RepriseCore/RepriseError`` `.badChannelName`, `.malformed`.
    public func setMembers(_ users: [String], of channel: String) throws {
        let channel = try ChannelName(channel)
        let users = Set(try users.map { try UserID($0) })
        state.withLock { state in
            state.setMembers(users, of: channel)
            state.endSubscriptions(to: channel)
        }
    }

    /// Gives a channel a title, and tells its members.
    ///
    /// - Parameters:
    ///   - title: nil: none.
    ///   - channel: the channel.
    /// - Throws: ``RepriseCore/RepriseError`` `.badChannelName`.
    public func setTitle(_ title: String?, of channel: String) throws {
        let channel = try ChannelName(channel)
        state.withLock { $0.setTitle(title, of: channel) }
    }

    /// Sets what a user is called.
    ///
    /// - Parameters:
    ///   - profile: all of it.
    ///   - user: the user.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed`.
    public func setProfile(_ profile: Profile, of user: String) throws {
        try profile.validate()
        let user = try UserID(user)
        state.withLock { $0.setProfile(profile, of: user) }
    }

    // MARK: Positions

    /// How far users have read a channel, and received it.
    public func positions(of channel: String) -> [ServerFrame.Position] {
        state.withLock { state in
            guard let name = try? ChannelName(channel) else { return [] }
            return state.positions(of: name)
        }
    }

    /// How many messages a user has not read in a channel, as the real server counts.
    public func unread(of channel: String, for user: String) -> Int {
        state.withLock { state in
            guard let name = try? ChannelName(channel), let user = try? UserID(user) else {
                return 0
            }
            return Int(state.unread(in: name, for: user).count)
        }
    }

    // MARK: Presence

    /// Sets whether a user is there, and tells those who watch him.
    ///
    /// The server tells presence to clients that connect after the first call, as the real one does
    /// with `--presence`: of the members of ``setMembers(_:of:)``, to members. A user of whom
    /// nothing was said is offline. Nothing is gathered or delayed.
    ///
    /// ```swift
    /// try server.setPresence(.online, of: "bob")
    /// ```
    ///
    /// - Parameters:
    ///   - presence: the state.
    ///   - user: the user.
    ///   - seen: of an offline user, when he was there last.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed` for a name that no user has.
    public func setPresence(
        _ presence: PresenceState, of user: String, seen: WallTime? = nil
    ) throws {
        let told = UserPresence(user: try UserID(user), state: presence, seen: seen)
        state.withLock { $0.setPresence(told) }
    }

    /// What a user's clients have last said of themselves: nothing, or idle or in use.
    ///
    /// - Returns: the newest report of each of the user's connections, by no order.
    public func reportedPresence(of user: String) -> [PresenceState] {
        state.withLock { $0.connections.clients(of: user).compactMap(\.presence) }
    }

    /// The channels whose presence a user's clients watch now, by name.
    public func watched(by user: String) -> [String] {
        state.withLock { state in
            let watches = state.connections.clients(of: user).flatMap(\.watches)
            return Set(watches.map(\.channel.text)).sorted()
        }
    }

    // MARK: Pushes

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
        state.withLock { $0.add(phone) }
    }

    /// Sends what is due to every phone, and returns when its app has handled it.
    ///
    /// ```swift
    /// try server.addPhone(notifications, of: "ada", app: client)
    /// try server.post(Note(text: "hello"), to: "order-7", from: "bob")
    /// await server.push()
    /// #expect(notifications.delivered.map(\.request.content.body) == ["hello"])
    /// ```
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
        let sendings = state.withLock { $0.due() }
        for (phone, payload) in sendings { await phone.receive(payload) }
    }
}

/// The routes that Reprise calls are answered as the real server does, every other request by
/// ``answer(_:)``: it is the app's own.
extension MemoryServer: HTTPTransport {
    /// Answers the app's own requests, as its downloads and uploads.
    ///
    /// ```swift
    /// server.answer { call in
    ///     call.method == "GET" ? HTTPAnswer(status: 200, headers: [:], body: photo) : nil
    /// }
    /// ```
    ///
    /// - Parameter answer: the answer; nil: 404.
    public func answer(_ answer: @escaping @Sendable (HTTPCall) -> HTTPAnswer?) {
        state.withLock { $0.answer = answer }
    }

    /// What a user has set; empty if nothing.
    public func settings(of user: String) -> MemorySettings {
        state.withLock { state in
            (try? UserID(user)).map { state.directory[$0] } ?? MemorySettings()
        }
    }

    /// The catalogue of forms of every company, as JSON; nil: 404.
    public var catalogue: String? {
        get { state.withLock { $0.catalogue } }
        set { state.withLock { $0.catalogue = newValue } }
    }

    /// Answers a request, whatever its host and port.
    public func exchange(
        _ request: HTTPCall, head: @Sendable (HTTPHead) async throws -> Void,
        chunk: @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        let (own, app) = state.withLock { (MemoryRoutes.respond(to: request, &$0), $0.answer) }
        if own.status == 404, let answer = app(request) {
            try await head(HTTPHead(status: answer.status, headers: answer.headers))
            if !answer.body.isEmpty { try await chunk(answer.body) }
            return
        }
        let answer = own
        var headers = ["content-length": "\(answer.body.utf8.count)"]
        if !answer.body.isEmpty { headers["content-type"] = "application/json" }
        if let tag = answer.tag { headers["etag"] = tag }
        try await head(HTTPHead(status: answer.status, headers: headers))
        if !answer.body.isEmpty { try await chunk(Array(answer.body.utf8)) }
    }
}
