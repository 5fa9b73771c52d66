import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseWire
import Synchronization

/// Accounts in memory that can be made to hesitate and to fail: whoever is not mentioned may do
/// everything.
final class ScriptedAccounts: ChannelAccounts {
    struct Place: Hashable {
        let channel: ChannelName
        let user: UserID
    }

    struct State {
        var grants: [Place: Grant] = [:]
        var positions: [Place: ServerFrame.Position] = [:]
        var members: [ChannelName: Int] = [:]
        var changed: (@Sendable (ChannelName, UserID?) -> Void)?
        var delay: Duration?
        var moveDelay: Duration?
        var failures = 0
        var moveFailures = 0
        /// Every channel's head, which no position exceeds.
        var head: Int64 = .max
        /// How long the answer to a move to this message is on its way, once it is durable.
        var answerDelays: [Int64: Duration] = [:]
        /// Whether positions that are read from now on stay on their way, until they are released.
        var holdsPositions = false
        var releasesPositions = false
        /// Whether questions wait for their answers.
        var holdsAnswers = false
        /// Whether grants that were found stay on their way.
        var holdsGrants = false
        var questions = 0
        var asked: [ChannelName] = []
        var moves = 0
        /// How often positions were read.
        var positionReads = 0
        var devices: Set<EntryID> = []
    }

    let state = Mutex(State())

    func change(_ body: (inout State) -> Void) { state.withLock { body(&$0) } }

    /// Sets what a user may do, and tells the gateway.
    func set(_ grant: Grant, of user: UserID, in channel: ChannelName) {
        let changed = state.withLock { state in
            state.grants[Place(channel: channel, user: user)] = grant
            return state.changed
        }
        changed?(channel, user)
    }

    /// Changes what users may do in a channel by its settings, and tells the gateway.
    func changeSettings(of channel: ChannelName, _ body: (inout State) -> Void) {
        let changed = state.withLock { state in
            body(&state)
            return state.changed
        }
        changed?(channel, nil)
    }

    func grant(_ who: Principal, in channel: ChannelName) async throws -> Grant {
        if let delay = state.withLock({ $0.delay }) { try await Task.sleep(for: delay) }
        try await wait { $0.holdsAnswers }
        let grant: Grant = try state.withLock { state in
            state.questions += 1
            state.asked.append(channel)
            guard state.failures == 0 else {
                state.failures -= 1
                throw RepriseError(.diskFailed, "The disk failed, as the test wants.")
            }
            guard let user = who.user, !who.isAdmin else { return .everything }
            return state.grants[Place(channel: channel, user: user)]
                ?? Grant(mayRead: true, mayPublish: true)
        }
        try await wait { $0.holdsGrants }
        return grant
    }

    func move(_ move: MovePosition) async throws -> ServerFrame.Position {
        if let delay = state.withLock({ $0.moveDelay }) { try await Task.sleep(for: delay) }
        let (position, delay) = try state.withLock { state in
            guard state.moveFailures == 0 else {
                state.moveFailures -= 1
                throw RepriseError(.diskFailed, "The disk failed, as the test wants.")
            }
            let place = Place(channel: move.channel, user: move.user)
            guard state.grants[place]?.mayRead ?? true else {
                throw RepriseError(.refused, "This user may not read this channel.")
            }
            state.moves += 1
            var position =
                state.positions[place] ?? .init(user: move.user, read: 0, delivered: 0)
            position.read = max(position.read, min(move.read ?? 0, state.head))
            position.delivered = max(
                position.delivered, min(move.delivered ?? 0, state.head))
            state.positions[place] = position
            return (position, move.read.flatMap { state.answerDelays[$0] })
        }
        if let delay { try await Task.sleep(for: delay) }
        return position
    }

    func positions(
        of channel: ChannelName, first: UserID?, limit: Int
    ) async throws -> [ServerFrame.Position] {
        let (found, isHeld) = state.withLock { state in
            state.positionReads += 1
            let all = state.positions.filter { $0.key.channel == channel }.values
            let own = first.map { first in
                all.first { $0.user == first } ?? .init(user: first, read: 0, delivered: 0)
            }
            let others = all.filter { $0.user != first }.sorted { $0.user < $1.user }
            let found = Array(([own].compactMap { $0 } + others).prefix(limit))
            return (found, state.holdsPositions)
        }
        if isHeld { try await wait { !$0.releasesPositions } }
        return found
    }

