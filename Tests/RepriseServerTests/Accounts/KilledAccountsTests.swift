import Foundation
import RepriseCore
import RepriseServer
import RepriseWire
import Testing

/// Promise 1 for receipts: echoed is stored, whatever kills the process.
@Suite("Accounts killed with SIGKILL")
struct KilledAccountsTests {
    @Test(
        "have every position that was said to be stored, and none that nobody moved",
        .timeLimit(.minutes(2)))
    func kills() async throws {
        var random = SeededLogRandom()
        print("killed accounts: REPRISE_SEED=\(random.seed)")
        let folder = TestFolder()
        var told: [String: Int64] = [:]
        for round in 0..<20 {
            let pause = UInt32.random(in: 0...25_000, using: &random)
            let said = try await blocking {
                // One of them at least has said something, however slow the machine is.
                try runAndKill(in: folder, after: pause, untilTold: round == 0)
            }
            for (user, read) in said {
                #expect(read > told[user, default: 0], "a position went back")
                told[user] = read
            }
        }
        let accounts = try Accounts.open(at: folder.path, implicitChannels: true)
        let stored = try await accounts.positions(
            of: try ChannelName("room"), first: nil, limit: 100)
        for position in stored {
            let last = told[position.user.text] ?? 0
            // Each kill leaves at most one move of a user that was stored and never said.
            #expect((last...last + 20).contains(position.read), "\(position), told \(last)")
        }
        #expect(Set(told.keys).isSubset(of: stored.map(\.user.text)), "all that was said is there")
        #expect(!told.isEmpty)
        await accounts.close()
        folder.remove()
    }

    /// The last position of each user that the process said was stored.
    private func runAndKill(
        in folder: TestFolder, after pause: UInt32, untilTold: Bool
    ) throws -> [String: Int64] {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = KilledWriterTests.workload
        process.arguments = ["move", folder.path]
        process.standardOutput = pipe
        try process.run()
        var first = Data()
        repeat {
            let more = pipe.fileHandleForReading.availableData
            try #require(!more.isEmpty, "the process has ended: \(first.count) bytes")
            first += more
        } while untilTold && positions(in: first).isEmpty
        usleep(pause)
        kill(process.processIdentifier, SIGKILL)
        let rest = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return positions(in: first + rest)
    }

    private func positions(in output: Data) -> [String: Int64] {
        var told: [String: Int64] = [:]
        for line in String(decoding: output, as: UTF8.self).split(separator: "\n") {
            let words = line.split(separator: " ")
            guard words.count == 2, let read = Int64(words[1]) else { continue }
            told[String(words[0])] = read
        }
        return told
    }
}
