import AsyncHTTPClient
import Foundation
import GRDB
import Hummingbird
import NIOCore
import NIOHTTP1
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import ServiceLifecycle
import Testing

/// Makes a request for each status that the document has, of servers in the states that it takes.
final class OpenAPIExchanges {
    struct Operation {
        let name: String
        let hasBody: Bool
        let asksForToken: Bool
    }

    let recorder = ExchangeRecorder()
    private(set) var routes: [String] = []
    private let operations: [Operation]
    private var issuer: TokenIssuer?
    private var folder = ""

    init(_ operations: [Operation]) { self.operations = operations }

    /// A request that is right, but for whatever the case is about.
    private static let bodies = [
        "PUT /v1/channels/{channel}": #"{"visibility":"public"}"#,
        "PATCH /v1/channels/{channel}": #"{"title":"Everybody"}"#,
        "PUT /v1/channels/{channel}/members/{user}": #"{"role":"member"}"#,
        "POST /v1/channels/{channel}/messages": #"{"body":1}"#,
        "PATCH /v1/channels/{channel}/messages/{id}": #"{"body":2}"#,
        "PUT /v1/channels/{channel}/positions": #"{"read":1}"#,
        "PUT /v1/devices/{device}": #"{"platform":"ios"}"#,
        "PUT /v1/profile": #"{"name":"Ada Lovelace","picture":"https://example.org/ada.png"}"#,
        "PUT /v1/presence": #"{"hidden":true}"#,
        "PUT /v1/mutes/channels/{channel}": #"{"until":1900000000000}"#,
        "PUT /v1/mutes/users/{user}": "{}",
        "PUT /v1/mutes/elsewhere": "{}",
        "PUT /v1/quiet-hours": #"{"from":"22:00","to":"07:00","timeZone":"Europe/Berlin"}"#,
        "PUT /v1/forms": #"{"format":"forms/1","version":"1","forms":[]}"#,
    ]

    /// Somebody who may make the request.
    private static func asker(of operation: Operation) -> String {
        operation.name == "PUT /v1/forms" ? "root" : "ada"
    }

    func ask(
        _ operation: String, as user: String? = "ada", channel: String = "general",
        user member: String = "grace", id: String = "m1", device: String = "phone-1",
        seq: String = "1", query: [(String, String)] = [], type: String = "application/json",
        _ body: String? = nil
    ) -> ExchangeRecorder.Ask {
        ExchangeRecorder.Ask(
            operation: operation, token: user.map(TableAuthenticator.token),
            path: ["channel": channel, "user": member, "id": id, "device": device, "seq": seq],
            query: query,
            type: type, body: body ?? Self.bodies[operation] ?? "")
    }

    func run() async throws {
        try await whileAllIsWell()
        try await withOthers()
        try await whereNobodyIsAsked()
        try await whereTheLimitIsReached()
        try await underPressure()
    }

    // MARK: What happens on a server where all is well, in this order

    private func tale() -> [(ExchangeRecorder.Ask, Int)] {
        channels() + members() + messages() + changes() + positions() + devices() + notices()
            + forms() + operation()
    }