    private func wait(while holds: (State) -> Bool) async throws {
        while state.withLock({ holds($0) }) { try await Task.sleep(for: .milliseconds(1)) }
    }

    var tellsDirectories: Bool { false }

    func memberCount(of channel: ChannelName) async throws -> Int {
        state.withLock { $0.members[channel] ?? 2 }
    }

    func onAccessChanged(_ body: @escaping @Sendable (ChannelName, UserID?) -> Void) {
        state.withLock { $0.changed = body }
    }

    func sawDevice(_ id: EntryID, of user: UserID) async throws {
        state.withLock { _ = $0.devices.insert(id) }
    }
}

/// Takes the middle part of a token for the user's name; `admin` in the first part makes an admin.
struct TrustingAuthenticator: Authenticating {
    let leeway: Duration = .zero

    func principal(of token: AccessToken?) async throws -> Principal {
        guard let token else { throw RepriseError(.unauthorized, "A token is asked for.") }
        let parts = token.secret.split(separator: ".", omittingEmptySubsequences: false)
        return Principal(
            user: try UserID(String(parts[1])), isAdmin: parts[0] == "admin",
            expires: WallTime(milliseconds: 4_000_000_000_000))
    }
}

extension RunningServer {
    /// Runs `body` against a server that knows users.
    static func withUsers(
        _ limits: ServerLimits = ServerLimits(), log: MemoryLog? = nil,
        _ body: (RunningServer, ScriptedAccounts) async throws -> Void
    ) async throws {
        let accounts = ScriptedAccounts()
        let admission = Admission(authenticator: TrustingAuthenticator(), accounts: accounts)
        try await with(limits, log: log, admission: admission) { try await body($0, accounts) }
    }

    /// A client whose user has that name; an admin's if told so.
    func client(
        as name: String, isAdmin: Bool = false, device: EntryID = .random(),
        receiveBuffer: Int32? = nil
    ) async throws -> TestClient {
        let client = try await client(hello: false, receiveBuffer: receiveBuffer)
        try await client.hello(as: name, isAdmin: isAdmin, device: device)
        guard case .welcome(let welcome) = try await client.nextFrame(),
            welcome.session?.user.text == name
        else { throw PlainSocket.Failure(description: "no welcome for \(name)") }
        return client
    }
}

extension TestClient {
    func hello(
        as name: String, isAdmin: Bool = false, device: EntryID = .random()
    ) async throws {
        let token = try AccessToken("\(isAdmin ? "admin" : "user").\(name).x")
        try await send(.hello(.init(device: device, client: "test", token: token)))
    }

    /// Subscribes and reads up to `sync_complete`.
    @discardableResult
    func subscribe(
        _ channel: ChannelName, coverage: Coverage = Coverage()
    ) async throws -> [ServerFrame] {
        let epoch = coverage.isEmpty ? nil : try Epoch("e1")
        try await send(.subscribe([.init(channel: channel, epoch: epoch, coverage: coverage)]))
        var frames: [ServerFrame] = []
        while true {
            let frame = try await nextFrame()
            frames.append(frame)
            if case .syncComplete(let complete) = frame, complete.channel == channel {
                return frames
            }
        }
    }

    /// Asks a question whose answer comes after all that was sent before, and returns that.
    func everythingSoFar() async throws -> [ServerFrame] {
        try await socket.send(Self.frame(0x89, Array("now".utf8)))
        var frames: [ServerFrame] = []
        while true {
            switch try await next() {
            case .frame(let frame): frames.append(frame)
            case .pong: return frames
            case .ping: continue
            case .close, .ended: throw PlainSocket.Failure(description: "ended")
            }
        }
    }
}

func user(_ name: String) -> UserID {
    do { return try UserID(name) } catch { preconditionFailure("\(error)") }
}
