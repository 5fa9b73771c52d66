import RepriseCore
import RepriseServer
import RepriseWire
import Testing

@testable import RepriseSimulator

@Suite("The checker of access")
struct AccessCheckerTests {
    @Test(
        "a membership whose sync failed counts from when it was asked for, if it is found after a restart"
    )
    func syncFailed() throws {
        let simulation = Simulation(.draw(seed: 1, kinds: ChannelsWorkload.kinds))
        let (room, ada) = (try ChannelName("room"), try UserID("ada"))
        let accounts = SimulatedAccounts(
            channels: [room: ChannelSettings(visibility: .private, history: .sinceJoin)])
        let checker = AccessChecker(simulation, accounts)
        let (before, meanwhile) = (try EntryID("before"), try EntryID("meanwhile"))
        checker.stored(before)
        simulation.run(until: .seconds(10))
        let member = Member(
            user: ada, role: .member, joined: 1, since: WallTime(milliseconds: 0))
        let isDurable = accounts.seat(
            .init(channel: room, user: ada), as: member, from: simulation.now
        ) { .syncFailed }
        #expect(isDurable == false)
        simulation.run(until: .seconds(20))
        checker.stored(meanwhile)
        simulation.run(until: .seconds(30))
        accounts.crash(keepsUnsynced: true)
        checker.changed(.unknown)
        #expect(checker.mayHave(ada, meanwhile, in: room))
        #expect(!checker.mayHave(ada, before, in: room))
    }
}
