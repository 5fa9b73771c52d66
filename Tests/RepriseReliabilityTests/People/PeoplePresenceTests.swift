import Reprise
import RepriseChannels
import RepriseCore
import RepriseTestSupport
import RepriseWire
import Synchronization
import Testing

/// Presence through the SDK, over sockets, with the real server and its files.
@Suite("Presence of people at the real server", .timeLimit(.minutes(2)))
struct PeoplePresenceTests {
    private let ada = UserID(unchecked: "ada")
    private let bob = UserID(unchecked: "bob")
    private let carl = UserID(unchecked: "carl")

    /// Somebody who looks at a channel until this ends.
    private final class Look: Sendable {
        private let values = Mutex<[ChannelPresence]>([])
        private let task = Mutex<Task<Void, Never>?>(nil)

        init(_ stream: AsyncStream<ChannelPresence>) {
            let task = Task { [weak self] in
                for await value in stream { self?.values.withLock { $0.append(value) } }
            }
            self.task.withLock { $0 = task }
        }

        deinit { end() }

        func end() { task.withLock { $0 }?.cancel() }

        var newest: ChannelPresence { values.withLock { $0.last ?? .unknown } }
        var all: [ChannelPresence] { values.withLock(\.self) }
        /// Of all but who made the channel.
        var states: [String: String] {
            var states: [String: String] = [:]
            for (user, one) in newest.users where user.text != "root" {
                states[user.text] = one.state.rawValue
            }
            return states
        }

        func seen(_ user: UserID) -> WallTime? { newest.users[user]?.seen }
    }

    /// Runs `body` with a server where Ada and Bob share a channel, and the devices that it opens.
    private func room(
        presence: Bool = true, _ body: (PeopleServer, Devices) async throws -> Void
    ) async throws {
        try await PeopleServer.with(presence: presence) { server in
            try await server.make("room")
            for user in [ada, bob] { try await server.add(user, to: "room") }
            let devices = Devices(server)
            do { try await body(server, devices) } catch { Issue.record("\(error)") }
            for device in devices.all.withLock(\.self) { await device.finish() }
        }
    }

    private final class Devices: Sendable {
        let server: PeopleServer
        let all = Mutex<[PersonsDevice]>([])

        init(_ server: PeopleServer) { self.server = server }

        /// Opens one whose app has not said yet that it is in the foreground, where it does.
        func launch(_ user: UserID) async throws -> PersonsDevice {
            try await open(user, reportsPhases: true)
        }

        func open(_ user: UserID, reportsPhases: Bool = false) async throws -> PersonsDevice {
            let device = try await PersonsDevice.open(server, user, reportsPhases: reportsPhases)
            all.withLock { $0.append(device) }
            try await device.start()
            try await becomes("\(user) is connected", true) { await device.isConnected }
            return device
        }
    }

    @Test("online, idle in the background, online again, gone: each is seen, and when he was there")
    func states() async throws {
        try await room { server, devices in
            let phone = try await devices.open(ada)
            let look = Look(try phone.channel("room").presence)
            try await becomes("nobody is there", ["bob": "offline"]) { look.states }
            #expect(look.seen(bob) == nil)
            let bobs = try await devices.open(bob)
            try await becomes("Bob comes", ["bob": "online"]) { look.states }
            _ = bobs.reprise.channels.enter(.background(granted: .seconds(600)))
            try await becomes("he puts it away", ["bob": "idle"]) { look.states }
            let tablet = try await devices.open(bob)
            try await becomes("he has another", ["bob": "online"]) { look.states }
            tablet.reprise.channels.setIdle(true)
            try await becomes("he does nothing", ["bob": "idle"]) { look.states }
            await bobs.reprise.channels.foreground()
            try await becomes("he is back", ["bob": "online"]) { look.states }
            let before = server.wall.wall()
            await tablet.stop()
            await bobs.stop()
            try await becomes("he is gone", ["bob": "offline"]) { look.states }
            let seen = try #require(look.seen(bob))
            #expect(seen >= before && seen <= server.wall.wall())
        }
    }

    @Test("an app that a push launches is idle, and leaves when its user was there last as it was")
    func launched() async throws {
        try await room { server, devices in
            let phone = try await devices.open(ada)
            let look = Look(try phone.channel("room").presence)
            let bobs = try await devices.open(bob)
            try await becomes("Bob comes", ["bob": "online"]) { look.states }
            await bobs.stop()
            try await becomes("he is gone", ["bob": "offline"]) { look.states }
            let seen = try #require(look.seen(bob))
            let count = look.all.count
            let tablet = try await devices.launch(bob)
            try await becomes("a push launches it", ["bob": "idle"]) { look.states }
            await tablet.stop()
            try await becomes("it is frozen", ["bob": "offline"]) { look.states }
            #expect(look.seen(bob) == seen)
            #expect(look.all.dropFirst(count).allSatisfy { $0.users[bob]?.state != .online })
            let pad = try await devices.launch(bob)
            try await becomes("so is another", ["bob": "idle"]) { look.states }
            await pad.reprise.channels.foreground()
            try await becomes("he opens it", ["bob": "online"]) { look.states }
        }
    }

