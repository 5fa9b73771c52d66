import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseWire
import Testing

@Suite("Presence on a connection")
struct PresenceOfferTests {
    @Test(
        "a server without presence says so in its welcome, and refuses presence requests")
    func notOffered() async throws {
        try await RunningServer.withUsers { server, _ in
            let ada = try await server.client(hello: false)
            try await ada.hello(as: "ada")
            guard case .welcome(let welcome) = try await ada.nextFrame() else {
                Issue.record("no welcome")
                return
            }
            #expect(!welcome.hasPresence)
            for frame in [ClientFrame.watch([.init(channel: channel())]), .presence(.idle)] {
                try await ada.send(frame)
                guard case .refused(let refused) = try await ada.nextFrame() else {
                    Issue.record("it is not refused")
                    return
                }
                #expect(refused.code == .notOffered)
                // It would end a subscription of the channel.
                #expect(refused.channel == nil && refused.id == nil)
            }
            try await ada.subscribe(channel())
        }
    }
}
