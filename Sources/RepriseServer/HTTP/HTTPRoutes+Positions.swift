import HTTPTypes
import Hummingbird
import RepriseCore
import RepriseWire

/// The read and delivered positions of a channel's users.
extension HTTPRoutes {
    private static let positions: RouterPath = "/v1/channels/:channel/positions"

    func addPositions<Context: RequestContext>(to router: Router<Context>) {
        on(.get, Self.positions, in: router) { try await positions($0) }
        on(.put, Self.positions, in: router) { try await move($0) }
        on(.get, "/v1/unread", in: router) { try await everywhere($0) }
    }

    private func positions(_ call: HTTPRouteCall) async throws -> Response {
        let channel = try call.channel()
        let grant = try await readingGrant(call, in: channel)
        let all = try await services.accounts.positions(
            of: channel, first: call.who.user, limit: WireLimits.positions)
        let mine = all.first { $0.user == call.who.user }
        let unread = try await unread(of: call.who.user, in: channel, grant, read: mine?.read ?? 0)
        let state = try await services.log.state(of: channel)
        return try Response(
            PositionsAnswer(
                positions: all.map(PositionAnswer.init), unread: unread?.count,
                mentions: unread?.mentionsOrNil,
                head: unread?.head ?? state.head))
    }

    /// What the caller has not read, over all channels of which he is a member.
    private func everywhere(_ call: HTTPRouteCall) async throws -> Response {
        let user = try call.me()
        return try await services.unreadTurns.take(of: user) { try await everywhere(of: user) }
    }

    private func everywhere(of user: UserID) async throws -> Response {
        let starts =
            try await services.accounts.positions.unreadStarts([(user, channels: nil)]).first ?? []
        let counts = try await services.log.unread(
            starts.map { UnreadQuestion(user: user, channel: $0.0, after: $0.after) })
        let epoch = try await services.log.state(of: .directory(of: user)).epoch
        return try Response(
            UnreadAnswer(
                epoch: epoch.text,
                channels: zip(starts, counts).filter { $1.count > 0 }.map { start, unread in
                    .init(
                        channelId: start.0.text, unread: unread.count,
                        mentions: unread.mentionsOrNil, head: unread.head)
                }))
    }

    /// A user's unread count; nil without a user.
    func unread(
        of user: UserID?, in channel: ChannelName, _ grant: Grant, read: Int64
    ) async throws -> Unread? {
        guard let user else { return nil }
        let start = Unread.start(read: read, joined: grant.unreadAfter, floor: 0)
        return try await services.log.unread(of: user, in: channel, after: start)
    }

    private func move(_ call: HTTPRouteCall) async throws -> Response {
        let channel = try call.channel()
        let user = try call.me()
        return try await withObject(call, only: RequestFields.position) {
            _ = try await readingGrant(call, in: channel)
        } read: {
            try Self.receipt(
                $0,
                MovePosition(
                    channel: channel, user: user, isAdmin: call.who.isAdmin, device: nil))
        } _: { (move: MovePosition) in
            let position = try await services.accounts.move(move)
            try await services.moved(channel, position)
            return try Response(PositionAnswer(position))
        }
    }

    private static func receipt(
        _ object: Envelope, _ empty: MovePosition
    ) throws -> MovePosition {
        var move = empty
        let range = 0...WireLimits.greatestSequence
        move.read = try object.number("read", in: range)
        move.delivered = try object.number("delivered", in: range)
        if object.optional("device") != nil { move.device = try object.id("device") }
        guard move.read != nil || move.delivered != nil else {
            throw RepriseError(.malformed, "Say read, delivered, or both.")
        }
        guard move.delivered == nil || move.device != nil else {
            throw RepriseError(.malformed, "Say on which device it is delivered.")
        }
        return move
    }
}

private struct PositionsAnswer: Encodable {
    let positions: [PositionAnswer]
    let unread: Int64?
    let mentions: Int64?
    let head: Int64
}

extension Unread {
    /// Nil: none.
    var mentionsOrNil: Int64? { mentions > 0 ? mentions : nil }
}

private struct UnreadAnswer: Encodable {
    struct Channel: Encodable {
        let channelId: String
        let unread: Int64
        let mentions: Int64?
        let head: Int64
    }

    let epoch: String
    let channels: [Channel]
}

private struct PositionAnswer: Encodable {
    let user: String
    let read: Int64
    let delivered: Int64

    init(_ position: ServerFrame.Position) {
        user = position.user.text
        read = position.read
        delivered = position.delivered
    }
}