    @Test("a last-seen time survives a restart of the server; a hidden user is offline without one")
    func restartAndHiding() async throws {
        try await room { server, devices in
            let bobs = try await devices.open(bob)
            await bobs.stop()
            try await server.stop()
            try await server.start()
            let phone = try await devices.open(ada)
            let look = Look(try phone.channel("room").presence)
            try await becomes("gone before", ["bob": "offline"]) { look.states }
            #expect(look.seen(bob) != nil)
            try await server.call("PUT", "/v1/presence", #"{"hidden":true}"#, as: bob)
            try await becomes("never seen", true) {
                look.states == ["bob": "offline"] && look.seen(bob) == nil
            }
            let count = look.all.count
            let tablet = try await devices.open(bob)
            // Carl comes later: when he is seen, Bob would have been.
            try await server.add(carl, to: "room")
            _ = try await devices.open(carl)
            try await becomes("Carl", ["bob": "offline", "carl": "online"]) { look.states }
            #expect(look.all.dropFirst(count).allSatisfy { $0.users[bob]?.state == .offline })
            let answer = try await server.call("GET", "/v1/presence", as: bob)
            #expect(answer["hidden"] as? Bool == true)
            try await server.call("PUT", "/v1/presence", #"{"hidden":false}"#, as: bob)
            try await becomes("shown", "online") { look.states["bob"] }
            await tablet.stop()
        }
    }

    @Test("presence is refused to a user who is not a member, and ends for one who is removed")
    func membership() async throws {
        try await room { server, devices in
            let carls = try await devices.open(carl)
            let stranger = Look(try carls.channel("room").presence)
            try await becomes("refused", .refused(.forbidden)) { stranger.newest }
            let missing = Look(try carls.channel("no-such-room").presence)
            try await becomes("the same words", .refused(.forbidden)) { missing.newest }
            try await server.add(carl, to: "room")
            try await becomes("a member", ["ada": "offline", "bob": "offline"]) { stranger.states }
            _ = try await devices.open(bob)
            try await becomes("Bob", ["ada": "offline", "bob": "online"]) { stranger.states }
            try await server.remove(carl, from: "room")
            try await becomes("refused again", .refused(.forbidden)) { stranger.newest }
            let count = stranger.all.count
            // Bob sees Ada come: Carl would have by then.
            let bobs = try await devices.open(bob)
            let look = Look(try bobs.channel("room").presence)
            try await becomes("Ada is away", ["ada": "offline"]) { look.states }
            _ = try await devices.open(ada)
            try await becomes("Ada is there", ["ada": "online"]) { look.states }
            #expect(stranger.all.count == count)
        }
    }

    @Test("of a large channel named members are told, and not all", .limit("presence.members"))
    func large() async throws {
        try await room { server, devices in
            // With Ada, Bob and who made the channel one too many.
            for number in 1...98 {
                try await server.add(UserID(unchecked: "user\(number)"), to: "room")
            }
            let phone = try await devices.open(ada)
            let all = Look(try phone.channel("room").presence)
            try await becomes("too many", .refused(.tooManyMembers)) { all.newest }
            let some = Look(try phone.channel("room").presence(of: [bob, carl]))
            try await becomes("Bob is a member, Carl is not", ["bob": "offline"]) { some.states }
            _ = try await devices.open(bob)
            try await becomes("Bob comes", ["bob": "online"]) { some.states }
            #expect(all.newest == .refused(.tooManyMembers))
            some.end()
            try await server.remove(UserID(unchecked: "user1"), from: "room")
            try await becomes("few enough", "online") { all.states["bob"] }
        }
    }

    @Test("a server without presence says so to the app, and over HTTP")
    func notOffered() async throws {
        try await room(presence: false) { server, devices in
            let phone = try await devices.open(ada)
            let look = Look(try phone.channel("room").presence)
            try await becomes("not offered", .refused(.notOffered)) { look.newest }
            phone.reprise.channels.setIdle(true)
            await #expect(throws: RepriseError.self) {
                _ = try await server.call("PUT", "/v1/presence", #"{"hidden":true}"#, as: ada)
            }
            #expect(await phone.isConnected)
        }
    }
}
