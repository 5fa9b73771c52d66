import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

@Suite("Presence messages between gateways")
struct PresenceExchangeTests {
    private let ada = user("ada")
    private let ben = user("ben")
    private let eve = user("eve")
    private let wall = WallTime(milliseconds: 1_000)

    private func make(
        _ change: (inout PresenceExchange.Settings) -> Void = { _ in }
    ) -> PresenceExchange {
        var settings = PresenceExchange.Settings()
        change(&settings)
        return PresenceExchange(number: 1, settings: settings)
    }

    /// What is said and what is known, as sorted words.
    private static func words(_ actions: [PresenceExchange.Action]) -> [String] {
        actions.map { action in
            switch action {
            case .say(let news):
                let asked = news.asked.map { "\($0.user)?\($0.isNew ? "!" : "")" }.sorted()
                let told = news.told.map { "\($0.user)=\($0.state)" }.sorted()
                return "\(news.sender): \((asked + told).joined(separator: " "))"
            case .elsewhere(let news):
                return "\(news.user) \(news.state?.rawValue ?? "-")"
                    + (news.isLost ? " lost" : "")
                    + (news.seen.map { "@\($0.milliseconds)" } ?? "")
            }
        }.sorted()
    }

    private func fire(
        _ exchange: inout PresenceExchange, at now: Duration,
        _ states: [UserID: PresenceState] = [:]
    ) -> [String] {
        Self.words(exchange.timerFired(now: now) { states[$0] ?? .offline })
    }

    private func hear(
        _ exchange: inout PresenceExchange, from sender: Int64 = 2, asked: [UserID] = [],
        isNew: Bool = false, told: [UserID: PresenceState] = [:], at now: Duration,
        wall: WallTime? = nil
    ) -> [String] {
        let news = PresenceNews(
            from: sender, asked: asked.map { .init($0, isNew: isNew) },
            told: told.map { .init($0.key, $0.value) })
        return Self.words(exchange.heard(news, now: now, wall: wall ?? self.wall))
    }

    @Test("a gateway without watched users sends nothing, whatever users do, and runs no timer")
    func nobodyWatches() {
        var exchange = make()
        exchange.changed(ben)
        #expect(exchange.due == nil)
        #expect(fire(&exchange, at: .seconds(60), [ben: .online]).isEmpty)
        // Nor is it known what is told unasked.
        #expect(hear(&exchange, told: [ben: .online], at: .seconds(61)).isEmpty)
        #expect(exchange.due == nil)
    }

    @Test(
        "a watched user is asked for at once and with each renewal, until no watch names him",
        .limit("presence.said"))
    func asks() {
        var exchange = make()
        exchange.watched(ben, true, now: .zero)
        #expect(exchange.due == .zero)
        #expect(fire(&exchange, at: .zero) == ["1: ben?!"])
        exchange.watched(eve, true, now: .milliseconds(100))
        #expect(exchange.due == .seconds(1))
        #expect(fire(&exchange, at: .milliseconds(999)).isEmpty)
        #expect(fire(&exchange, at: .seconds(1)) == ["1: eve?!"])
        #expect(exchange.due == .seconds(5))
        #expect(fire(&exchange, at: .seconds(5)) == ["1: ben? eve?"])
        exchange.watched(ben, false, now: .seconds(6))
        #expect(fire(&exchange, at: .seconds(10)) == ["1: eve?"])
        exchange.watched(eve, false, now: .seconds(11))
        #expect(fire(&exchange, at: .seconds(15)).isEmpty)
        #expect(exchange.due == nil)
    }

