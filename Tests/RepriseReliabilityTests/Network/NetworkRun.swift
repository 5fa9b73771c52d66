import Foundation
import Reprise
import RepriseChannels
import RepriseCore
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Synchronization
import Testing

/// One run of a seed: a real server, real devices, each behind a proxy of its own with a plan drawn
/// from the seed; publishers that are sure of what they published; and the account of it all.
struct NetworkRun: Sendable {
    let seed: UInt64
    let devices: Int
    /// How many a publisher with a good network stores.
    let messages: Int
    /// How many each device sends through its outbox.
    let own: Int
    /// How large they are, at most.
    let bodyBytes: Int

    /// The size of a run comes from its seed, too.
    init(seed: UInt64, scale: Int = 1) {
        var random = SeededGenerator(seed: seed)
        self.seed = seed
        devices = Int.random(in: 1...3, using: &random)
        messages = Int.random(in: 100...400, using: &random) * scale
        own = Int.random(in: 5...25, using: &random) * scale
        bodyBytes = [40, 400, 4_000, 20_000][Int.random(in: 0...3, using: &random)]
    }

    /// Plays it.
    ///
    /// - Returns: the figures; what is wrong is recorded as an issue.
    func play() async throws -> Figures {
        let channel = try ChannelName("general")
        return try await NetworkServer.with { server in
            let proxies = try (0..<devices).map { index in
                try FaultProxy(
                    to: server.port,
                    plan: .init(
                        seed: seed &* 16 &+ UInt64(index), reach: 64...max(2_048, bodyBytes * 8)))
            }
            var phones: [NetworkDevice] = []
            for proxy in proxies {
                let phone = try await NetworkDevice.open(proxy.url)
                try await phone.read(channel)
                phone.start()
                phones.append(phone)
            }
            var account = Account()
            (account.acknowledged, account.published) = try await publish(channel, server, phones)
            for proxy in proxies { await proxy.heal() }
            let total = account.acknowledged.count + account.published.reduce(0) { $0 + $1.count }
            let healed = ContinuousClock.now
            for (index, phone) in phones.enumerated() {
                try await eventually(
                    "seed \(seed): device \(index) is complete", within: .seconds(45)
                ) {
                    guard try await phone.effectCount() >= total else { return false }
                    return try await phone.reprise.ledger().pending == 0
                }
            }
            var figures = Figures(untilComplete: ContinuousClock.now - healed)
            figures.messages = total
            account.log = try await server.stored(in: channel)
            for phone in phones {
                account.effects.append(try await phone.effects(in: channel))
                try await check(phone, total: total)
                figures.ends += phone.givenUp.count
                await phone.finish()
            }
            #expect(account.complaints == [], "seed \(seed)")
            for proxy in proxies {
                figures.add(proxy.report)
                await proxy.stop()
            }
            figures.effects = account.effects.reduce(0) { $0 + $1.count }
            figures.complaints = account.complaints.count
            return figures
        }
    }

    private func check(_ phone: NetworkDevice, total: Int) async throws {
        let sum = try await phone.reprise.ledger()
        #expect(sum.isBalanced, "seed \(seed): \(sum)")
        #expect(sum.accepted == Int64(total + own), "seed \(seed): \(sum)")
        #expect(sum.outcomes[.applied] == sum.accepted && sum.lost == [], "seed \(seed): \(sum)")
        // Cuts, silence, truncated frames: none of it is a reason never to come back.
        #expect(phone.givenUp == [], "seed \(seed)")
    }

    /// From all sides at once, slowly enough that connections come and go meanwhile.
    private func publish(
        _ channel: ChannelName, _ server: NetworkServer, _ phones: [NetworkDevice]
    ) async throws -> (acknowledged: [Stored], published: [[EntryID]]) {
        async let acknowledged = publishDirectly(channel, server)
        let published = try await withThrowingTaskGroup(of: (Int, [EntryID]).self) { group in
            for (index, phone) in phones.enumerated() {
                group.addTask { (index, try await publish(channel, phone, index)) }
            }
            return try await group.reduce(into: [Int: [EntryID]]()) { $0[$1.0] = $1.1 }
        }
        return (try await acknowledged, phones.indices.map { published[$0] ?? [] })
    }

    private func publishDirectly(
        _ channel: ChannelName, _ server: NetworkServer
    ) async throws -> [Stored] {
        var random = SeededGenerator(seed: seed &+ 1)
        let publisher = try await NetworkPublisher.connect(to: server.port)
        var acknowledged: [Stored] = []
        while acknowledged.count < messages {
            let count = min(Int.random(in: 1...20, using: &random), messages - acknowledged.count)
            acknowledged += try await publisher.publish(
                (0..<count).map { _ in
                    .init(
                        channel: channel, id: .random(),
                        body: json(bytes: .random(in: 2...bodyBytes, using: &random)))
                })
            try await Task.sleep(for: .milliseconds(Int.random(in: 10...80, using: &random)))
        }
        await publisher.close()
        return acknowledged
    }

    private func publish(
        _ channel: ChannelName, _ phone: NetworkDevice, _ index: Int
    ) async throws -> [EntryID] {
        var random = SeededGenerator(seed: seed &+ 100 &+ UInt64(index))
        var ids: [EntryID] = []
        for _ in 0..<own {
            let body = json(bytes: .random(in: 2...bodyBytes, using: &random))
            ids.append(try await phone.reprise.channel(channel.text).publish(body))
            try await Task.sleep(for: .milliseconds(Int.random(in: 10...80, using: &random)))
        }
        return ids
    }
}

/// What runs have met, in numbers.
struct Figures: Sendable, CustomStringConvertible {
    var runs = 1
    var messages = 0
    var effects = 0
    var complaints = 0
    /// How often a client gave up for good.
    var ends = 0
    var untilComplete: Duration
    var met: [FaultProxy.Report.Met: Int] = [:]
    var connections = 0
    var bytes = 0

    mutating func add(_ report: FaultProxy.Report) {
        met.merge(report.met, uniquingKeysWith: +)
        connections += report.connections
        bytes += report.bytes.values.reduce(0, +)
    }

    mutating func add(_ other: Figures) {
        runs += other.runs
        messages += other.messages
        effects += other.effects
        complaints += other.complaints
        ends += other.ends
        untilComplete = max(untilComplete, other.untilComplete)
        met.merge(other.met, uniquingKeysWith: +)
        connections += other.connections
        bytes += other.bytes
    }

    var description: String {
        let kinds = FaultProxy.Report.Met.allCases.map { "\($0.rawValue) \(met[$0] ?? 0)" }
        return """
            \(runs) runs, \(messages) messages stored, \(effects) effects on devices, \
            \(complaints) complaints, \(ends) clients gave up; \(connections) connections, \
            \(bytes) bytes, \(kinds.joined(separator: ", ")); complete at the latest \
            \(untilComplete) after the faults ended
            """
    }
}