    private func forms() -> [(ExchangeRecorder.Ask, Int)] {
        let (get, put) = (ask("GET /v1/forms", as: nil), ask("PUT /v1/forms", as: "root"))
        func with(
            _ ask: ExchangeRecorder.Ask, _ headers: [String: String] = [:],
            company: String? = nil, body: String? = nil
        ) -> ExchangeRecorder.Ask {
            var ask = ask
            ask.headers = headers
            ask.query = company.map { [("company", $0)] } ?? []
            ask.body = body ?? ask.body
            return ask
        }
        let other =
            #"{"format":"forms/1","version":"1","frequency":{"max":1,"seconds":9},"forms":[]}"#
        let tale: [(ExchangeRecorder.Ask, Int)] = [
            (get, 404), (with(put, ["if-match": "*"]), 412), (put, 201), (put, 200), (get, 200),
            (with(get, ["if-none-match": "*"]), 304), (with(put, body: other), 409),
            (with(put, company: "acme"), 201), (with(get, company: "acme"), 200),
            (with(put, ["if-none-match": "*"]), 412), (ask("PUT /v1/forms"), 403),
            (with(get, company: "-"), 400), (with(put, company: "a%20b"), 400),
        ]
        let bad = ["[]", "{", "nul", #"{"format":"forms/2"}"#, #"{"x":1,"x":2}"#]
        return tale + bad.map { (with(put, body: $0), 422) }
    }

    private func channels() -> [(ExchangeRecorder.Ask, Int)] {
        let (put, patch) = ("PUT /v1/channels/{channel}", "PATCH /v1/channels/{channel}")
        let drop = #"{"title":null,"history":null,"retention":{"messages":null,"seconds":60}}"#
        func ifThere(_ ask: ExchangeRecorder.Ask) -> ExchangeRecorder.Ask {
            var ask = ask
            ask.headers = ["if-match": "*"]
            return ask
        }
        let den =
            #"{"visibility":"private","history":"sinceJoin","title":"The den \u2014 ada's","#
            + #""retention":{"messages":10,"seconds":60,"bytes":100000}}"#
        return [
            (ask("GET /v1/me"), 200), (ask("GET /v1/me", as: "root"), 200),
            (ask("GET /v1/channels"), 200), (ask(put), 201), (ask(put), 200),
            (ask(put, channel: "den", den), 201), (ask(put, as: "eve", channel: "den"), 403),
            (ask(put, as: "root", channel: "den", den), 200),
            (ask(patch), 200), (ask(patch, channel: "patched"), 201),
            (ask(patch, as: "eve", channel: "den"), 403),
            (ask(patch, channel: "patched", type: "application/merge-patch+json", drop), 200),
            (ifThere(ask(put)), 200), (ifThere(ask(patch)), 200),
            (ifThere(ask(patch, channel: "nowhere")), 403),
            (ifThere(ask(put, channel: "nowhere")), 403),
            (ask("GET /v1/channels", query: [("limit", "1"), ("after", "a")]), 200),
            (ask("GET /v1/channels/{channel}"), 200),
            (ask("GET /v1/channels/{channel}", channel: "den"), 200),
            (ask("GET /v1/channels/{channel}", as: "eve", channel: "den"), 403),
            (ask("GET /v1/channels/{channel}", channel: "nowhere"), 403),
        ]
    }

    private func members() -> [(ExchangeRecorder.Ask, Int)] {
        let list = "GET /v1/channels/{channel}/members"
        let put = "PUT /v1/channels/{channel}/members/{user}"
        let delete = "DELETE /v1/channels/{channel}/members/{user}"
        return [
            (ask(put), 201), (ask(put), 200), (ask(put, as: "eve", user: "eve", ""), 201),
            (ask(put, as: "eve", user: "eve", #"{"role":"owner"}"#), 403),
            (ask(put, as: "eve", channel: "den", user: "eve"), 403),
            (ask(put, channel: "den", user: "a%2Fb%25@x%7C1"), 201),
            (ask(put, channel: "nowhere"), 403), (ask(list), 200),
            (ask(list, query: [("limit", "1"), ("after", "ada")]), 200),
            (ask(list, as: "eve", channel: "den"), 403),
            (ask(delete, as: "eve", user: "grace"), 403), (ask(delete, user: "eve"), 204),
            (ask(delete, user: "eve"), 204), (ask(delete, as: "grace", user: "grace"), 204),
            (ask(delete, channel: "den", user: "a%2Fb%25@x%7C1"), 204),
            (ask("PUT /v1/direct/{user}"), 201), (ask("PUT /v1/direct/{user}"), 200),
            (ask("PUT /v1/direct/{user}", as: "grace", user: "ada"), 200),
            (ask("PUT /v1/direct/{user}", user: "ada"), 400),
        ]
    }

    private func messages() -> [(ExchangeRecorder.Ask, Int)] {
        let post = "POST /v1/channels/{channel}/messages"
        let get = "GET /v1/channels/{channel}/messages"
        let lines = "application/x-ndjson"
        return [
            (ask(post, #"{"id":"m1","body":{"x":[1,null]}}"#), 200),
            (ask(post, #"{"id":"m1","body":{"x":[1,null]}}"#), 200), (ask(post), 200),
            (ask(post, type: lines, "{\"id\":\"m2\",\"body\":2}\n\n{\"body\":3}\n"), 200),
            (
                ask(
                    post, type: lines,
                    "{\"id\":\"m3\",\"body\":2}\n"
                        + "{\"after\":\"none\",\"body\":1}\n"), 207
            ),
            (ask(post, as: "eve", channel: "den"), 403),
            (ask(post, type: lines, "{\n"), 400),
            (ask(post, as: "eve", type: lines, #"{"edits":"m1","body":1}"#), 403),
            (ask(post, type: lines, #"{"edits":"nothing","body":1}"#), 404),
            (ask(post, type: lines, #"{"id":"m9","after":"m8","body":1}"#), 409),
            (ask(post, type: lines, String(repeating: "x", count: 70_000)), 413),
            (ask(post, channel: "den", #"{"id":"d1","body":1}"#), 200),
            (ask(post, #"{"id":"d1","body":1}"#), 409),
            (ask(post, #"{"id":"m9","after":"m8","body":1}"#), 409),
            (ask(post, #"{"id":"m9","edits":"m8","body":1}"#), 404),
            (ask(post, #"{"id":"m4","edits":"m3","body":4}"#), 200), (ask(get), 200),
            (ask(get, query: [("after", "1"), ("limit", "2")]), 200),
            (ask(get, as: "eve", channel: "den"), 403),
            (ask(get, as: "grace", channel: "den"), 403),
            (ask("PUT /v1/channels/{channel}/members/{user}", channel: "den"), 201),
            (ask(get, as: "grace", channel: "den"), 200),
        ]
    }

    private func changes() -> [(ExchangeRecorder.Ask, Int)] {
        let edit = "PATCH /v1/channels/{channel}/messages/{id}"
        let delete = "DELETE /v1/channels/{channel}/messages/{id}"
        return [
            (ask(edit, #"{"id":"e1","body":"new"}"#), 200),
            (ask(edit, #"{"id":"e1","body":"new"}"#), 200), (ask(edit), 200),
            (ask(edit, as: "eve"), 403), (ask(edit, id: "nothing"), 404),
            (ask(edit, #"{"id":"d1","body":1}"#), 409),
            (ask(delete, as: "eve"), 403), (ask(delete, query: [("id", "x1")]), 200),
            (ask(delete, query: [("id", "x1")]), 200), (ask(edit), 404),
            (ask(delete, id: "m2", query: [("id", "d1")]), 409), (ask(delete, id: "x1"), 404),
            (ask(delete, id: "early"), 200),
            (ask("GET /v1/channels/{channel}/messages"), 200),
        ]
    }

    private func positions() -> [(ExchangeRecorder.Ask, Int)] {
        let get = "GET /v1/channels/{channel}/positions"
        let put = "PUT /v1/channels/{channel}/positions"
        return [
            (ask(put, #"{"read":3,"delivered":9007199254740991,"device":"phone-1"}"#), 200),
            (ask(put), 200), (ask(get), 200), (ask(get, as: "eve"), 200),
            (ask(get, as: "eve", channel: "den"), 403),
            (ask(put, as: "eve", channel: "den"), 403), (ask("GET /v1/channels"), 200),
        ]
    }

    private func devices() -> [(ExchangeRecorder.Ask, Int)] {
        let put = "PUT /v1/devices/{device}"
        return [
            (ask("GET /v1/profile"), 200), (ask("PUT /v1/profile"), 200),
            (ask("GET /v1/profile"), 200), (ask("PUT /v1/profile", "{}"), 200),
            (ask("GET /v1/presence"), 200), (ask("PUT /v1/presence"), 200),
            (ask("GET /v1/presence"), 200), (ask("PUT /v1/presence", #"{"hidden":false}"#), 200),
            (ask("PUT /v1/presence", "{}"), 400),
            (ask("PUT /v1/archive/{channel}"), 204), (ask("DELETE /v1/archive/{channel}"), 204),
            (ask("PUT /v1/archive/{channel}", as: "eve", channel: "den"), 403),
            (ask(put), 200),
            (ask(put, device: "web%2F2", #"{"platform":"watch","pushToken":"00ffAB"}"#), 200),
            (
                ask(
                    put, device: "web-3",
                    #"{"platform":"web","webPush":{"endpoint":"https://push.example.org/x","keys":"#
                        + #"{"p256dh":"\#(RFC8291.receiver)","auth":"\#(RFC8291.secret)"}}}"#), 200
            ),
            (ask("GET /v1/devices"), 200), (ask("GET /v1/devices", as: "eve"), 200),
            (ask("DELETE /v1/devices/{device}"), 204),
        ]
    }

    private func operation() -> [(ExchangeRecorder.Ask, Int)] {
        [
            (ask("GET /healthz", as: nil), 200), (ask("GET /readyz", as: nil), 200),
            (ask("GET /openapi.json", as: nil), 200),
            (ask("GET /metrics", as: nil), 200), (ask("POST /v1/backup"), 403),
            (ask("POST /v1/backup", as: "root"), 200), (ask("GET /v1/connect", as: nil), 426),
        ] + developmentTokens()
    }

    private func developmentTokens() -> [(ExchangeRecorder.Ask, Int)] {
        let get = ask("GET /v1/dev/token", as: nil, query: [("user", "ada"), ("scope", "admin")])
        var foreign = get
        foreign.origin = "https://elsewhere.example.org"
        return [(get, 200), (ask("GET /v1/dev/token", as: nil), 400), (foreign, 403)]
    }

    /// 400 for each operation that knows it.
    private func badRequests() -> [(ExchangeRecorder.Ask, Int)] {
        let bad = ["GET", "PUT", "PATCH"].map { "\($0) /v1/channels/{channel}" }
        let lists = ["", "/{channel}/members", "/{channel}/messages"].map {
            "GET /v1/channels\($0)"
        }
        let queries = [("limit", "0"), ("limit", "-1"), ("limit", "1e1"), ("limit", "1001")]
        return bad.map { (ask($0, channel: "-a"), 400) }
            + lists.flatMap { list in queries.map { (ask(list, query: [$0]), 400) } }
            + lists.map { (ask($0, query: [("limit", "1"), ("limit", "2")]), 400) }
            + lists.map { (ask($0, query: [("after", "a%20b")]), 400) }
            + [
                ask("PUT /v1/channels/{channel}/members/{user}", user: "a%20b"),
                ask("DELETE /v1/channels/{channel}/members/{user}", user: "%C3%A4"),
                ask("PUT /v1/direct/{user}", user: "a%20b"),
                ask("PUT /v1/archive/{channel}", channel: "-a"),
                ask("DELETE /v1/archive/{channel}", channel: "a%20b"),
                ask("POST /v1/channels/{channel}/messages", channel: "%20"),
                ask("PATCH /v1/channels/{channel}/messages/{id}", id: "%22"),
                ask("DELETE /v1/channels/{channel}/messages/{id}", query: [("id", "")]),
                ask("GET /v1/channels/{channel}/positions", channel: "a%20b"),
                ask("PUT /v1/devices/{device}", device: "%5C"),
                ask("DELETE /v1/devices/{device}", device: "%7F"),
                ask("DELETE /v1/mutes/channels/{channel}", channel: "-a"),
                ask("DELETE /v1/mutes/users/{user}", user: "%C3%A4"),
                ask("DELETE /v1/quiet-hours", query: [("device", "")]),
                ask("GET /v1/channels/{channel}/deliveries/{seq}", seq: "0"),
                ask("GET /v1/channels/{channel}/deliveries/{seq}", seq: "x"),
                ask("GET /v1/channels/{channel}/deliveries/{seq}/devices", seq: "0"),
                ask("GET /v1/channels/{channel}/deliveries/{seq}/devices", seq: "-1"),
                ask("GET /v1/channels/{channel}/deliveries/{seq}/devices", seq: "9e9"),
                ask("GET /v1/channels/{channel}/deliveries/{seq}/devices", seq: "%31"),
                ask("GET /v1/channels/{channel}/deliveries/{seq}/devices", channel: "-a"),
            ].map { ($0, 400) }
            + operations.filter { $0.hasBody && $0.name != "PUT /v1/forms" }.flatMap { operation in
                ["[]", "{", "nul", #"{"x":1,"x":2}"#, "{}{}", "{\"a\":\"\u{1}\"}"]
                    .map { (ask(operation.name, $0), 400) }
            } + BadFields.all.map { (ask($0.operation, $0.body), 400) }
    }

    /// A request that is right, but for a field that nobody knows.
    private func unknownField(_ operation: Operation) -> ExchangeRecorder.Ask {
        let right = Self.bodies[operation.name] ?? "{}"
        let comma = right == "{}" ? "" : ","
        return ask(operation.name, #"\#(right.dropLast())\#(comma)"later":{"a":[1]}}"#)
    }

    // MARK: Servers in their states

    private func whileAllIsWell() async throws {
        try await withServer({ $0.backup = { "2026-11-21" } }) { port in
            for (ask, status) in tale() { try await expect(status, ask, port) }
            for (ask, status) in badRequests() { try await expect(status, ask, port) }
            for path in paths { try await keepsItsMethods(path, port) }
            for operation in operations where operation.asksForToken {
                try await expect(401, ask(operation.name, as: nil), port)
                try await expect(401, ask(operation.name, as: "ended"), port)
            }
            for operation in operations where operation.hasBody {
                if operation.name != "PUT /v1/forms" {
                    try await expect(400, unknownField(operation), port)
                }
                let user = Self.asker(of: operation)
                let large = #"{"x":"\#(String(repeating: "x", count: 1_100_000))"}"#
                try await expect(413, ask(operation.name, as: user, large), port)
                try await expect(415, ask(operation.name, as: user, type: "text/plain"), port)
            }
        }
    }

    /// Of each path, what it knows.
    private var paths: [(path: String, methods: Set<String>)] {
        let pairs = routes.map { $0.split(separator: " ").map(String.init) }
        return Dictionary(grouping: pairs) { $0[1] }.map { ($0, Set($1.map { $0[0] })) }
    }

    /// HEAD is GET without a body; another method is 405 with what is allowed; one that nobody
    /// knows is 501.
    private func keepsItsMethods(
        _ route: (path: String, methods: Set<String>), _ port: Int
    ) async throws {
        var path = route.path.replacing("{channel}", with: "general").replacing("{seq}", with: "1")
        for name in ["{user}", "{id}", "{device}"] { path = path.replacing(name, with: "ada") }
        let url = "http://127.0.0.1:\(port)\(path)?user=ada"
        func answer(_ method: String) async throws -> (HTTPClientResponse, [UInt8]) {
            var request = HTTPClientRequest(url: url)
            request.method = HTTPMethod(rawValue: method)
            request.headers.add(
                name: "authorization", value: "Bearer " + TableAuthenticator.token("root"))
            let response = try await HTTPClient.shared.execute(request, timeout: .seconds(20))
            return (
                response, Array(try await response.body.collect(upTo: 1 << 20).readableBytesView)
            )
        }
        var allowed = route.methods
        if allowed.contains("GET") {
            allowed.insert("HEAD")
            let (get, head) = (try await answer("GET"), try await answer("HEAD"))
            #expect(get.0.status == head.0.status && head.1.isEmpty, "\(path)")
            #expect(get.0.headers["content-type"] == head.0.headers["content-type"])
        }
        let others = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY"]
        for method in others where !allowed.contains(method) {
            let (response, _) = try await answer(method)
            #expect(response.status.code == 405, "\(method) \(path)")
            let said = response.headers.first(name: "allow")?.components(separatedBy: ", ")
            #expect(Set(said ?? []) == allowed, "\(method) \(path)")
        }
        #expect(try await answer("PURGE").0.status.code == 501, "\(path)")
    }

    private func withOthers() async throws {
        try await withServer({ $0.presence = nil }) { port in
            try await expect(404, ask("POST /v1/backup", as: "root"), port)
            try await expect(404, ask("GET /v1/presence"), port)
            try await expect(404, ask("PUT /v1/presence"), port)
        }
    }

    private func whereNobodyIsAsked() async throws {
        try await withServer({ $0.authenticator = nil }) { port in
            try await expect(200, ask("GET /v1/me", as: nil), port)
            let own = [
                "/v1/archive", "/v1/devices", "/v1/direct", "/v1/profile", "/v1/mutes",
                "/v1/presence", "/v1/quiet-hours", "/v1/unread",
            ]
            for operation in operations where own.contains(where: operation.name.contains) {
                try await expect(403, ask(operation.name, as: nil), port)
            }
            try await expect(403, ask("PUT /v1/channels/{channel}/positions", as: nil), port)
            try await expect(
                403, ask("GET /v1/channels/{channel}/deliveries/{seq}/devices", as: nil), port)
            try await expect(200, ask("GET /v1/channels/{channel}", as: nil), port)
            try await expect(200, ask("GET /v1/channels/{channel}/positions", as: nil), port)
        }
    }

    private func whereTheLimitIsReached() async throws {
        var limits = HTTPLimits()
        limits.directs = 1
        try await withServer(limits: limits, { _ in }) { port in
            let direct = "PUT /v1/direct/{user}"
            try await expect(201, ask(direct), port)
            let answer = try await expect(409, ask(direct, user: "eve"), port)
            #expect(answer.text.contains(#""code":"tooManyChannels""#))
            #expect(answer.headers.first(name: "retry-after") == nil)
            try await expect(200, ask(direct), port)
            try await expect(200, ask(direct, as: "grace", user: "ada"), port)
            try await refusesBeyondBounds(port)
        }
    }

    /// The bounds of the accounts in which waiting makes no room.
    private func refusesBeyondBounds(_ port: Int) async throws {
        let (channel, member) = (
            "PUT /v1/channels/{channel}", "PUT /v1/channels/{channel}/members/{user}"
        )
        func refuses(_ ask: ExchangeRecorder.Ask, _ code: String) async throws {
            let answer = try await expect(409, ask, port)
            #expect(answer.text.contains(#""code":"\#(code)""#), "\(answer.text)")
            #expect(answer.headers.first(name: "retry-after") == nil)
        }
        try await expect(201, ask(channel), port)
        try fill("UPDATE channels SET members = 100000")
        try await refuses(ask(member), "tooManyMembers")
        try fill(
            """
            UPDATE channels SET members = 1;
            INSERT INTO channels (name, visibility, history, maker, made, members)
            VALUES ('hall', 'private', 'all', 'ada', 1, 999999)
            """)
        try await refuses(ask(member), "tooManyMembers")
        try await expect(201, ask(member, as: "root"), port)
        try fill(
            """
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 10000)
            INSERT INTO channels (name, visibility, history, maker, made)
            SELECT 'c' || i, 'private', 'all', 'ada', 1 FROM n
            """)
        try await refuses(ask(channel, channel: "more"), "tooManyChannels")
        try await refuses(
            ask("PATCH /v1/channels/{channel}", channel: "more"), "tooManyChannels")
        try await expect(201, ask(channel, as: "root", channel: "more"), port)
        try fill(
            """
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 10000)
            INSERT INTO mutes (user, kind, name) SELECT 'ada', 'user', 'u' || i FROM n
            """)
        for subject in ["channels/{channel}", "users/{user}"] {
            try await refuses(ask("PUT /v1/mutes/\(subject)"), "tooManyMutes")
        }
    }

    /// Changes the accounts, unseen by the server.
    private func fill(_ sql: String) throws {
        let accounts = try DatabaseQueue(path: folder + "/accounts.sqlite")
        try accounts.write { try $0.execute(sql: sql) }
        try accounts.close()
    }

    private func underPressure() async throws {
        var limits = HTTPLimits()
        limits.messageTime = .zero
        limits.streamTime = .zero
        try await withServer(limits: limits, { _ in }) { port in
            for operation in operations where operation.hasBody {
                try await expect(408, ask(operation.name, as: "root"), port)
            }
            try await expect(408, stream(), port)
        }
        try await withServer({ $0.committer.shutdown() }) { port in
            try await expect(503, stream(), port)
        }
        try await withServer({ $0.wait = { _ in .milliseconds(1_500) } }) { port in
            for operation in operations where operation.asksForToken {
                let answer = try await expect(429, ask(operation.name, as: "root"), port)
                #expect(answer.headers.first(name: "retry-after") == "2")
            }
        }
        let failure = RepriseError(.unavailable, "No keys.")
        try await withServer({
            $0.authenticator = TableAuthenticator(failure: failure)
            $0.committer.shutdown()
        }) { port in
            for operation in operations where operation.asksForToken {
                try await expect(503, ask(operation.name), port)
            }
            try await expect(503, ask("GET /readyz", as: nil), port)
        }
    }

    private func stream() -> ExchangeRecorder.Ask {
        ask(
            "POST /v1/channels/{channel}/messages", as: "root", type: "application/x-ndjson",
            #"{"body":1}"#)
    }

    /// Runs `body` on a server with what `configure` makes of it.
    private func withServer(
        limits: HTTPLimits = HTTPLimits(), _ configure: (inout HTTPServices) -> Void,
        _ body: (Int) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        self.folder = folder.path
        let log = try SQLiteMessageLog.open(at: folder.path)
        issuer = try TokenIssuer(key: try await DevelopmentKey.open(in: folder.path))
        let accounts = try Accounts.open(
            at: folder.path, implicitChannels: false, heads: { try log.head(of: $0) })
        let committer = Committer(log: log) { _ in }
        let storing = Task { await committer.run() }
        var services = HTTPServices(
            log: log, committer: committer, accounts: accounts,
            authenticator: TableAuthenticator())
        services.presence = PresenceService(
            accounts: accounts, metrics: ServerMetrics(), clock: SystemTimekeeper(),
            logger: RunningServer.logger)
        services.metrics = { "# TYPE reprise_connections gauge\nreprise_connections 3\n" }
        configure(&services)
        let outcome = await Result { try await serve(router(services, limits), body) }
        committer.shutdown()
        await storing.value
        await accounts.close()
        await log.close()
        try outcome.get()
    }

    private func router(
        _ services: HTTPServices, _ limits: HTTPLimits
    ) -> Router<BasicRequestContext> {
        let router = Router()
        HTTPRoutes(services, limits: limits).add(to: router)
        UpgradeRequiredRoute().add(to: router)
        if let issuer {
            DevelopmentTokenRoute(issuer: issuer, clock: services.clock).add(to: router)
        }
        routes = Self.names(router)
        router.refuseOtherMethods()
        return router
    }

    private func serve(
        _ router: Router<BasicRequestContext>, _ body: (Int) async throws -> Void
    ) async throws {
        let (ready, isReady) = AsyncStream<Int>.makeStream()
        let application = Application(
            responder: router.buildResponder(),
            configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { isReady.yield($0.localAddress?.port ?? 0) },
            logger: RunningServer.logger)
        let group = ServiceGroup(services: [application], logger: RunningServer.logger)
        async let running: Void = {
            defer { isReady.finish() }
            try await group.run()
        }()
        var outcome = Result<Void, any Error>.success(())
        var ports = ready.makeAsyncIterator()
        if let port = await ports.next() { outcome = await Result { try await body(port) } }
        await group.triggerGracefulShutdown()
        try await running
        try outcome.get()
    }

    private static func names(_ router: Router<BasicRequestContext>) -> [String] {
        router.routes.filter { $0.method != .head }.map { route in
            let path = "\(route.path)".split(separator: "/").map { part in
                part.hasPrefix(":") ? "{\(part.dropFirst())}" : String(part)
            }
            return "\(route.method.rawValue) /" + path.joined(separator: "/")
        }
    }

    @discardableResult
    private func expect(
        _ status: Int, _ ask: ExchangeRecorder.Ask, _ port: Int
    ) async throws -> ExchangeRecorder.Answer {
        let answer = try await recorder.ask(ask, port: port)
        #expect(answer.status == status, "\(ask) got \(answer.text)")
        return answer
    }
}
