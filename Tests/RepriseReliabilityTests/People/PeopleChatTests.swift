import Reprise
import RepriseChannels
import RepriseCore
import RepriseTestSupport
import RepriseWire
import Testing

/// Two people, each with two devices, against the real server with accounts and tokens.
@Suite("People in a private channel of the real server", .timeLimit(.minutes(2)))
struct PeopleChatTests {
    private let ada = UserID(unchecked: "ada")
    private let bob = UserID(unchecked: "bob")

    /// Runs `body` with two devices of Ada's and one of Bob's, all connected.
    private func chat(
        _ body: (PeopleServer, PersonsDevice, PersonsDevice, PersonsDevice) async throws -> Void
    ) async throws {
        try await PeopleServer.with { server in
            try await server.make("room")
            for user in [ada, bob] { try await server.add(user, to: "room") }
            let devices = [
                try await PersonsDevice.open(server, ada),
                try await PersonsDevice.open(server, ada),
                try await PersonsDevice.open(server, bob),
            ]
            for device in devices { try await device.start("room") }
            do {
                for device in devices { try await device.channel("room").caughtUp() }
                try await body(server, devices[0], devices[1], devices[2])
            } catch { Issue.record("\(error)") }
            for device in devices { await device.finish() }
        }
    }

    @Test("A device that was closed is released, with its journal and its handlers")
    func released() async throws {
        try await PeopleServer.with { server in
            try await server.make("general")
            try await server.add(ada, to: "general")
            weak var journal: Journal?
            do {
                let device = try await PersonsDevice.open(server, ada)
                journal = device.reprise.journal
                let channel = try device.channel("general")
                try await channel.read("inbox") { _ in _ = device }
                try await device.start("general")
                try await channel.caughtUp()
                await device.finish()
            }
            try await eventually("nobody has it any more") { journal == nil }
        }
    }

    @Test("a message goes from pending over sent and delivered to read, and is its author's alone")
    func status() async throws {
        try await PeopleServer.with { server in
            try await server.make("room")
            for user in [ada, bob] { try await server.add(user, to: "room") }
            let phone = try await PersonsDevice.open(server, ada)
            let other = try await PersonsDevice.open(server, bob)
            let id = try await phone.channel("room").publish(#""hello""#)
            #expect(try await phone.status(of: id, in: "room") == .pending)
            try await phone.start("room")
            try await becomes("sent", .sent) { try await phone.status(of: id, in: "room") }
            try await becomes("come back", true) {
                try await phone.list("room").first?.from == ada
            }
            #expect(try await phone.status(of: id, in: "room") == .sent)
            try await other.start("room")
            try await becomes("delivered", .delivered) {
                try await phone.status(of: id, in: "room")
            }
            let seen = try #require(try await other.list("room").first)
            #expect(seen.from == ada)
            #expect(!seen.isMine)
            #expect(try await phone.list("room").first?.isMine == true)
            try await other.channel("room").markRead(through: try #require(seen.seq))
            try await becomes("read", .read) { try await phone.status(of: id, in: "room") }
            await phone.finish()
            await other.finish()
        }
    }

    @Test("every device's unread count equals an independent count, at each step")
    func unread() async throws {
        try await chat { server, phone, tablet, bobs in
            func expect(ada: Int, bob: Int, _ step: String) async throws {
                for (device, count) in [(phone, ada), (tablet, ada), (bobs, bob)] {
                    try await becomes("\(step), \(device.user)", Int64(count)) {
                        try await device.unread("room")
                    }
                    try await becomes("\(step), \(device.user) by HTTP", count) {
                        try await server.call(
                            "GET", "/v1/channels/room/positions", as: device.user)["unread"]
                            as? Int
                    }
                }
            }
            let room = try phone.channel("room")
            try await expect(ada: 0, bob: 0, "nothing")
            var ids: [EntryID] = []
            for index in 1...4 { ids.append(try await room.publish("\(index)")) }
            try await expect(ada: 0, bob: 4, "four of Ada's")
            try await room.edit(ids[0], "10")
            try await becomes("edited", "10") { try await bobs.list("room").first?.json }
            try await expect(ada: 0, bob: 4, "an edit")
            try await room.delete(ids[1])
            try await expect(ada: 0, bob: 3, "a deletion")
            _ = try await bobs.channel("room").publish("5")
            try await expect(ada: 1, bob: 3, "one of Bob's own")
            try await bobs.channel("room").markRead(through: 3)
            try await expect(ada: 1, bob: 1, "Bob has read some")
            let head = try #require(try await phone.list("room").last?.seq)
            try await tablet.channel("room").markRead(through: head)
            try await expect(ada: 0, bob: 1, "Ada has read on her tablet")
            try await room.delete(ids[3])
            try await expect(ada: 0, bob: 0, "what was left is deleted")
        }
    }

    @Test(
        "a user who joins a channel with a history gets it, and none of it is unread on his device or at the server"
    )
    func joinsLater() async throws {
        try await chat { server, phone, _, _ in
            for index in 1...5 { try await phone.channel("room").publish("\(index)") }
            try await becomes("stored", 0) { try await phone.channel("room").outbox.waiting() }
            let carl = UserID(unchecked: "carl")
            try await server.add(carl, to: "room")
            let device = try await PersonsDevice.open(server, carl)
            try await device.start("room")
            try await device.channel("room").caughtUp()
            #expect(try await device.list("room").count == 5)
            let answer = try await server.call("GET", "/v1/channels/room/positions", as: carl)
            #expect(answer["unread"] as? Int == 0)
            try await becomes("unread", 0) { try await device.unread("room") }
            try await phone.channel("room").publish("6")
            try await becomes("unread after one more", 1) { try await device.unread("room") }
            await device.finish()
        }
    }

    @Test("typing is seen by the other, and ends with a stop, with silence and with the connection")
    func typing() async throws {
        try await chat { _, phone, tablet, bobs in
            let room = try phone.channel("room")
            room.typing()
            try await becomes("Ada types", [ada]) { try await bobs.typists("room") }
            #expect(try await phone.typists("room") == [])
            room.stopTyping()
            try await becomes("Ada has stopped", []) { try await bobs.typists("room") }
            room.typing()
            try await becomes("Ada types again", [ada]) { try await bobs.typists("room") }
            try await becomes("her pause ends it", []) {
                try await bobs.typists("room")
            }
            try tablet.channel("room").typing()
            try await becomes("she types on her tablet", [ada]) { try await bobs.typists("room") }
            await tablet.stop()
            try await becomes("her tablet is gone", []) { try await bobs.typists("room") }
        }
    }
}
