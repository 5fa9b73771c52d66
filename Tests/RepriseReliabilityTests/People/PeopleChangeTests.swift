import Foundation
import Reprise
import RepriseChannels
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseWire
import Testing

@Suite("Edits and deletions while devices are away", .timeLimit(.minutes(2)))
struct PeopleChangeTests {
    private let ada = UserID(unchecked: "ada")
    private let bob = UserID(unchecked: "bob")

    private func pair(
        _ body: (PeopleServer, PersonsDevice, PersonsDevice) async throws -> Void
    ) async throws {
        try await PeopleServer.with { server in
            try await server.make("room")
            for user in [ada, bob] { try await server.add(user, to: "room") }
            let phone = try await PersonsDevice.open(server, ada)
            let bobs = try await PersonsDevice.open(server, bob)
            do {
                for device in [phone, bobs] { try await device.start("room") }
                for device in [phone, bobs] { try await device.channel("room").caughtUp() }
                try await body(server, phone, bobs)
            } catch { Issue.record("\(error)") }
            for device in [phone, bobs] { await device.finish() }
        }
    }

    private func sent(_ device: PersonsDevice) async throws {
        try await becomes("all is sent", 0) { try await device.channel("room").outbox.waiting() }
    }

    @Test("a device that was away finds messages edited and deleted, also those edited before")
    func away() async throws {
        try await pair { server, phone, bobs in
            let room = try phone.channel("room")
            var ids: [EntryID] = []
            for index in 1...4 { ids.append(try await room.publish("\(index)")) }
            try await becomes("there", 4) { try await bobs.list("room").count }
            await bobs.stop()
            try await room.edit(ids[0], "10")
            try await room.edit(ids[1], "20")
            try await room.delete(ids[1])
            try await room.delete(ids[2])
            try await room.publish("5")
            try await sent(phone)
            try await bobs.start("room")
            let expected = [
                "ada 10 edited", "ada null deleted", "ada null deleted", "ada 4", "ada 5",
            ]
            try await becomes("Bob's", expected) { try await bobs.shown("room") }
            try await becomes("Ada's", expected) { try await phone.shown("room") }
        }
    }

    @Test(
        "only the author may edit or delete; an owner may delete; a refused change is a dead letter"
    )
    func notAllowed() async throws {
        try await pair { server, phone, bobs in
            let id = try await phone.channel("room").publish("1")
            try await becomes("there", ["ada 1"]) { try await bobs.shown("room") }
            try await bobs.channel("room").edit(id, "666")
            try await bobs.channel("room").delete(id)
            try await becomes("dead", [.forbidden, .forbidden]) {
                try await bobs.channel("room").outbox.deadLetters().map(\.code)
            }
            #expect(try await bobs.shown("room") == ["ada 1"])
            #expect(try await phone.shown("room") == ["ada 1"])
            try await server.add(bob, to: "room", role: "owner")
            try await bobs.channel("room").delete(id)
            try await becomes("deleted", ["ada null deleted"]) { try await phone.shown("room") }
        }
    }

    @Test(
        "a message that was attempted and is withdrawn is deleted, whether the server has it or not"
    )
    func withdrawn() async throws {
        try await pair { server, phone, bobs in
            // It may have been sent when the connection ends: nobody knows.
            let room = try phone.channel("room")
            var ids: [EntryID] = []
            for index in 1...40 { ids.append(try await room.publish("\(index)")) }
            await phone.stop()
            for id in ids { try await room.outbox.withdraw(id) }
            try await phone.start("room")
            try await sent(phone)
            try await becomes("nothing is left of it", []) {
                try await bobs.list("room").filter { !$0.isDeleted }.map(\.id)
            }
            try await becomes("nor on Ada's", []) {
                try await phone.list("room").filter { !$0.isDeleted }.map(\.id)
            }
            #expect(try await room.outbox.deadLetters().isEmpty)
        }
    }

    @Test(
        "a deletion of a message that the server never got is a deleted message, and the late original is not shown"
    )
    func buried() async throws {
        try await pair { server, phone, bobs in
            let id = EntryID.random()
            try await phone.channel("room").delete(id)
            try await becomes("buried", ["ada null deleted"]) { try await bobs.shown("room") }
            try await server.call(
                "POST", "/v1/channels/room/messages", #"{"id":"\#(id)","body":"late"}"#, as: ada)
            try await phone.channel("room").publish("2")
            try await becomes("after", ["ada null deleted", "ada 2"]) {
                try await bobs.shown("room")
            }
            #expect(try await phone.shown("room") == ["ada null deleted", "ada 2"])
        }
    }

    @Test(
        "after a restored backup every device shows what the server has, edits and deletions included"
    )
    func restored() async throws {
        try await pair { server, phone, bobs in
            let room = try phone.channel("room")
            var ids: [EntryID] = []
            for index in 1...4 { ids.append(try await room.publish("\(index)")) }
            try await room.edit(ids[0], "10")
            try await room.delete(ids[1])
            let before = ["ada 10 edited", "ada null deleted", "ada 3", "ada 4"]
            try await becomes("before", before) { try await bobs.shown("room") }
            let copy = server.data + "-backup"
            try Backup.make(of: server.data, to: copy)
            // Lost with the folder: an edit of an edited message, an edit of another, a message.
            try await room.edit(ids[0], "100")
            try await room.edit(ids[2], "30")
            try await room.publish("5")
            try await becomes("there", "ada 5") { try await bobs.shown("room").last ?? "" }
            try await server.stop()
            try FileManager.default.removeItem(atPath: server.data)
            try Backup.restore(from: copy, to: server.data)
            try FileManager.default.removeItem(atPath: copy)
            try await server.start()
            let late = try await PersonsDevice.open(server, bob)
            try await late.start("room")
            try await becomes("a fresh device", before) { try await late.shown("room") }
            for device in [phone, bobs] {
                try await becomes("\(device.user)", before) { try await device.shown("room") }
            }
            try await room.edit(ids[3], "40")
            try await room.publish("6")
            let after = ["ada 10 edited", "ada null deleted", "ada 3", "ada 40 edited", "ada 6"]
            for device in [phone, bobs, late] {
                try await becomes("\(device.user) after", after) { try await device.shown("room") }
            }
            for device in [bobs, late] {
                try await becomes("unread", 4) { try await device.unread("room") }
            }
            await late.finish()
        }
    }
}
