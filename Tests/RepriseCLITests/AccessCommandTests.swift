import Foundation
import RepriseCommandLine
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

@testable import RepriseCLI

@Suite("serve and token: authentication")
struct AccessCommandTests {
    static func withDevelopment(
        _ body: (RunningTool, String) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        let tool = try RunningTool([
            "serve", "--dev", "--port", "0", "--data", folder.path("data"), "--json",
        ])
        try await tool.wait("the ready line") { $0.contains("\n") }
        let line =
            try JSONSerialization.jsonObject(with: Data(tool.output.utf8)) as? [String: Any]
        #expect(line?["dev"] as? Bool == true)
        try await body(tool, try #require(line?["url"] as? String))
        tool.signal(SIGTERM)
        #expect(await tool.end() == 0)
    }

    @Test("a server for development warns of it, and gives a token to every user of this machine")
    func development() async throws {
        try await Self.withDevelopment { tool, url in
            #expect(tool.error.contains("--dev"))
            let result = try await Tool.run(["token", "--as", "ada", "--admin", "--server", url])
            #expect(result.status == 0)
            #expect(result.lines.count == 1)
            _ = try AccessToken(result.output.trimmingCharacters(in: .newlines))
            let user = try UserID("ada+eve@example.org")
            let token = try #require(try await DevToken.fetch(server: url, user: user))
            let claims = String(token.secret.split(separator: ".")[1])
            let text = claims.replacing("-", with: "+").replacing("_", with: "/")
            let padded = text + String(repeating: "=", count: (4 - text.count % 4) % 4)
            let bytes = try #require(Data(base64Encoded: padded))
            let json = String(decoding: bytes, as: UTF8.self)
            #expect(json.contains(#""sub":"ada+eve@example.org""#))
            #expect(!tool.error.contains(token.secret))
        }
    }

    @Test("a command without a token gets an error that says so and does not suggest a later try")
    func asked() async throws {
        try await Self.withDevelopment { _, url in
            for command in [["publish", "general", "hello"], ["channels"]] {
                let result = try await Tool.run(command + ["--server", url])
                #expect(result.status == 76, "\(command): \(result.error)")
                #expect(result.error.contains("token") && result.error.contains("--as"))
                #expect(!result.error.contains("later"))
                let named = try await Tool.run(command + ["--server", url, "--as", "ada"])
                #expect(named.status == 0, "\(command): \(named.error)")
            }
        }
    }

    @Test(
        "listen without a token ends with the same status as the other commands, not as unreachable"
    )
    func listening() async throws {
        try await Self.withDevelopment { _, url in
            let folder = try TemporaryFolder()
            let result = try await Tool.run([
                "listen", "general", "--server", url, "--journal", folder.path("inbox"),
            ])
            #expect(result.status == 76, "\(result.error)")
            #expect(result.error.contains("--as"))
        }
    }

    @Test("a change of a channel leaves its other settings: a private one does not become public")
    func changedChannel() async throws {
        try await Self.withDevelopment { _, url in
            func team(_ settings: String...) async throws -> String {
                let result = try await Tool.run(
                    ["channels", "team", "--as", "ada", "--server", url] + settings)
                #expect(result.status == 0, "\(result.error)")
                return result.output
            }
            _ = try await team("--visibility", "private", "--keep-days", "2")
            let titled = try await team("--title", "The team", "--keep-messages", "9")
            #expect(titled.contains("visibility  private"), "\(titled)")
            #expect(titled.contains("keeps       9 messages, 2d\n"), "\(titled)")
            let changed = try await team("--history", "since-join")
            #expect(changed.contains("The team") && changed.contains("private"), "\(changed)")
            let untitled = try await team("--no-title")
            #expect(!untitled.contains("The team") && untitled.contains("9 messages"))
            let days = try await team("--no-retention", "--keep-days", "1")
            #expect(days.contains("keeps       1d\n"), "\(days)")
            let list = try await Tool.run("channels", "--as", "ada", "--server", url)
            #expect(
                list.lines.map { $0.split(separator: " ").map(String.init) } == [
                    ["channel", "unread", "head", "visibility", "role", "keeps", "title"],
                    ["team", "0", "0", "private", "owner", "1d"],
                ])
            let dropped = try await team("--no-retention")
            #expect(!dropped.contains("keeps") && dropped.contains("private"), "\(dropped)")
        }
    }

    @Test("every command reports at once that no server answers")
    func nothingThere() async throws {
        for command in [
            ["token", "--as", "ada"], ["publish", "general", "hello", "--as", "ada"],
            ["publish", "general", "hello"], ["channels", "--as", "ada"], ["forms", "show"],
        ] {
            let start = ContinuousClock.now
            let result = try await Tool.run(command + ["--server", "http://127.0.0.1:1"])
            #expect(result.status == 69, "\(command): \(result.error)")
            // It was ten seconds, because failed connections were tried again.
            #expect(ContinuousClock.now - start < .seconds(8), "\(command)")
        }
    }

