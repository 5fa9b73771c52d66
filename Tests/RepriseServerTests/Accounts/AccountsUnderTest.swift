import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Synchronization
import Testing

/// Where accounts are that the shared tests run against: add another to ``all`` and they must keep
/// the same promises there.
struct AccountsPlace: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Nil for a single server.
    let make: Make?

    typealias Make =
        @Sendable (ManualClock, ClusterView.Configuration) async throws -> any GatewaysUnderTest

    static let all = [single, cluster, nats]

    static let single = AccountsPlace(testDescription: "single", make: nil)

    /// A gateway of two, over a journal that loses, doubles, delays and reorders.
    static let cluster = AccountsPlace(testDescription: "cluster") { clock, configuration in
        try ClusterStore(clock: clock, configuration)
    }

    /// A gateway of two, over a real nats-server.
    static let nats = AccountsPlace(testDescription: "NATS") { clock, configuration in
        try await NatsStore(clock: clock, configuration)
    }
}

/// Accounts in a folder of their own, and what they said of changed access.
final class AccountsUnderTest: Sendable {
    struct Change: Hashable {
        let channel: ChannelName
        let user: UserID?
    }

    let folder: TemporaryFolder
    private let implicitChannels: Bool
    /// The gateways that have them; nil for a single server.
    private let store: (any GatewaysUnderTest)?
    private let clock: ManualClock
    private let open = Mutex<Accounts?>(nil)
    private let heard = Mutex<[Change]>([])

    init(_ place: AccountsPlace = .single, implicitChannels: Bool = false) async throws {
        self.implicitChannels = implicitChannels
        let clock = ManualClock(milliseconds: now.milliseconds)
        self.clock = clock
        var configuration = ClusterStore.configuration
        configuration.implicitChannels = implicitChannels
        store = try await place.make?(clock, configuration)
        folder = try store?.folder ?? TemporaryFolder()
        try await reopen()
    }

    var accounts: Accounts {
        if let store { return store.gateways[0].accounts }
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

    /// Gives a channel so many messages, where its head is that of a log, and not what a test says.
    func reach(_ head: Int64, in channel: ChannelName) async throws {
        guard let store else { return }
        let missing = head - (try store.log.head(of: channel))
        if missing > 0 { try await store.fill(channel, Int(missing)) }
    }

    /// Sets the time of the changes from now on, where a journal has it, and not the test.
    func set(_ time: WallTime) { clock.setWall(milliseconds: time.milliseconds) }

    func reopen() async throws {
        await close()
        let accounts: Accounts
        if let store {
            try await store.reopen()
            accounts = self.accounts
        } else {
            accounts = try Accounts.open(at: folder.path, implicitChannels: implicitChannels)
            open.withLock { $0 = accounts }
        }
        accounts.onAccessChanged { channel, user in
            self.heard.withLock { $0.append(Change(channel: channel, user: user)) }
        }
    }

    func close() async {
        await store?.close()
        await open.withLock { $0.take() }?.close()
    }

    /// In a cluster, both gateways must have the same.
    func remove() async {
        if let store { return await store.remove() }
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
