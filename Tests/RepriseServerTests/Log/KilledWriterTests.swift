import Foundation
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

/// Guarantee 1 on the server: acknowledged is stored, whatever kills the process.
@Suite("A writer killed with SIGKILL")
struct KilledWriterTests {
    private static let kills = 50
    /// So few that nearly every kill finds a run that is being sealed.
    private static let idsPerRun = 512

    /// What a process was told is stored.
    private struct Acknowledged: Hashable {
        let channel: String
        let seq: Int64
        let id: String

        init(channel: String, seq: Int64, id: String) {
            (self.channel, self.seq, self.id) = (channel, seq, id)
        }

        init?(line: String) {
            let words = line.split(separator: " ").map(String.init)
            guard words.count == 3, let seq = Int64(words[1]) else { return nil }
            self.init(channel: words[0], seq: seq, id: words[2])
        }
    }

    @Test(
        "has stored every acknowledged message once, in a channel without holes, and knows each by its id",
        .timeLimit(.minutes(2)))
    func kills() async throws {
        var random = SeededGenerator()
        print("killed writer: REPRISE_SEED=\(random.seed)")
        let folder = try TemporaryFolder()
        var acknowledged: [Acknowledged] = []
        for round in 0..<Self.kills {
            let pause = UInt32.random(in: 0...120_000, using: &random)
            let lines = try await onThread {
                let writer = try ChildProcess(
                    .sibling("log-workload"), ["write", folder.path, "\(Self.idsPerRun)"])
                // The first line says that the log is open: the lock of the one that was killed is
                // gone.
                var first = [try #require(writer.readLine(), "the writer did not start")]
                // Every other one has acknowledged something, however slow the machine is.
                while round.isMultiple(of: 2), first.compactMap(Acknowledged.init(line:)).isEmpty {
                    first.append(try #require(writer.readLine(), "it has ended: \(first)"))
                }
                usleep(pause)
                writer.signal(SIGKILL)
                let rest = writer.restOfLines()
                #expect(writer.wait() == .signal(SIGKILL))
                return first + rest
            }
            acknowledged += lines.compactMap(Acknowledged.init(line:))
        }
        #expect(acknowledged.count >= Self.kills / 2)
        try await check(acknowledged, in: folder)
        folder.remove()
    }

    private func check(_ acknowledged: [Acknowledged], in folder: TemporaryFolder) async throws {
        var configuration = SQLiteMessageLog.Configuration()
        configuration.idsPerRun = Self.idsPerRun
        let log = try SQLiteMessageLog.open(at: folder.path, configuration)
        var stored: [Acknowledged] = []
        for number in 0..<3 {
            let channel = try ChannelName("channel-\(number)")
            let head = try await log.state(of: channel).head
            var position: Int64 = 0
            while let missing = SequenceRange(after: position, through: head) {
                let page = try await log.page(
                    of: channel, missing: [missing], limit: 1_000, byteLimit: 1 << 20)
                #expect(page.gone.isEmpty)
                for event in page.events {
                    #expect(event.prev == position)
                    position = event.seq
                    stored.append(
                        Acknowledged(channel: channel.text, seq: event.seq, id: event.id.text))
                }
                try #require(page.through == position)
            }
        }
        #expect(Set(stored.map(\.id)).count == stored.count, "an id is stored twice")
        #expect(Set(acknowledged).subtracting(stored).isEmpty, "acknowledged, but not stored")
        #expect(Set(acknowledged).count == acknowledged.count)
        let again = try await log.append(
            try stored.map {
                NewMessage(
                    channel: try ChannelName($0.channel), id: try EntryID($0.id), body: [0x31])
            })
        #expect(again == stored.map { .duplicate(seq: $0.seq) }, "an id is forgotten")
        let sealed = try log.stepped.dump().filter { $0.hasPrefix("id ") }
        #expect(
            Set(sealed.map { $0.split(separator: " ")[2] }).count == sealed.count, "sealed twice")
        print(
            "killed writer: \(acknowledged.count) acknowledged, \(stored.count) stored, \(sealed.count) sealed"
        )
        await log.close()
    }
}
