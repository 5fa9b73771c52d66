import Foundation
import GRDB
import RepriseChannels
import RepriseCore
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

@Suite("Logs whose rows are damaged", .timeLimit(.minutes(1)))
struct DamagedLogTests {
    /// What a server that is asked for two channels is asked for.
    private func requests(
        _ server: ScriptedChannelServer
    ) async throws -> [String: ClientFrame.Subscription] {
        var found: [String: ClientFrame.Subscription] = [:]
        while found.count < 2 {
            guard case .subscribe(let channels) = try await server.next() else { continue }
            for channel in channels { found[channel.channel.text] = channel }
        }
        return found
    }

    @Test(
        "A log that cannot be read is requested anew and told of once; each reader gets each message once, and other channels go on where they are",
        arguments: ["coverage = '[[1,'", "epoch = ''", "coverage", "epoch"],
        [ReaderOptions.Order.arrival, .ordered])
    func unreadable(damage: String, order: ReaderOptions.Order) async throws {
        let options = ReaderOptions(order: order)
        let first = try await Bench()
        try await first.general.read("inbox", options: options) { _ in }
        first.start()
        let former = try await first.accept()
        try former.catchUp(try await former.request(), head: 5)
        try await first.general.caughtUp()
        try await first.journal.write { db in
            try db.execute(
                sql: """
                    INSERT INTO channelsLog (channel, epoch, coverage, head, version)
                    VALUES ('other', 'e7', '[[0,3]]', 3, 0)
                    """)
            guard damage.contains("=") else { return }
            try db.execute(sql: "UPDATE channelsLog SET \(damage) WHERE channel = 'general'")
        }
        try await first.finish()
        if !damage.contains("=") {
            // It can be read, and not be changed.
            try rot(
                damage, "TEXT NOT NULL", of: "channelsLog", to: "CAST(\(damage) AS BLOB)",
                where: "channel = 'general'",
                in: first.folder.appending("journal/journal.sqlite").path)
        }

        let lines = LoggedLines()
        let bench = try await Bench(in: first.folder) { channels, _ in
            channels.logger = lines.logger()
        }
        let (inbox, late) = (Observer(), Observer())
        try await bench.general.read("inbox", options: options) { inbox.see($0) }
        try await bench.general.read("late", options: options) { late.see($0) }
        try await bench.channels.channel("other").subscribe()
        bench.start()
        let server = try await bench.accept()
        let asked = try await requests(server)
        #expect(asked["other"]?.epoch == (try Epoch("e7")))
        #expect(asked["other"]?.coverage == Coverage(through: 3))
        let request = try #require(asked["general"])
        #expect(request.epoch == nil && request.coverage.isEmpty)
        try server.catchUp(request, head: 7)
        try await bench.general.caughtUp()
        #expect(inbox.sequences == [6, 7])
        #expect(late.sequences == Array(1...7))
        let sum = try await bench.journal.ledger()
        #expect(sum.accepted == 7 && sum.duplicates == 5 && sum.isBalanced)
        if damage == "epoch = ''" {
            // It may have been another, and have had more.
            #expect(sum.lost == [.init(channel: "general", reason: "epoch", count: nil)])
        } else {
            #expect(sum.lost.isEmpty)
        }
        let errors = lines.all.filter { $0.hasPrefix("error ") }
        #expect(errors.count == 1 && errors.first?.contains("channel=general") == true)
        try await bench.finish()
    }
}
