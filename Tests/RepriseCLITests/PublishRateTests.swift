import Foundation
import RepriseTestSupport
import Testing

@testable import RepriseCLI

@Suite("publish under the server's rate")
struct PublishRateTests {
    @Test(
        "a publish that waits for its rate reports the wait once; not with --quiet, and with --json in the summary alone"
    )
    func heldBack() async throws {
        let scene = try await ChatScene(options: ["--dev", "--publishes-per-second", "50"])
        func arguments(_ count: Int, _ options: [String] = []) throws -> [String] {
            let file = try scene.folder.write(
                (1...count).map { "\($0)\n" }.joined(), to: "lines-\(count)")
            return [
                "publish", "general", "--file", file, "--as", "ada", "--server", scene.server.url,
            ] + options
        }
        // 2,000 go at once, and the others as 50 a second: that takes longer than a busy machine
        // makes of a pause in which as many are allowed again.
        let first = try await Tool.run(arguments(2_400))
        #expect(first.status == 0, "\(first.error)")
        #expect(first.output.hasPrefix("2,400 messages stored in general at 1–2400, "))
        #expect(first.output.contains("; held back for "), "\(first.output)")
        let lines = first.error.split(separator: "\n")
        #expect(lines.count == 1 && lines[0].contains("--publishes-per-second"), "\(lines)")
        #expect(!first.error.contains("\u{1b}") && !first.error.contains("\r"))

        let quiet = try await Tool.run(arguments(300, ["--quiet"]))
        #expect(quiet.status == 0 && quiet.error.isEmpty, "\(quiet.error)")
        #expect(quiet.output.contains("; held back for "), "\(quiet.output)")
        let json = try await Tool.run(arguments(300, ["--json"]))
        #expect(json.status == 0 && json.error.isEmpty, "\(json.error)")
        let summary =
            try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any]
        #expect((summary?["heldBackMilliseconds"] as? Int).map { $0 > 500 } == true)
        #expect(summary?["published"] as? Int == 300)

        let terminal = try PseudoTerminal(arguments(300))
        try await terminal.wait("the count says why it goes slowly") { rows in
            rows.contains { $0.contains(" stored, ") && $0.contains("held back by the server's") }
        }
        #expect(await terminal.end() == 0)
    }
}
