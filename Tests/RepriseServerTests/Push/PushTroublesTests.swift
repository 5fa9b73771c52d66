import RepriseCore
import RepriseServer
import RepriseTestSupport
import Testing

@Suite("Log lines about push services")
struct PushTroublesTests {
    @Test(
        "three push services that are down are three lines, not one a push; each change is one more, and a lasting failure is logged every ten minutes",
        .limit("push.failureLog")
    )
    func once() {
        var troubles = PushTroubles()
        var told: [PushTroubles.News] = []
        for second in 0..<599 {
            for partition in ["a", "b", "c"] {
                let news = troubles.ended(
                    .unavailable(nil, "no answer \(second)"), partition: partition,
                    now: .seconds(second))
                if let news { told.append(news) }
            }
        }
        #expect(told.map(\.kind) == [.unavailable, .unavailable, .unavailable])
        #expect(troubles.ended(.unavailable(nil, "x"), partition: "a", now: .seconds(600)) != nil)
        #expect(troubles.ended(.later(nil, "429"), partition: "a", now: .seconds(601)) == nil)
        #expect(troubles.ended(.unauthorized("403"), partition: "a", now: .seconds(601)) != nil)
        #expect(troubles.ended(.unauthorized("403"), partition: "a", now: .seconds(602)) == nil)
        #expect(troubles.ended(.accepted, partition: "a", now: .seconds(603))?.kind == .over)
        #expect(troubles.ended(.accepted, partition: "a", now: .seconds(604)) == nil)
        #expect(troubles.ended(.unavailable(nil, "x"), partition: "a", now: .seconds(605)) != nil)
        #expect(troubles.ended(.refused("413"), partition: "d", now: .seconds(605)) != nil)
        #expect(troubles.ended(.accepted, partition: "d", now: .seconds(606)) == nil)
        #expect(troubles.ended(.refused("413"), partition: "d", now: .seconds(607)) == nil)
    }

    @Test(
        "a bounded number of push services is remembered; beyond that all are logged again",
        .limit("push.failureLog"))
    func bounded() {
        var troubles = PushTroubles(limit: 2)
        for partition in ["a", "b", "c", "a"] {
            #expect(troubles.ended(.unavailable(nil, "x"), partition: partition, now: .zero) != nil)
        }
        #expect(troubles.ended(.unavailable(nil, "x"), partition: "c", now: .zero) == nil)
        #expect(PushLimits.troubleTold == .seconds(600))
    }
}
