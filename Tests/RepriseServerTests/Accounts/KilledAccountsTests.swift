import Foundation
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

/// Guarantee 1 for receipts: echoed is stored, whatever kills the process.
@Suite("Accounts killed with SIGKILL")
struct KilledAccountsTests {
    @Test(
        "have every acknowledged position, and none that was not sent",
        .timeLimit(.minutes(2)))
    func kills() async throws {
        var random = SeededGenerator()
        print("killed accounts: REPRISE_SEED=\(random.seed)")
        let folder = try TemporaryFolder()
        var told: [String: Int64] = [:]
        for round in 0..<20 {
            let pause = UInt32.random(in: 0...25_000, using: &random)
            let lines = try await onThread {
                let process = try ChildProcess(.sibling("log-workload"), ["move", folder.path])
                var lines: [String] = []
                // One of them at least has said something, however slow the machine is.
                repeat {
                    lines.append(try #require(process.readLine(), "it has ended: \(lines)"))
                } while round == 0 && Self.positions(in: lines).isEmpty
                usleep(pause)
                process.signal(SIGKILL)
                lines += process.restOfLines()
                #expect(process.wait() == .signal(SIGKILL))
                return lines
            }
            for (user, read) in Self.positions(in: lines) {
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
    private static func positions(in lines: [String]) -> [String: Int64] {
        var told: [String: Int64] = [:]
        for line in lines {
            let words = line.split(separator: " ")
            guard words.count == 2, let read = Int64(words[1]) else { continue }
            told[String(words[0])] = read
        }
        return told
    }
}
