import RepriseCore
import RepriseServer
import RepriseWire

/// What a server knows of people: whose a token is, and who is in which channel.
///
/// The rules are the shipping ones. The rows of members outlive the process, on the disk of the
/// log; the same in all tiers.
final class SimulatedAccounts {
    struct Seat: Hashable {
        var channel: ChannelName
        var user: UserID
    }

    /// A membership: from its beginning to its end it has one number.
    struct Membership: Hashable {
        var number: Int
        var member: Member
        /// When the head was read behind which he joins: what is published from then on is his.
        var from: Duration
    }

    static let audience = "reprise"

    let channels: [ChannelName: ChannelSettings]
    /// What the signatures of tokens vouch for.
    var signed: [AccessToken: TokenClaims] = [:]
    private(set) var members = SimulatedRows<Seat, Membership>()
    private var backup: [Seat: Membership] = [:]
    private var numbers = 0
    private let rules = TokenRules(audience: audience)

    init(channels: [ChannelName: ChannelSettings]) { self.channels = channels }

    var leeway: Duration { rules.leeway }

    // MARK: Tokens

    func principal(of token: AccessToken?, now: WallTime) -> Result<Principal, RepriseError> {
        guard let claims = token.flatMap({ signed[$0] }) else {
            return .failure(RepriseError(.unauthorized, "The signature is wrong."))
        }
        do {
            return .success(try rules.principal(of: claims, now: now))
        } catch {
            return .failure(error as? RepriseError ?? RepriseError(.internal, "\(error)"))
        }
    }

    // MARK: Members

    func grant(_ who: Principal, in channel: ChannelName) -> Grant {
        let record = channels[channel].map {
            ChannelRecord(
                name: channel, settings: $0, maker: nil, made: WallTime(milliseconds: 0))
        }
        let member = who.user.flatMap { members.rows[Seat(channel: channel, user: $0)]?.member }
        return Grant(who, record, member, implicitChannels: true)
    }

    func grant(_ user: UserID, in channel: ChannelName) -> Grant {
        grant(Principal(user: user), in: channel)
    }

    /// Who is there already stays as he is.
    ///
    /// - Returns: whether it is durable; nil if nothing was to be written.
    func seat(
        _ seat: Seat, as member: Member, from: Duration, _ fate: () -> SimulatedDisk.Fate
    ) -> Bool? {
        guard members.rows[seat] == nil else { return nil }
        numbers += 1
        return members.write(seat, Membership(number: numbers, member: member, from: from), fate())
    }

    /// - Returns: whether it is durable; nil if nothing was to be written.
    func unseat(_ seat: Seat, _ fate: () -> SimulatedDisk.Fate) -> Bool? {
        members.rows[seat] == nil ? nil : members.write(seat, nil, fate())
    }

    // MARK: As a whole

    func crash(keepsUnsynced: Bool) { members.crash(keepsUnsynced: keepsUnsynced) }

    func backUp() { backup = members.rows }

    func restore() { members.replace(by: backup) }

    /// Nobody joined behind the head: of what `Backup` does when it restores.
    func cutBack(_ head: (ChannelName) -> Int64) {
        var rows = members.rows
        for (seat, row) in members.rows {
            rows[seat]?.member.joined = min(row.member.joined, head(seat.channel))
        }
        members.replace(by: rows)
    }
}
