import Foundation
import RepriseTestSupport
import RepriseTesting
import Testing

/// Gateways on machines that do not have the same SQLite.
@Suite("Gateways with different versions of SQLite")
struct ClusterSQLiteTests {
    /// The SQLite of a wheel that `make setup` gets; nil: there is none for this machine.
    private static let library: URL? = {
        let folder = Command.otherVersions.appending(path: "pyproj.libs")
        let files = try? FileManager.default.contentsOfDirectory(
            at: folder, includingPropertiesForKeys: nil)
        return files?.first { $0.lastPathComponent.hasPrefix("libsqlite3-") }
    }()

    private struct Change {
        let user, method, path: String
        var body = ""
    }

    private static let changes: [Change] = [
        Change(
            user: "ada", method: "PUT", path: "channels/team",
            body: #"{"visibility":"private","history":"sinceJoin","title":"Équipe"}"#),
        Change(
            user: "ada", method: "PUT", path: "channels/team/members/bob",
            body: #"{"role":"member"}"#),
        Change(
            user: "ada", method: "POST", path: "channels/team/messages",
            body: #"{"id":"a1","body":{"x":1}}"#),
        Change(
            user: "bob", method: "POST", path: "channels/team/messages",
            body: #"{"id":"a2","body":"two"}"#),
        Change(
            user: "ada", method: "POST", path: "channels/team/messages",
            body: #"{"id":"a1","body":{"x":1}}"#),
        Change(
            user: "bob", method: "PATCH", path: "channels/team/messages/a2",
            body: #"{"id":"a3","body":"too"}"#),
        Change(
            user: "ada", method: "POST", path: "channels/team/messages",
            body: #"{"id":"a4","deletes":"a1","body":null}"#),
        Change(
            user: "bob", method: "PUT", path: "channels/team/positions",
            body: #"{"read":2,"delivered":3,"device":"phone-1"}"#),
        Change(
            user: "bob", method: "PUT", path: "devices/phone-1",
            body: #"{"platform":"ios","pushToken":"740f4707bebcf74f"}"#),
        Change(
            user: "bob", method: "PUT", path: "mutes/channels/team",
            body: #"{"until":4102444800000}"#),
        Change(user: "ada", method: "PUT", path: "mutes/users/bob", body: "{}"),
        Change(
            user: "bob", method: "PUT", path: "quiet-hours",
            body: #"{"from":"22:00","to":"07:00","timeZone":"Europe/Berlin"}"#),
        Change(user: "ada", method: "PUT", path: "profile", body: #"{"name":"Ada Lovelace"}"#),
        Change(user: "bob", method: "PUT", path: "archive/team"),
        Change(user: "ada", method: "PUT", path: "direct/bob"),
        Change(user: "ada", method: "PATCH", path: "channels/team", body: #"{"title":"Team"}"#),
        Change(
            user: "ada", method: "PUT", path: "channels/team/members/cleo",
            body: #"{"role":"owner"}"#),
        Change(user: "ada", method: "DELETE", path: "channels/team/members/bob"),
        Change(user: "bob", method: "DELETE", path: "mutes/channels/team"),
        Change(user: "bob", method: "DELETE", path: "devices/phone-1"),
    ]

    /// Makes all changes in a channel, in turn at one server and at the other.
    private func makeChanges(in channel: String, at servers: [ToolServer]) async throws {
        var tokens: [[String: String]] = []
        for server in servers {
            var each: [String: String] = [:]
            for user in ["ada", "bob"] {
                let told = try await Tool.run(["token", "--as", user, "--server", server.url])
                let token: String = try #require(told.lines.first, "\(told)")
                each[user] = token
            }
            tokens.append(each)
        }
        // An id is unique over all channels.
        func own(_ text: String) -> String {
            text.replacing("team", with: channel)
                .replacing(/\ba[1-4]\b/) { "\(channel)-\($0.output)" }
        }
        for (index, change) in Self.changes.enumerated() {
            let place = index % servers.count
            let made = try await Command.run(
                "curl",
                [
                    "-sS", "--fail-with-body", "-m", "20", "-X", change.method,
                    "-H", "authorization: Bearer \(tokens[place][change.user] ?? "")",
                    "-H", "content-type: application/json", "-d", own(change.body),
                    servers[place].url + "/v1/" + own(change.path),
                ])
            #expect(made.status == 0, "\(change): \(made.words)")
        }
    }

    /// By the library itself, whichever it is.
    private func version(of library: String) async throws -> String {
        let script = """
            import ctypes, sys
            version = ctypes.CDLL(sys.argv[1]).sqlite3_libversion
            version.restype = ctypes.c_char_p
            print(version().decode())
            """
        let told = try await Command.run(Command.python.path, ["-c", script, library])
        #expect(told.status == 0, "\(told.words)")
        return told.words.replacing("\n", with: "")
    }

    /// All tables of both, row by row, while gateways write them.
    private func expectEqual(_ views: [String]) async throws {
        let script = """
            import sqlite3, sys
            one, other = (list(sqlite3.connect(f"file:{view}/view.sqlite?mode=ro", uri=True).iterdump())
                          for view in sys.argv[1:])
            print(len(one), one == other)
            """
        try await eventually(
            "both views have the same rows", within: .seconds(20), every: .milliseconds(200)
        ) {
            let told = try await Command.run(Command.python.path, ["-c", script] + views)
            return told.words.hasSuffix(" True\n")
        }
    }

    private func expectCompared(_ versions: [String], _ nats: NatsServer) async throws {
        try await eventually(
            "their results are compared", within: .seconds(40), every: .milliseconds(500)
        ) {
            let found = try await Tool.run(["cluster", "check", "--log", nats.url, "--json"])
            #expect(!found.output.contains("other results"), "\(found.output)")
            return !found.output.contains(#""compared":0"#)
                && versions.allSatisfy { found.output.contains(#""sqlite":"\#($0)""#) }
        }
    }

    @Test(
        "They come to equal results and equal views, each tells its version, and each opens the other's view",
        .enabled(
            if: ClusterSQLiteTests.library != nil,
            "make setup has no second SQLite for this machine."))
    func equal() async throws {
        let library = try #require(Self.library)
        try await NatsServer.run { nats, folder in
            let libraries = folder.url.appending(path: "libraries")
            try FileManager.default.createDirectory(
                at: libraries, withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(
                at: libraries.appending(path: "libsqlite3.so.0"), withDestinationURL: library)
            let other = ["LD_LIBRARY_PATH": libraries.path]
            let versions = [
                try await version(of: "libsqlite3.so.0"), try await version(of: library.path),
            ]
            #expect(versions[0] != versions[1])
            let views = ["one", "two"].map { folder.path($0) }
            let orders: [[[String: String]]] = [[[:], other], [other, [:]]]
            for (round, environments) in orders.enumerated() {
                var servers: [ToolServer] = []
                for (view, environment) in zip(views, environments) {
                    servers.append(
                        try await ToolServer(
                            data: view, options: ["--log", nats.url, "--dev"],
                            environment: environment))
                }
                for (server, environment) in zip(servers, environments) {
                    let version = versions[environment.isEmpty ? 0 : 1]
                    #expect(
                        server.tool.error.contains("sqlite=\(version) "),
                        "\(server.tool.error)")
                }
                try await makeChanges(in: "team\(round)", at: servers)
                try await expectEqual(views)
                if round == 1 { try await expectCompared(versions, nats) }
                for server in servers { server.tool.signal(SIGTERM) }
                for server in servers { #expect(await server.tool.end() == 0) }
            }
        }
    }
}
