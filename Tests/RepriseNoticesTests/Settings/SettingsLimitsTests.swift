import Reprise
import RepriseCore
import RepriseNotices
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

@Suite("The bounds of settings", .timeLimit(.minutes(2)))
struct SettingsLimitsTests {
    @Test(
        "an answer of 4 MiB is read, one byte more is not, and waiting settings are sent later",
        .limit("noticeSettings.server"))
    func answer() async throws {
        let server = ScriptedSettingsServer()
        let room = try ChannelName("room")
        let answer: @Sendable (Int) -> ScriptedSettingsServer.Answer = { extra in
            { call in
                guard call.path == "/v1/mutes", call.method == "GET" else { return nil }
                let frame = #"{"mutes":[],"x":""}"#
                let filling = NoticeLimits.answerBytes + extra - frame.utf8.count
                return (
                    200, [:], #"{"mutes":[],"x":"\#(String(repeating: "y", count: filling))"}"#
                )
            }
        }
        server.answers(answer(1))
        try await SettingsFixture.play(server) { stage in
            try await stage.notices.mute(channel: room)
            try await eventually("it is too large") {
                stage.notices.settingsFailure?.code == .tooLarge
            }
            #expect(server.told.isEmpty)
            server.answers(answer(0))
            stage.connects()
            try await eventually("it is told") {
                stage.notices.settings.channels[room]?.status == .told
            }
        }
    }

    @Test(
        "at most 2,000 settings of other devices are read back",
        .limit("noticeSettings.others"))
    func readBack() async throws {
        let server = ScriptedSettingsServer()
        let mutes = (0..<2_001).map { #"{"channelId":"c\#($0)"}"# }.joined(separator: ",")
        server.mutes = "[\(mutes)]"
        try await SettingsFixture.play(server) { stage in
            stage.connects()
            try await eventually("they are read") {
                stage.notices.settings.channels.count == 2_000
            }
        }
    }

    @Test(
        "signing out waits three seconds for a server that says nothing",
        .limit("noticeSettings.leaving"))
    func leaving() async throws {
        let server = ScriptedSettingsServer()
        let clock = ManualClock()
        try await SettingsFixture.play(server, timekeeper: clock) { stage in
            try await stage.notices.registered(pushToken: [0xab])
            try await eventually("it is told") { stage.notices.settings.push == .told }
            server.isSilent = true
            let left = Task { await stage.notices.leaveSettings() }
            let due = clock.uptime() + .seconds(3)
            try await eventually("it waits") { clock.sleepers.contains(due) }
            clock.advance(by: .seconds(3))
            #expect(await left.value == false)
        }
    }

    @Test("the server has 15 s for each answer", .limit("noticeSettings.server"))
    func timeout() async throws {
        let server = ScriptedSettingsServer()
        try await SettingsFixture.play(server) { stage in
            try await stage.notices.mute(channel: try ChannelName("room"))
            try await eventually("it is told") { !server.told.isEmpty }
        }
        #expect(Set(server.patiences) == [.seconds(15)])
    }

    @Test(
        "a push token of the server's longest length is sent, a longer one refused on the device",
        .limit("noticeSettings.token"))
    func token() async throws {
        let server = ScriptedSettingsServer()
        try await SettingsFixture.play(server) { stage in
            let longest = [UInt8](repeating: 0xab, count: NoticeLimits.pushTokenBytes)
            await #expect {
                try await stage.notices.registered(pushToken: longest + [1])
            } throws: {
                ($0 as? RepriseError)?.code == .tooLarge
            }
            try await stage.notices.registered(pushToken: longest)
            try await eventually("it is told") { stage.notices.settings.push == .told }
        }
        let told = try #require(server.told.first { $0.path.hasPrefix("/v1/devices/") })
        #expect(told.body.contains(String(repeating: "ab", count: NoticeLimits.pushTokenBytes)))
    }
}