    @Test(
        "a gateway that is asked answers for its own users: their states, each change, and all with a renewal"
    )
    func tells() {
        var exchange = make()
        #expect(hear(&exchange, asked: [ada, ben], isNew: true, at: .zero).isEmpty)
        let states: [UserID: PresenceState] = [ben: .idle, eve: .online]
        #expect(fire(&exchange, at: .zero, states) == ["1: ben=idle"], "Ada is not here")
        exchange.changed(eve)
        #expect(exchange.due == .seconds(5), "nobody asks for Eve")
        exchange.changed(ben)
        #expect(fire(&exchange, at: .seconds(1), [ben: .online]) == ["1: ben=online"])
        exchange.changed(ben)
        #expect(fire(&exchange, at: .seconds(2), [:]) == ["1: ben=offline"])
        #expect(fire(&exchange, at: .seconds(5), [ada: .online]) == ["1: ada=online"])
        // Asked once more, and not for the first time: it is told with the next renewal.
        #expect(hear(&exchange, asked: [ada], at: .seconds(6)).isEmpty)
        #expect(exchange.due == .seconds(10))
        #expect(hear(&exchange, asked: [ada], isNew: true, at: .seconds(7)).isEmpty)
        #expect(fire(&exchange, at: .seconds(7), [ada: .idle]) == ["1: ada=idle"])
        // An ask holds for 15 s.
        for seconds in [10, 15, 20] {
            #expect(
                fire(&exchange, at: .seconds(seconds), [ada: .idle]) == ["1: ada=idle"])
        }
        #expect(fire(&exchange, at: .seconds(25), [ada: .idle]).isEmpty)
        #expect(exchange.due == nil)
        exchange.changed(ada)
        #expect(exchange.due == nil)
    }

    @Test("a user is online if any gateway says so, idle if all say idle, and otherwise offline")
    func anyGateway() {
        var exchange = make()
        exchange.watched(ben, true, now: .zero)
        #expect(hear(&exchange, from: 2, told: [ben: .idle], at: .zero) == ["ben idle"])
        #expect(hear(&exchange, from: 3, told: [ben: .online], at: .zero) == ["ben online@1000"])
        #expect(hear(&exchange, from: 2, told: [ben: .online], at: .zero).isEmpty)
        #expect(hear(&exchange, from: 2, told: [ben: .offline], at: .zero).isEmpty)
        #expect(hear(&exchange, from: 3, told: [ben: .idle], at: .zero) == ["ben idle@1000"])
        let later = WallTime(milliseconds: 2_000)
        #expect(
            hear(&exchange, from: 3, told: [ben: .offline], at: .zero, wall: later)
                == ["ben -"], "who was idle used nothing")
        #expect(
            hear(&exchange, from: 3, told: [ben: .online], at: .zero, wall: later)
                == ["ben online@2000"])
        #expect(
            hear(&exchange, from: 3, told: [ben: .offline], at: .zero, wall: later)
                == ["ben -@2000"])
        #expect(hear(&exchange, from: 4, told: [ben: .offline], at: .zero).isEmpty)
        #expect(hear(&exchange, from: 1, told: [ben: .online], at: .zero).isEmpty, "itself")
    }

    @Test(
        "the states from a gateway that goes silent are forgotten; a user's last-seen time is then when it was last heard",
        .limit("presence.lease"))
    func lease() {
        var exchange = make()
        exchange.watched(ben, true, now: .zero)
        _ = fire(&exchange, at: .zero)
        #expect(hear(&exchange, from: 2, told: [ben: .online], at: .zero) == ["ben online@1000"])
        #expect(hear(&exchange, from: 3, told: [ben: .idle], at: .seconds(9)).isEmpty)
        #expect(fire(&exchange, at: .seconds(10)) == ["1: ben?"])
        let last = WallTime(milliseconds: 7_000)
        #expect(hear(&exchange, from: 3, told: [ben: .idle], at: .seconds(11), wall: last).isEmpty)
        #expect(fire(&exchange, at: .seconds(15)) == ["1: ben?", "ben idle@1000"])
        #expect(fire(&exchange, at: .seconds(25)) == ["1: ben?"])
        #expect(fire(&exchange, at: .seconds(30)) == ["1: ben?", "ben - lost"])
    }

    @Test("a known state holds while a watch ends and begins again, and is asked for anew")
    func watchedAgain() {
        var exchange = make()
        exchange.watched(ben, true, now: .zero)
        _ = fire(&exchange, at: .zero)
        #expect(hear(&exchange, told: [ben: .online], at: .zero) == ["ben online@1000"])
        exchange.watched(ben, false, now: .seconds(1))
        #expect(hear(&exchange, told: [ben: .idle], at: .seconds(1)) == ["ben idle@1000"])
        exchange.watched(ben, true, now: .seconds(2))
        #expect(fire(&exchange, at: .seconds(2)) == ["1: ben?!"])
        exchange.watched(ben, false, now: .seconds(3))
        #expect(fire(&exchange, at: .seconds(5)).isEmpty)
        #expect(fire(&exchange, at: .seconds(20)) == ["ben - lost"])
        #expect(exchange.due == nil)
        #expect(hear(&exchange, told: [ben: .online], at: .seconds(21)).isEmpty)
    }

    @Test(
        "the users asked for, the users answered for, and the gateways heard are bounded",
        .limit("presence.asked", "presence.wanted", "presence.gateways"))
    func bounds() throws {
        let usual = PresenceExchange.Settings()
        #expect(usual.asked == 50_000 && usual.wanted == 100_000 && usual.gateways == 64)
        var exchange = make { ($0.asked, $0.wanted, $0.gateways) = (2, 2, 2) }
        for one in [ada, ben, eve] { exchange.watched(one, true, now: .zero) }
        #expect(fire(&exchange, at: .zero) == ["1: ada?! ben?!"])
        #expect(hear(&exchange, told: [eve: .online], at: .zero).isEmpty, "not asked for")
        for sender in Int64(2)...4 {
            #expect(
                hear(&exchange, from: sender, told: [ben: .idle], at: .zero).count
                    == (sender == 2 ? 1 : 0))
        }
        #expect(hear(&exchange, from: 4, told: [ben: .online], at: .zero).isEmpty, "a third")
        #expect(hear(&exchange, from: 3, told: [ben: .online], at: .zero) == ["ben online@1000"])
        for one in [ada, ben] { exchange.watched(one, false, now: .zero) }
        exchange.watched(eve, true, now: .zero)
        #expect(fire(&exchange, at: .seconds(1)) == ["1: eve?!"])
        _ = hear(&exchange, asked: [ada, ben, eve], at: .seconds(2))
        let all: [UserID: PresenceState] = [ada: .online, ben: .online, eve: .online]
        #expect(fire(&exchange, at: .seconds(2), all) == ["1: ada=online ben=online"])
    }

    @Test("a presence message is split, and read as it was written")
    func parts() throws {
        var exchange = make()
        let all = try (0..<1_500).map { try UserID("u\($0)") }
        for one in all { exchange.watched(one, true, now: .zero) }
        _ = hear(&exchange, asked: all, isNew: true, at: .zero)
        let parts = exchange.timerFired(now: .zero) { _ in .idle }.map { action in
            if case .say(let news) = action { news } else { PresenceNews(from: 0) }
        }
        #expect(parts.map { $0.asked.count } == [1_000, 500, 0])
        #expect(parts.map { $0.told.count } == [0, 500, 1_000])
        #expect(Set(parts.flatMap { $0.told.map { $0.user } }) == Set(all))
        for part in parts { #expect(PresenceNews(part.bytes) == part) }
    }

    @Test("a gateway that ends sends its pending changes at once")
    func ends() {
        var exchange = make()
        _ = hear(&exchange, asked: [ben], at: .zero)
        #expect(fire(&exchange, at: .zero, [ben: .online]) == ["1: ben=online"])
        exchange.changed(ben)
        #expect(fire(&exchange, at: .milliseconds(10)).isEmpty)
        exchange.ended()
        #expect(fire(&exchange, at: .milliseconds(10)) == ["1: ben=offline"])
    }

    @Test("malformed bytes are not read as a presence message, and nothing traps")
    func nonsense() throws {
        let news = PresenceNews(
            from: -5, asked: [.init(ada, isNew: true)],
            told: [.init(ben, .idle), .init(eve, .offline)])
        let bytes = news.bytes
        #expect(PresenceNews(bytes) == news)
        for count in bytes.indices { #expect(PresenceNews(Array(bytes[..<count])) == nil) }
        #expect(PresenceNews(bytes + [0]) == nil)
        var later = bytes
        later[0] = 2
        #expect(PresenceNews(later) == nil, "another format")
        var odd = bytes
        odd[odd.count - 1] = 3
        #expect(PresenceNews(odd) == nil, "a state that there is not")
        let many = try (0...PresenceNews.users).map {
            PresenceNews.Told(try UserID("u\($0)"), .idle)
        }
        #expect(PresenceNews(PresenceNews(from: 2, told: many).bytes) == nil, "too many")
        var random = SeededGenerator(seed: 7)
        for _ in 0..<2_000 {
            var other = bytes
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let index = Int.random(in: other.indices, using: &random)
                other[index] = UInt8.random(in: 0...255, using: &random)
            }
            if let read = PresenceNews(other) { #expect(read.bytes == other) }
        }
    }
}
