import RepriseCore
import RepriseWire

/// The connections of a ``MemoryServer``.
struct MemoryConnections {
    private struct Connection {
        let socket = MemorySocket()
        /// Nil before the first subscription.
        var channels: Set<ChannelName>?
        var isSilent = false
    }

    /// What a connection has said of itself.
    struct Client {
        var user: UserID?
        var device: String?
        var watches: [ClientFrame.Watch] = []
        var presence: PresenceState?
    }

    /// How often it was dialled.
    private(set) var dialled = 0
    private(set) var clients: [Int: Client] = [:]
    private var connections: [Int: Connection] = [:]

    /// What the connection has said of itself.
    subscript(_ id: Int) -> Client {
        get { clients[id] ?? Client() }
        set { clients[id] = newValue }
    }

    func clients(of user: String) -> [Client] {
        clients.values.filter { $0.user?.text == user }
    }

    // MARK: Sockets

    var ids: [Int] { connections.keys.sorted() }

    var sockets: [MemorySocket] { connections.values.map(\.socket) }

    func isOpen(_ id: Int) -> Bool { connections[id] != nil }

    mutating func open() -> (id: Int, socket: MemorySocket) {
        dialled += 1
        let connection = Connection()
        connections[dialled] = connection
        return (dialled, connection.socket)
    }

    /// - Returns: its socket, which is still open.
    mutating func remove(_ id: Int) -> MemorySocket? {
        connections.removeValue(forKey: id)?.socket
    }

    /// - Returns: their sockets, which are still open.
    mutating func removeAll(of user: String) -> [MemorySocket] {
        clients.filter { $0.value.user?.text == user }.keys.compactMap { id in
            clients[id] = nil
            return remove(id)
        }
    }

    /// - Returns: their sockets, which are still open.
    mutating func removeAll() -> [MemorySocket] {
        defer { (connections, clients) = ([:], [:]) }
        return sockets
    }

    /// Nothing is sent on it any more.
    mutating func silence(_ id: Int) { connections[id]?.isSilent = true }

    func push(_ frames: [ServerFrame], to id: Int) {
        guard let connection = connections[id], !connection.isSilent else { return }
        connection.socket.push(frames.map { $0.encoded() })
    }

    // MARK: Subscriptions

    /// The channels of each connection that has subscribed.
    var subscriptions: [(id: Int, channels: Set<ChannelName>)] {
        connections.compactMap { id, connection in
            connection.channels.map { (id: id, channels: $0) }
        }
    }

    func subscribers(of channel: ChannelName) -> [Int] {
        connections.filter { $0.value.channels?.contains(channel) == true }.map(\.key)
    }

    func isSubscribed(_ id: Int, to channel: ChannelName) -> Bool {
        connections[id]?.channels?.contains(channel) == true
    }

    mutating func subscribe(_ id: Int, to channel: ChannelName) {
        guard var connection = connections[id] else { return }
        connection.channels = (connection.channels ?? []).union([channel])
        connections[id] = connection
    }

    mutating func unsubscribe(_ id: Int, from channel: ChannelName) {
        connections[id]?.channels?.remove(channel)
    }

    func send(_ frames: [ServerFrame], toSubscribersOf channel: ChannelName) {
        for id in subscribers(of: channel) { push(frames, to: id) }
    }
}
