import Foundation
import RepriseCore
import RepriseServer
import RepriseWire
import Testing

/// Promise 1 on the server: acknowledged is stored, whatever kills the process.
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
    }

    @Test(
        "has stored every message it acknowledged, once, in a channel without holes, and knows each by its id",
        .timeLimit(.minutes(2)))
    func kills() async throws {
        var random = SeededLogRandom()
        print("killed writer: REPRISE_SEED=\(random.seed)")
        let folder = TestFolder()
        var acknowledged: [Acknowledged] = []
        for _ in 0..<Self.kills {
            // The first acknowledgement takes 40 ms on a machine that does other things, too.
            let pause = UInt32.random(in: 0...120_000, using: &random)
            acknowledged += try await blocking { try runAndKill(in: folder, after: pause) }
        }
        #expect(acknowledged.count > Self.kills)
        try await check(acknowledged, in: folder)
        folder.remove()
    }

    private func runAndKill(
        in folder: TestFolder, after pause: UInt32
    ) throws -> [Acknowledged] {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = Self.workload
        process.arguments = ["write", folder.path, "\(Self.idsPerRun)"]
        process.standardOutput = pipe
        try process.run()
        // The first line says that the log is open: the lock of the one that was killed is gone.
        let first = pipe.fileHandleForReading.availableData
        try #require(!first.isEmpty, "the writer did not start")
        usleep(pause)
        kill(process.processIdentifier, SIGKILL)
        let rest = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        #expect(process.terminationStatus == SIGKILL)
        return String(decoding: first + rest, as: UTF8.self).split(separator: "\n").compactMap {
            let words = $0.split(separator: " ").map(String.init)
            guard words.count == 3, let seq = Int64(words[1]) else { return nil }
            return Acknowledged(channel: words[0], seq: seq, id: words[2])
        }
    }

    private func check(_ acknowledged: [Acknowledged], in folder: TestFolder) async throws {
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
        let sealed = try log.dumpNow().filter { $0.hasPrefix("id ") }
        #expect(
            Set(sealed.map { $0.split(separator: " ")[2] }).count == sealed.count, "sealed twice")
        print(
            "killed writer: \(acknowledged.count) acknowledged, \(stored.count) stored, \(sealed.count) sealed"
        )
        await log.close()
    }

    /// The executable that the package builds beside the tests.
    static var workload: URL {
        #if os(Linux)
            let tests = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        #else
            let tests =
                Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL
                ?? URL(fileURLWithPath: CommandLine.arguments[0])
        #endif
        return tests.deletingLastPathComponent().appendingPathComponent("log-workload")
    }
}
