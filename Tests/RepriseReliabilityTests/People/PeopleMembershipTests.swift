import Reprise
import RepriseChannels
import RepriseCore
import RepriseTestSupport
import RepriseWire
import Testing

@Suite("Members who are removed and come back", .timeLimit(.minutes(2)))
struct PeopleMembershipTests {
    private let ada = UserID(unchecked: "ada")
    private let bob = UserID(unchecked: "bob")

    @Test("a removed member gets nothing more at once, and his publishes are dead letters")
    func removed() async throws {
        try await PeopleServer.with { server in
            try await server.make("room", history: "sinceJoin")
            for user in [ada, bob] { try await server.add(user, to: "room") }
            let phone = try await PersonsDevice.open(server, ada)
            let bobs = try await PersonsDevice.open(server, bob)
            for device in [phone, bobs] { try await device.start("room") }
            try await bobs.channel("room").caughtUp()
            try await phone.channel("room").publish("1")
            try await becomes("1 is there", ["ada 1"]) { try await bobs.shown("room") }

            try await server.remove(bob, from: "room")
            try await becomes("refused", true) {
                if case .refused(.forbidden, _) = try bobs.channel("room").state {
                    true
                } else {
                    false
                }
            }
            let id = try await bobs.channel("room").publish("2")
            try await becomes("dead", [id]) {
                try await bobs.channel("room").outbox.deadLetters().map(\.id)
            }
            let letter = try await bobs.channel("room").outbox.deadLetters().first
            #expect(letter?.code == .forbidden)
            for index in 3...5 { try await phone.channel("room").publish("\(index)") }
            try await becomes("stored", ["ada 1", "ada 3", "ada 4", "ada 5"]) {
                try await phone.shown("room")
            }
            try await becomes("nothing waits", 0) {
                try await phone.channel("room").outbox.waiting()
            }
            try await bobs.channel("room").outbox.withdraw(id)
            #expect(try await bobs.shown("room") == ["ada 1"])

            try await server.add(bob, to: "room")
            try await phone.channel("room").publish("6")
            try await bobs.channel("room").subscribe()
            try await becomes("back", ["ada 1", "ada 6"]) {
                try await bobs.shown("room")
            }
            try await bobs.channel("room").caughtUp()
            #expect(try bobs.channel("room").state == .live)
            let sum = try await bobs.reprise.ledger()
            #expect(sum.isBalanced)
            #expect(sum.lost.isEmpty)
            try await becomes("unread", 1) { try await bobs.unread("room") }
            for device in [phone, bobs] { await device.finish() }
        }
    }
}
