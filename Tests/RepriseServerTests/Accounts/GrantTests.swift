import RepriseCore
import RepriseServer
import RepriseWire
import Testing

@Suite("Grants")
struct GrantTests {
    enum Who: String, CaseIterable { case open, nobody, admin, stranger, member, owner }

    struct Row: CustomStringConvertible {
        let who: Who
        let visibility: ChannelSettings.Visibility?
        var history: ChannelSettings.History = .all
        var implicit = false
        let grant: Grant

        var description: String {
            "\(who), \(visibility.map { "\($0)" } ?? "not made"), \(history), implicit \(implicit)"
        }
    }

    static let everything = Grant(mayRead: true, mayPublish: true, mayManage: true)
    static let memberJoined: Int64 = 7
    static let rows: [Row] = [
        Row(who: .open, visibility: nil, grant: .everything),
        Row(who: .open, visibility: .private, history: .sinceJoin, grant: .everything),
        Row(who: .nobody, visibility: .public, grant: .nothing),
        Row(who: .nobody, visibility: nil, implicit: true, grant: .nothing),
        Row(who: .admin, visibility: nil, grant: .everything),
        Row(who: .admin, visibility: .private, history: .sinceJoin, grant: .everything),
        Row(who: .stranger, visibility: nil, grant: .nothing),
        Row(
            who: .stranger, visibility: nil, implicit: true,
            grant: Grant(mayRead: true, mayPublish: true)),
        Row(who: .stranger, visibility: .public, grant: Grant(mayRead: true, mayPublish: true)),
        Row(who: .stranger, visibility: .private, grant: .nothing),
        Row(who: .stranger, visibility: .private, implicit: true, grant: .nothing),
        Row(
            who: .member, visibility: .public, history: .sinceJoin,
            grant: Grant(
                mayRead: true, mayPublish: true, isMember: true, unreadAfter: memberJoined)),
        Row(
            who: .member, visibility: .private,
            grant: Grant(
                mayRead: true, mayPublish: true, isMember: true, unreadAfter: memberJoined)),
        Row(
            who: .member, visibility: .private, history: .sinceJoin,
            grant: Grant(
                mayRead: true, mayPublish: true, joined: memberJoined, isMember: true,
                unreadAfter: memberJoined)),
        Row(
            who: .owner, visibility: .private, history: .sinceJoin,
            grant: Grant(mayRead: true, mayPublish: true, mayManage: true, isMember: true)),
        Row(
            who: .owner, visibility: .public,
            grant: Grant(mayRead: true, mayPublish: true, mayManage: true, isMember: true)),
        Row(who: .stranger, visibility: .inbox, grant: Grant(mayRead: false, mayPublish: true)),
        Row(who: .nobody, visibility: .inbox, grant: .nothing),
        Row(
            who: .owner, visibility: .inbox,
            grant: Grant(mayRead: true, mayPublish: true, mayManage: true, isMember: true)),
        Row(who: .admin, visibility: .inbox, grant: .everything),
    ]

    @Test(
        "follow the asking user, the channel's visibility and its history",
        arguments: AccountsPlace.all, [false, true])
    func table(place: AccountsPlace, implicit: Bool) async throws {
        let test = try await AccountsUnderTest(place, implicitChannels: implicit)
        for (number, row) in Self.rows.enumerated() where row.implicit == implicit {
            let room = try ChannelName("room-\(number)")
            if let visibility = row.visibility {
                let settings = ChannelSettings(visibility: visibility, history: row.history)
                try await test.accounts.setChannel(
                    room, settings, by: try principal("olga"), at: now, head: 0)
                // The members of an inbox are its owners.
                if visibility != .inbox {
                    try await test.reach(Self.memberJoined, in: room)
                    try await test.accounts.setMember(
                        try UserID("mike"), role: .member, joined: Self.memberJoined, in: room,
                        at: now)
                }
            }
            let who: Principal =
                switch row.who {
                case .open: .open
                case .nobody: .nobody
                case .admin: Principal(user: try UserID("root"), isAdmin: true)
                case .stranger: try principal("sam")
                case .member: try principal("mike")
                case .owner: try principal("olga")
                }
            #expect(try await test.accounts.grant(who, in: room) == row.grant, "\(row)")
        }
        await test.remove()
    }
}
