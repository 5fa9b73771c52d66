import Foundation
import GRDB
import Reprise
import RepriseChannels
import RepriseCore
import RepriseJournal
import RepriseNotices
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Synchronization
import Testing

@Suite("Settings and the server", .timeLimit(.minutes(2)))
struct SettingsTests {
    private let room: ChannelName
    private let ada: UserID
    private let bob: UserID
    init() throws {
        room = try ChannelName("room")
        ada = try UserID("ada|1/2")
        bob = try UserID("bob")
    }

    @Test(
        "a setting made without a network holds at once, survives a kill, and is sent later; a replaced one is never sent"
    )
    func offline() async throws {
        let folder = try TemporaryFolder()
        let server = ScriptedSettingsServer()
        server.isOnline = false
        try await SettingsFixture.play(server, in: folder) { stage in
            try await stage.notices.mute(channel: room)
            try await stage.notices.mute(channel: room, until: WallTime(milliseconds: 5_000))
            try await stage.notices.setQuietHours(
                QuietHours(from: "22:00", to: "07:00", zone: "Europe/Berlin"))
            #expect(stage.notices.settings.channels[room]?.status == .waits)
            try await eventually("it says why") {
                stage.notices.settingsFailure?.code == .unreachable
            }
        }
        #expect(server.told.isEmpty)
        server.isOnline = true
        try await SettingsFixture.play(server, in: folder) { stage in
            try await eventually("it is told") {
                stage.notices.settings.channels[room]?.status == .told
                    && stage.notices.settings.quiet?.status == .told
            }
            #expect(stage.notices.settings.channels[room]?.until == WallTime(milliseconds: 5_000))
            try await eventually("nothing waits") { try await stage.reprise.ledger().pending == 0 }
            #expect(try await stage.reprise.ledger().accepted == 3)
        }
        #expect(
            server.told.filter { $0.path.hasPrefix("/v1/mutes") }.map(\.body) == [
                #"{"until":5000}"#
            ])
    }

    @Test("Silence while another device is used is sent, read on the others, and removed")
    func silentElsewhere() async throws {
        let server = ScriptedSettingsServer()
        try await SettingsFixture.play(server) { stage in
            try await stage.notices.setSilentElsewhere(true)
            try await eventually("it is told") {
                stage.notices.settings.silentElsewhere == .told
            }
            try await stage.notices.setSilentElsewhere(false)
            try await eventually("so is its end") { server.told.count == 2 }
            try await eventually("and is done") { try await stage.reprise.ledger().pending == 0 }
            #expect(
                server.told.map { "\($0.method) \($0.path)" }
                    == ["PUT /v1/mutes/elsewhere", "DELETE /v1/mutes/elsewhere"])
            #expect(stage.notices.settings.silentElsewhere == nil)
            server.answers { call in
                call.method == "GET" && call.path == "/v1/mutes"
                    ? (200, [:], #"{"mutes":[],"elsewhere":true}"#) : nil
            }
            stage.connects()
            try await eventually("another device's is read") {
                stage.notices.settings.silentElsewhere == .told
            }
        }
    }

    @Test("settings of one target are sent in the order in which they were set")
    func order() async throws {
        let server = ScriptedSettingsServer()
        try await SettingsFixture.play(server) { stage in
            for round in 1...20 {
                try await stage.notices.mute(
                    channel: room, until: WallTime(milliseconds: Int64(round)))
                if round % 5 == 0 { try await stage.notices.unmute(channel: room) }
            }
            try await eventually("all is told") { try await stage.reprise.ledger().pending == 0 }
            #expect(stage.notices.settings.channels.isEmpty)
        }
        #expect(server.told.last?.method == "DELETE")
        let untils = server.told.compactMap { call in
            call.body.split { !$0.isNumber }.last.flatMap { Int(String($0)) }
        }
        #expect(untils == untils.sorted())
    }

    @Test(
        "a setting that the server refuses holds on the device, is a dead letter with its reason and a remedy, and is replaced by a new one"
    )
    func refused() async throws {
        let server = ScriptedSettingsServer()
        server.answers { call in
            call.method == "PUT"
                ? (400, [:], #"{"error":{"code":"full","message":"There are too many."}}"#) : nil
        }
        try await SettingsFixture.play(server) { stage in
            try await stage.notices.mute(person: ada)
            try await eventually("it is dead") {
                try await stage.reprise.journal.deadLetters().count == 1
            }
            let letter = try await stage.reprise.journal.deadLetters()[0]
            #expect(letter.reason?.contains("There are too many.") == true)
            #expect(letter.reason?.contains("discard") == true)
            let mute = stage.notices.settings.people[ada]
            guard case .refused = mute?.status else {
                Issue.record("\(String(describing: mute))")
                return
            }
            #expect(server.told.last?.path == "/v1/mutes/users/ada%7C1%2F2")
            // What another device has set meanwhile does not undo it.
            stage.connects()
            server.answers { _ in nil }
            try await stage.notices.mute(person: ada)
            try await eventually("it is told") {
                stage.notices.settings.people[ada]?.status == .told
            }
            #expect(try await stage.reprise.journal.deadLetters().isEmpty)
        }
    }

    @Test("the words of a server that refuses are one line, whatever is in them")
    func foreignWords() async throws {
        let server = ScriptedSettingsServer()
        server.answers { call in
            call.method == "PUT"
                ? (400, [:], #"{"error":{"code":"full","message":"Too\nmany.\u001b[2J"}}"#) : nil
        }
        try await SettingsFixture.play(server) { stage in
            try await stage.notices.mute(person: ada)
            try await eventually("it is dead") {
                try await stage.reprise.journal.deadLetters().count == 1
            }
            let reason = try await stage.reprise.journal.deadLetters().first?.reason
            #expect(reason?.contains(#"(400): Too\nmany.\u{1b}[2J It"#) == true, "\(reason ?? "")")
        }
    }

    @Test(
        "an outage is one wait and no dead letter: 503, a redirect, a hotel's page, a body that is cut, a token refused",
        .limit("noticeSettings.waits"),
        arguments: [503, 429, 302, 200, 401])
    func outage(status: Int) async throws {
        let server = ScriptedSettingsServer()
        let bad: ScriptedSettingsServer.Answer = { call in
            call.method == "PUT" ? (status, ["retry-after": "0"], "<html>") : nil
        }
        server.answers(bad)
        let identity = Identity(user: try UserID("me")) { _ in try AccessToken("a.b.c") }
        try await SettingsFixture.play(server, identity: identity) { stage in
            try await stage.notices.mute(channel: room)
            try await eventually("it was tried") { !server.told.isEmpty }
            try await eventually("it says why") { stage.notices.settingsFailure != nil }
            #expect(try await stage.reprise.journal.deadLetters().isEmpty)
            #expect(stage.notices.settings.channels[room]?.status == .waits)
            server.answers { _ in nil }
            stage.connects()
            try await eventually("it is told") {
                stage.notices.settings.channels[room]?.status == .told
            }
        }
    }

    @Test(
        "a setting of another device holds from the next connection, and does not replace one that waits here"
    )
    func elsewhere() async throws {
        let server = ScriptedSettingsServer()
        try await SettingsFixture.play(server) { stage in
            try await stage.notices.mute(channel: room, exceptMentions: false)
            try await eventually("it is told") {
                stage.notices.settings.channels[room]?.status == .told
            }
            #expect(server.told.map(\.body) == [#"{"exceptMentions":false}"#])
            server.mutes =
                #"[{"channelId":"room","until":9000},{"user":"bob"},{"channelId":"a b"},"#
                + #"{"user":"eve","exceptMentions":true}]"#
            stage.connects()
            try await eventually("it is read") {
                stage.notices.settings.people[bob]?.status == .told
            }
            #expect(stage.notices.settings.channels[room]?.until == WallTime(milliseconds: 9_000))
            #expect(stage.notices.settings.channels[room]?.exceptMentions == true)
            #expect(stage.notices.settings.people[bob]?.exceptMentions == false)
            let eve = try UserID("eve")
            #expect(stage.notices.settings.people[eve]?.exceptMentions == true)
            // Taken back here, and the server cannot be told: its list does not bring it back.
            server.answers { $0.method == "DELETE" ? (503, [:], "") : nil }
            try await stage.notices.unmute(channel: room)
            try await eventually("it was tried") { server.told.contains { $0.method == "DELETE" } }
            let asked = server.calls.count
            stage.connects()
            try await eventually("it asked again") { server.calls.count > asked + 2 }
            #expect(stage.notices.settings.channels[room] == nil)
            server.answers { _ in nil }
            server.mutes = "[]"
            stage.connects()
            try await eventually("bob is gone too") { stage.notices.settings.people.isEmpty }
        }
    }

    @Test(
        "a setting that cannot be read counts as not set, the server's takes its place, and others stay"
    )
    func unreadable() async throws {
        let server = ScriptedSettingsServer()
        try await SettingsFixture.play(server) { stage in
            try await stage.notices.mute(channel: room)
            try await stage.notices.mute(person: bob)
            try await eventually("both are told") {
                stage.notices.settings.channels[room]?.status == .told
                    && stage.notices.settings.people[bob]?.status == .told
            }
            try await stage.reprise.journal.write { db in
                try db.execute(
                    sql: "UPDATE noticesSetting SET value = x'00' WHERE target = 'channel:room'")
            }
            server.mutes = #"[{"channelId":"room","until":9000},{"user":"bob"}]"#
            stage.connects()
            try await eventually("the server's is read") {
                stage.notices.settings.channels[room]?.until == WallTime(milliseconds: 9_000)
            }
            #expect(stage.notices.settings.people[bob]?.status == .told)
        }
    }

    private static let types = [
        "value": "BLOB", "state": "INTEGER NOT NULL", "entry": "TEXT", "reason": "TEXT",
        "revision": "INTEGER NOT NULL",
    ]

    private static func rot(_ column: String, in folder: TemporaryFolder) throws {
        let type = try #require(types[column])
        let value = ["BLOB": "5", "TEXT": "x'ff'"][type] ?? "'rotten'"
        try RepriseTestSupport.rot(
            column, type, of: "noticesSetting", to: value, in: folder.path("journal.sqlite"))
    }

    @Test(
        "a setting that waits is sent once and written anew, whatever of its row cannot be read",
        arguments: ["value", "state", "entry", "reason", "revision"])
    func unreadableWaiting(column: String) async throws {
        let folder = try TemporaryFolder()
        let server = ScriptedSettingsServer()
        server.isOnline = false
        try await SettingsFixture.play(server, in: folder) { stage in
            try await stage.notices.mute(channel: room, until: WallTime(milliseconds: 5_000))
        }
        try Self.rot(column, in: folder)
        server.isOnline = true
        try await SettingsFixture.play(server, in: folder) { stage in
            try await eventually("it is told") {
                stage.notices.settings.channels[room]?.status == .told
            }
            #expect(stage.notices.settings.channels[room]?.until == WallTime(milliseconds: 5_000))
            try await eventually("nothing waits") { try await stage.reprise.ledger().pending == 0 }
        }
        #expect(server.told.map(\.body) == [#"{"until":5000}"#])
    }

    @Test(
        "a setting that the server has is replaced by the server's, whatever of its row cannot be read, and others are sent",
        arguments: ["value", "state", "entry", "reason", "revision"])
    func unreadableTold(column: String) async throws {
        let folder = try TemporaryFolder()
        let server = ScriptedSettingsServer()
        try await SettingsFixture.play(server, in: folder) { stage in
            try await stage.notices.mute(channel: room)
            try await eventually("it is told") {
                stage.notices.settings.channels[room]?.status == .told
            }
        }
        try Self.rot(column, in: folder)
        server.mutes = #"[{"channelId":"room","until":9000}]"#
        try await SettingsFixture.play(server, in: folder) { stage in
            try await eventually("the server's is read") {
                stage.notices.settings.channels[room]?.until == WallTime(milliseconds: 9_000)
                    && stage.notices.settings.channels[room]?.status == .told
            }
            try await stage.notices.mute(person: bob)
            try await eventually("another is told") {
                stage.notices.settings.people[bob]?.status == .told
            }
        }
    }

    @Test("a setting whose row cannot be read is sent when it is set again as it was")
    func unreadableAgain() async throws {
        let folder = try TemporaryFolder()
        let server = ScriptedSettingsServer()
        try await SettingsFixture.play(server, in: folder) { stage in
            try await stage.notices.mute(channel: room)
            try await eventually("it is told") {
                stage.notices.settings.channels[room]?.status == .told
            }
        }
        try Self.rot("entry", in: folder)
        server.mutes = #"[{"channelId":"room"}]"#
        try await SettingsFixture.play(server, in: folder) { stage in
            try await stage.notices.mute(channel: room)
            try await eventually("it is told again") { server.told.count == 2 }
            try await eventually("nothing waits") { try await stage.reprise.ledger().pending == 0 }
        }
    }

    @Test(
        "a push token is sent at each start and when it changes, and removed at sign-out"
    )
    func tokens() async throws {
        let folder = try TemporaryFolder()
        let server = ScriptedSettingsServer()
        for start in 1...2 {
            try await SettingsFixture.play(server, in: folder) { stage in
                try await stage.notices.registered(pushToken: [0xab, 0x01])
                try await stage.notices.registered(pushToken: [0xab, 0x01])
                try await eventually("it is told") {
                    server.told.filter { $0.body.contains("ab01") }.count == start
                }
            }
        }
        try await SettingsFixture.play(server, in: folder) { stage in
            try await stage.notices.registered(pushToken: [0xcd])
            try await eventually("the new one is told") { stage.notices.settings.push == .told }
            #expect(server.told.last?.body.contains(#""pushToken":"cd""#) == true)
            #expect(await stage.notices.leaveSettings())
            #expect(server.told.last?.body == #"{"platform":"ios"}"#)
            #expect(stage.notices.settings.push == nil)
        }
        let error = await #expect(throws: RepriseError.self) {
            try await SettingsFixture.play(server, runs: false) { stage in
                try await stage.notices.registered(pushToken: [])
            }
        }
        #expect(error?.code == .malformed && error?.remedy != nil)
    }

    @Test(
        "a token of the app that is refused is asked for anew, and one whose user has signed out leaves everything waiting"
    )
    func signedOut() async throws {
        let server = ScriptedSettingsServer()
        server.answers { call in
            call.token == "Bearer new.b.c"
                ? nil : (401, [:], #"{"error":{"code":"unauthorized","message":"No."}}"#)
        }
        let isOut = Mutex(true)
        let identity = Identity(user: try UserID("me")) { request in
            if isOut.withLock({ $0 }) { throw RepriseError(.unauthorized, "Signed out.") }
            return try AccessToken(request.reason == .refused ? "new.b.c" : "old.b.c")
        }
        try await SettingsFixture.play(server, identity: identity) { stage in
            try await stage.notices.mute(channel: room)
            try await eventually("it says why") {
                stage.notices.settingsFailure?.code == .unauthorized
            }
            #expect(
                server.calls.isEmpty && stage.notices.settings.channels[room]?.status == .waits)
            isOut.withLock { $0 = false }
            stage.connects()
            try await eventually("it is told") {
                stage.notices.settings.channels[room]?.status == .told
            }
        }
    }

    @Test(
        "a mute beyond the limit is a typed error, and existing ones can still be changed",
        .limit("noticeSettings.mutes"))
    func full() async throws {
        try await SettingsFixture.play(runs: false) { stage in
            try await stage.notices.mute(channel: try ChannelName("c0"))
            try await stage.reprise.journal.write { db in
                try db.execute(
                    sql: """
                        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
                        INSERT INTO noticesSetting
                        SELECT 'channel:c' || i, value, 0, NULL, NULL, 0 FROM noticesSetting, n
                        """, arguments: [NoticeLimits.mutes - 1])
            }
            await expectError(.full) {
                try await stage.notices.mute(channel: room)
            }
            try await stage.notices.mute(channel: try ChannelName("c1"), exceptMentions: false)
            let changed = stage.notices.settings.channels[try ChannelName("c1")]
            #expect(changed?.exceptMentions == false)
            let count = try await stage.reprise.journal.read { db in
                try Int.fetchOne(db, sql: "SELECT count(*) FROM noticesSetting")
            }
            #expect(count == NoticeLimits.mutes)
        }
    }
}