    @Test("a server that is not for development gives no token, and a remote one is not asked")
    func notForDevelopment() async throws {
        try await withServer { server, _ in
            #expect(try await DevToken.fetch(server: server.url, user: UserID("ada")) == nil)
            let result = try await Tool.run(["token", "--as", "ada", "--server", server.url])
            #expect(result.status == 76)
            #expect(result.error.contains("--dev"))
        }
        #expect(
            try await DevToken.fetch(server: "http://203.0.113.1:9", user: UserID("ada")) == nil)
        let result = try await Tool.run(["token", "--as", "ada", "--server", "http://127.0.0.1:1"])
        #expect(result.status == 69)
        let remote = try await Tool.run(
            "token", "--as", "ada", "--server", "http://203.0.113.1:9")
        #expect(remote.status == 76 && remote.error.contains("was not asked"), "\(remote.error)")
    }

    @Test("a server's token is for a day at most: more is a matter of usage, or of signing it")
    func longToken() async throws {
        let result = try await Tool.run("token", "--as", "ada", "--expires", "2d")
        #expect(result.status == 64 && result.output.isEmpty, "\(result)")
        #expect(result.error.contains("sign one with --keys"), "\(result.error)")
        try await Self.withDevelopment { _, url in
            let refused = await #expect(throws: RepriseError.self) {
                try await DevToken.fetch(server: url, user: UserID("ada"), seconds: 172_800)
            }
            #expect(refused?.code == .refused)
            #expect(refused?.message.contains("from 1 to 86400") == true, "\(refused as Any)")
        }
    }

    @Test("a token can be signed with a secret from a file")
    func signed() async throws {
        let folder = try TemporaryFolder()
        let secret = Data(repeating: 7, count: 32).base64EncodedString()
        let keys = try folder.write(secret + "\n", to: "secret")
        let result = try await Tool.run([
            "token", "--as", "ada", "--keys", keys, "--expires", "30d",
        ])
        #expect(result.status == 0)
        _ = try AccessToken(result.output.trimmingCharacters(in: .newlines))
        let short = try folder.write("c2hvcnQ=", to: "short")
        for arguments in [
            ["--keys", short], ["--keys", folder.path("none")],
        ] {
            let refused = try await Tool.run(["token", "--as", "ada"] + arguments)
            #expect(refused.status == 78)
            #expect(refused.lines.isEmpty)
        }
    }

    @Test(
        "a malformed length of time is refused",
        arguments: ["", "1", "h", "0s", "-1h", "1w", "99999999999999999999d", "1.5h"])
    func lifetimes(text: String) {
        #expect(Lifetime(argument: text) == nil)
    }

    @Test("lengths of time are read as people write them")
    func goodLifetimes() {
        for (text, seconds) in [("90s", 90), ("15m", 900), ("1h", 3_600), ("30d", 2_592_000)] {
            #expect(Lifetime(argument: text)?.seconds == seconds)
        }
    }

    @Test(
        "options that leave the server open or contradict each other are refused with a remedy",
        arguments: [
            (["--host", "0.0.0.0"], "--keys"), (["--host", "0.0.0.0", "--dev"], "--dev"),
            (["--dev", "--keys", "x"], "one place"),
            (["--jwks", "https://a/", "--keys", "x"], "one place"),
            (["--jwks", "http://id.example.org/"], "https"), (["--tls-cert", "x"], "--tls-key"),
            (["--origin", "*"], "origin"), (["--keys", "nonexistent"], "nonexistent"),
            (["--audience", ""], "audience"),
        ])
    func insecure(arguments: [String], words: String) async throws {
        let folder = try TemporaryFolder()
        let result = try await Tool.run(
            ["serve", "--port", "0", "--data", folder.path("data")] + arguments)
        #expect(result.status == 78, "\(result.error)")
        #expect(result.error.contains(words), "\(result.error)")
        #expect(result.error.split(separator: "\n").count == 1)
    }

    @Test("SIGHUP reads again and ends nothing")
    func reload() async throws {
        let folder = try TemporaryFolder()
        let secret = Data(repeating: 7, count: 32).base64EncodedString()
        let keys = try folder.write(secret, to: "secret")
        let tool = try RunningTool([
            "serve", "--port", "0", "--data", folder.path("data"), "--keys", keys,
        ])
        try await tool.wait("the ready line") { $0.contains("\n") }
        tool.signal(SIGHUP)
        try await eventually("it has read again") {
            !tool.isRunning || tool.error.contains("read again")
        }
        #expect(tool.isRunning)
        tool.signal(SIGTERM)
        #expect(await tool.end() == 0)
    }

    @Test("every way to set the authentication has the same result")
    func settings() async throws {
        let folder = try TemporaryFolder()
        let file = try folder.write(
            #"{"audience": "chat", "origins": ["https://a.example"], "keys": "k"}"#,
            to: "config.json")
        let fromFile = try await ServeSettings(flags: .init(), environment: [:], file: file)
        #expect(fromFile.audience == "chat")
        #expect(fromFile.origins == ["https://a.example"])
        #expect(fromFile.access == .tokens(.file("k")))
        let environment = [
            "REPRISE_JWKS": "https://id.example.org/keys",
            "REPRISE_ORIGINS": "https://b.example,https://c.example",
            "REPRISE_TLS_CERT": "c", "REPRISE_TLS_KEY": "k", "REPRISE_AUDIENCE": "b",
        ]
        let settings = try await ServeSettings(
            flags: .init(audience: "flag"), environment: environment, file: nil)
        #expect(settings.access == .tokens(.jwks("https://id.example.org/keys")))
        #expect(settings.origins == ["https://b.example", "https://c.example"])
        #expect(settings.tls?.certificate == "c")
        #expect(settings.audience == "flag")
    }
}
