import Foundation
import RepriseCore
import ReprisePhone
import RepriseTestSupport
import RepriseTesting
import Testing

@testable import RepriseLab

@Suite("phone")
struct PhoneTests {
    /// A phone that runs with the tool, and an app on it that never connects.
    private final class Running {
        let folder: TemporaryFolder
        let tool: RunningTool
        var path: String { folder.path("p") }

        init(_ arguments: [String] = [], folder: TemporaryFolder? = nil) async throws {
            self.folder = try folder ?? TemporaryFolder()
            tool = try RunningTool(
                ["phone", "run", "--folder", self.folder.path("p"), "--until-input-ends"]
                    + arguments, program: .lab)
            try await tool.wait("the phone is ready") { $0.contains("\n") }
        }

        func phone(_ words: String...) async throws -> Tool.Result {
            try await LabTool.run(["phone"] + words + ["--folder", path])
        }

        func end() async {
            tool.signal(SIGTERM)
            #expect(await tool.end() == 0)
        }
    }

    @Test("a push reaches an installed app's notification centre, and status, log and JSON say so")
    func push() async throws {
        let running = try await Running()
        #expect(try await running.phone("install", "mail", "/bin/sleep", "1000").status == 0)
        #expect(try await running.phone("permission", "allow").status == 0)
        let push = try await running.phone(
            "push", "--title", "Hello", "--body", "You", "--badge", "3", "--data", #"{"a": [1]}"#)
        #expect(push.status == 0, "\(push.error)")
        #expect(push.output.contains("banner"))
        let status = try await running.phone("status")
        #expect(status.output.contains("“Hello: You”"))
        for line in status.lines { #expect(line.count <= 80, "\(line)") }
        let json = try await running.phone("status", "--json").output
        let phone = try JSONDecoder().decode(PhoneStatus.self, from: Data(json.utf8))
        #expect(phone.apps.first?.badge == 3)
        let info = try #require(phone.apps.first?.delivered.first?.request.content.info)
        #expect(String(decoding: info, as: UTF8.self).contains(#""a": [1]"#))
        let log = try await running.phone("log", "--json").lines
        let events = try log.map { try JSONDecoder().decode(PhoneEvent.self, from: Data($0.utf8)) }
        #expect(events.map(\.number) == Array(1...events.count))
        try await running.tool.wait("the timeline") { $0.contains("banner") }
        await running.end()
    }

    @Test("a server's push comes through the stand-in for APNs to an app that is dead")
    func apns() async throws {
        let running = try await Running()
        let apns = try RunningTool(
            ["phone", "apns", running.path, "--keys", running.folder.path("k")], program: .lab)
        try await apns.wait("it says how to reach it") { $0.contains("\n") }
        let server = try await ToolServer(
            data: running.folder.path("s"),
            options: ["--dev"] + apns.output.split(whereSeparator: \.isWhitespace).map(String.init))
        func reprise(_ words: String...) async throws -> String {
            let said = try await Tool.run(words + ["--server", server.url])
            #expect(said.status == 0, "\(words): \(said.error)")
            return said.output.trimmingCharacters(in: .newlines)
        }
        _ = try await reprise("channels", "team", "--visibility", "private", "--as", "ada")
        _ = try await reprise("members", "team", "--add", "ben", "--as", "ada")
        let address = PushEndpoint.Address(in: PhoneFolder(URL(fileURLWithPath: running.path)))
        let token = try await reprise("token", "--as", "ben")
        let installed = try await LabTool.run([
            "phone", "install", "chat", Tool.Program.lab.url.path, "--folder", running.path, "--",
            "app", "notices", "--server", server.url, "--channel", "team", "--user", "ben",
            "--token", token, "--push-token", try #require(address).token(of: "chat"),
        ])
        #expect(installed.status == 0, "\(installed.error)")
        #expect(try await running.phone("permission", "allow").status == 0)
        #expect(try await running.phone("launch").status == 0)
        try await running.tool.wait("its token is known") { $0.contains("registered") }
        #expect(try await running.phone("kill").status == 0)
        _ = try await reprise("publish", "team", #"{"text":"Hello"}"#, "--as", "ada")
        try await running.tool.wait("the banner") { $0.contains("banner") }
        #expect(try await running.phone("status").output.contains("Hello"))
        apns.signal(SIGTERM)
        #expect(await apns.end() == 0)
        await running.end()
    }

    @Test("the stand-in for APNs prints and writes nothing where a phone does not run")
    func apnsWithoutPhone() async throws {
        let running = try await Running()
        let (folder, keys) = (running.folder, running.folder.path("k"))
        let result = try await LabTool.run([
            "phone", "apns", running.path, folder.path("none"), "--keys", keys,
        ])
        #expect(result.status == 69 && result.output.isEmpty, "\(result)")
        #expect(result.error.contains("reprise-lab phone run"))
        #expect(!FileManager.default.fileExists(atPath: keys))
        await running.end()
    }

    @Test("a phone that was killed remembers its apps and its rules")
    func killed() async throws {
        let running = try await Running(["--rule", "zeroBadge=leavesDelivered"])
        _ = try await running.phone("install", "mail", "/bin/sleep", "1000")
        running.tool.signal(SIGKILL)
        _ = await running.tool.end()
        let dead = try await running.phone("status")
        #expect(dead.status == 69)
        #expect(dead.error.contains("reprise-lab phone run"))
        let again = try await Running(folder: running.folder)
        let status = try await again.phone("status").output
        #expect(status.contains("mail"))
        #expect(status.contains("zeroBadge = leavesDelivered"))
        for rule in try await again.phone("rules").lines { #expect(rule.count <= 80, "\(rule)") }
        await again.end()
    }

    @Test("two phones do not run in one folder")
    func owned() async throws {
        let running = try await Running()
        let other = try await running.phone("run")
        #expect(other.status == 75)
        await running.end()
    }

    @Test(
        "nonsense is refused with its remedy and its exit code",
        arguments: [
            (["tap"], 64 as Int32, "several|No app"), (["launch", "--app", "none"], 65, "none"),
            (["clock"], 64, "--advance"), (["clock", "--zone", "No/Where"], 78, "time zone"),
            (["slow", "--latency", "fast"], 64, "latency"), (["push"], 64, "--payload"),
            (["push", "--wake", "--data", "[1]"], 65, "--data"),
            (["push", "--body", "x", "--header", "apns-priority=7"], 65, "BadPriority"),
            (["rules", "zeroBadge=perhaps"], 78, "leavesDelivered"),
            (["install", "x", "/nonexistent"], 65, "program"),
            (["install", ".x", "/bin/sleep"], 78, "id"), (["nonsense"], 64, "--help"),
        ])
    func nonsense(words: [String], status: Int32, says: String) async throws {
        let running = try await Running()
        let result = try await LabTool.run(["phone"] + words + ["--folder", running.path])
        if words != ["tap"] {
            #expect(result.status == status, "\(words): \(result.error)")
            #expect(result.error.contains(says), "\(words): \(result.error)")
        }
        #expect(result.status != 0 && result.status != 70)
        #expect(result.error.split(separator: "\n").count == 1)
        #expect(running.tool.isRunning)
        await running.end()
    }

    @Test("times are read as people type them")
    func times() {
        let good: [(String, Int64)] = [
            ("300ms", 300), ("2.5s", 2_500), ("8h", 28_800_000), ("-2d", -172_800_000),
        ]
        for (text, milliseconds) in good {
            #expect(TypedDuration(argument: text)?.milliseconds == milliseconds, "\(text)")
        }
        for text in ["", "s", "5", "5x", "nans", "infs", "1e300d", "0x1s "] {
            #expect(TypedDuration(argument: text) == nil, "\(text)")
        }
    }
}
