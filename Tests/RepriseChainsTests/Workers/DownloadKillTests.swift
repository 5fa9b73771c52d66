import Foundation
import RepriseChains
import RepriseCore
import RepriseTestSupport
import RepriseTesting
import Testing

@Suite("A download that is killed", .timeLimit(.minutes(2)))
struct DownloadKillTests {
    @Test(
        "at random bytes of 50 MB ends with the file whole, and fetches little of it twice",
        .limit("workers.position"))
    func isKilled() async throws {
        let bytes = content(50_000_000)
        let folder = try TemporaryFolder()
        let position = folder.appending("position").path
        try await OddServer.run { request, answer in
            let from = request.headers["if-range"] == "\"v1\"" ? request.from ?? 0 : 0
            let range = ["Content-Range: bytes \(from)-\(bytes.count - 1)/\(bytes.count)"]
            try await answer.head(
                from > 0 ? 206 : 200,
                ["ETag: \"v1\"", "Content-Length: \(bytes.count - from)"] + (from > 0 ? range : []))
            // Slow enough that a kill falls into it.
            for begin in stride(from: from, to: bytes.count, by: 500_000) {
                try await answer.write(bytes[begin..<min(begin + 500_000, bytes.count)])
                try await Task.sleep(for: .milliseconds(12))
            }
        } test: { url, host, server in
            let home = folder.appending("home")
            #expect(mkdir(home.path, 0o700) == 0)
            var (kills, digest) = (0, "")
            while digest.isEmpty {
                try #require(kills < 60)
                let child = try ChildProcess(
                    .sibling("DownloadRunner"), [url, host, home.path, position])
                // Where a process takes longer than that to begin, it gets longer.
                let timeout = Duration.milliseconds(Int.random(in: 60...600) << (kills / 15))
                let killer = Task {
                    try await Task.sleep(for: timeout)
                    child.signal(SIGKILL)
                }
                let last = try await onThread {
                    var last: String?
                    while let line = child.readLine() { last = line }
                    return last
                }
                let ending = try await onThread { child.wait() }
                killer.cancel()
                // Whole or not at all, whenever it was killed.
                if let size = try? Data(contentsOf: home.appendingPathComponent("film")).count {
                    #expect(size == bytes.count)
                }
                if ending == .exit(0) {
                    digest = String(last?.dropFirst("done ".count) ?? "-")
                } else {
                    #expect(ending == .signal(SIGKILL), "\(last ?? "")")
                    kills += 1
                }
            }
            #expect(digest == sha256(bytes))
            #expect(try Array(Data(contentsOf: home.appendingPathComponent("film"))) == bytes)
            #expect(try FileManager.default.contentsOfDirectory(atPath: home.path) == ["film"])
            let from = server.requests.map { $0.from ?? 0 }
            #expect(from == from.sorted(), "no position is forgotten")
            #expect(kills == 0 || from.contains { $0 > 0 } || kills < 4)
            print("killed \(kills) times, asked from \(from)")
        }
    }
}
