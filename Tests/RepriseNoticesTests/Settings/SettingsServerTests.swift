import Foundation
import Reprise
import RepriseChannels
import RepriseCore
import RepriseNIO
import RepriseNotices
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

@Suite("Settings on a real server", .serialized, .timeLimit(.minutes(2)))
struct SettingsServerTests {
    @Test(
        "two devices of a person have the same settings, also over a kill of the server; a token that moves to another person is theirs"
    )
    func devices() async throws {
        let (data, one, two) = (
            try TemporaryFolder(), try TemporaryFolder(), try TemporaryFolder()
        )
        var server = try DevelopmentServer(in: data.url)
        let port = server.port
        let (room, bob) = (try ChannelName("room"), try UserID("bob"))
        let first = try await server.device("ada", in: one)
        let second = try await server.device("ada", in: two)
        let running = [first, second].map { device in Task { try? await device.run() } }
        guard let mine = first.notices, let other = second.notices else { return }
        try await mine.mute(channel: room, until: nil)
        try await mine.registered(pushToken: [0xaa, 0xbb])
        try await eventually("it is told") {
            mine.settings.channels[room]?.status == .told && mine.settings.push == .told
        }
        #expect(try await server.ask("/v1/mutes", as: "ada").contains(#""channelId":"room""#))
        #expect(try await server.ask("/v1/devices", as: "ada").contains(#""hasPushToken":true"#))

        server.kill()
        try await mine.setQuietHours(QuietHours(from: "22:00", to: "07:00", zone: "Europe/Berlin"))
        try await mine.mute(person: bob)
        try await eventually("it is noticed") { mine.settingsFailure != nil }
        server = try DevelopmentServer(in: data.url, port: port)
        await first.reconnect()
        try await eventually("it is told") {
            mine.settings.quiet?.status == .told
                && mine.settings.people[bob]?.status == .told
        }
        await second.reconnect()
        other.connectionChanged(isOpen: false)
        other.connectionChanged(isOpen: true)
        try await eventually("the other device has it") {
            other.settings.quiet?.status == .told
                && other.settings.channels[room]?.status == .told
                && other.settings.people.count == 1
        }

        let third = try TemporaryFolder()
        let guest = try await server.device("grace", in: third)
        let visiting = Task { try? await guest.run() }
        try await guest.notices?.registered(pushToken: [0xaa, 0xbb])
        try await eventually("the token is grace's") {
            try await server.ask("/v1/devices", as: "grace").contains(#""hasPushToken":true"#)
        }
        #expect(try await !server.ask("/v1/devices", as: "ada").contains(#""hasPushToken":true"#))
        for task in running + [visiting] {
            task.cancel()
            _ = await task.value
        }
        for device in [first, second, guest] { await device.close() }
        server.kill()
    }
}
