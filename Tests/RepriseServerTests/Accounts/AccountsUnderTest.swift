import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Synchronization

/// Accounts in a folder of their own, and what they said of changed access.
final class AccountsUnderTest: Sendable {
    struct Change: Hashable {
        let channel: ChannelName
        let user: UserID?
    }

    let folder: TemporaryFolder
    private let implicitChannels: Bool
    private let open = Mutex<Accounts?>(nil)
    private let heard = Mutex<[Change]>([])

    init(implicitChannels: Bool = false) async throws {
        self.implicitChannels = implicitChannels
        folder = try TemporaryFolder()
        try await reopen()
    }

    var accounts: Accounts {
        guard let accounts = open.withLock({ $0 }) else { preconditionFailure("they are closed") }
        return accounts
    }

    /// What was heard since the last time.
    func changes() -> [Change] {
        heard.withLock { heard in
            defer { heard = [] }
            return heard
        }
    }

    func reopen() async throws {
        await close()
        let accounts = try Accounts.open(at: folder.path, implicitChannels: implicitChannels)
        accounts.onAccessChanged { channel, user in
            self.heard.withLock { $0.append(Change(channel: channel, user: user)) }
        }
        open.withLock { $0 = accounts }
    }

    func close() async { await open.withLock { $0.take() }?.close() }

    func remove() async {
        await close()
        folder.remove()
    }
}

let now = WallTime(milliseconds: 1_800_000_000_000)

func principal(_ name: String) throws -> Principal { Principal(user: try UserID(name)) }

extension Accounts {
    /// Beside no log: every channel has a long one.
    static func open(at path: String, implicitChannels: Bool) throws -> Accounts {
        try open(at: path, implicitChannels: implicitChannels, heads: { _ in 1_000_000 })
    }

    @discardableResult
    func setDevice(_ device: RegisteredDevice, of user: UserID) async throws -> RegisteredDevice {
        try await perform(
            SetDevice(
                device.id, of: user, platform: device.platform, pushToken: device.pushToken,
                subscription: device.subscription), at: device.lastSeen)
    }
}

/// Changes at a head that the test says, by the server unless it says by whom.
extension Accounts {
    @discardableResult
    func setChannel(
        _ name: ChannelName, _ settings: ChannelSettings, by who: Principal, at time: WallTime,
        head: Int64
    ) async throws -> ChannelRecord {
        try await perform(SetChannel(name, settings, by: who), at: time, heads: { _ in head })
            .record
    }

    @discardableResult
    func setMember(
        _ user: UserID, role: Member.Role, joined: Int64, in channel: ChannelName,
        by who: Principal = .open, at time: WallTime
    ) async throws -> Member {
        try await perform(
            SetMember(user, role, in: channel, by: who), at: time, heads: { _ in joined }
        ).member
    }

    @discardableResult
    func removeMember(_ user: UserID, from channel: ChannelName) async throws -> Bool {
        try await perform(
            RemoveMember(user, from: channel, by: .open), at: WallTime(milliseconds: 0))
    }
}
