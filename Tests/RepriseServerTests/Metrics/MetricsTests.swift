import Foundation
import Metrics
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

/// Reads the text format of Prometheus strictly: what it does not know is an error.
struct PrometheusReader {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    struct Sample {
        let name: String
        let labels: [String: String]
        let value: Double
    }

    var types: [String: String] = [:]
    var help: [String: String] = [:]
    var samples: [Sample] = []

    init(_ text: String) throws {
        guard text.hasSuffix("\n") else { throw Failure(description: "no end of line at the end") }
        var seen: Set<String> = []
        for line in text.dropLast().split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("# HELP ") {
                let parts = line.split(separator: " ", maxSplits: 3)
                help[String(parts[2])] = String(parts[3])
            } else if line.hasPrefix("# TYPE ") {
                let parts = line.split(separator: " ")
                guard parts.count == 4, types[String(parts[2])] == nil,
                    ["counter", "gauge", "histogram"].contains(parts[3])
                else { throw Failure(description: "type: \(line)") }
                types[String(parts[2])] = String(parts[3])
            } else {
                let sample = try Self.sample(line)
                guard seen.insert("\(sample.name) \(sample.labels.sorted(by: <))").inserted else {
                    throw Failure(description: "twice: \(line)")
                }
                samples.append(sample)
            }
        }
        for sample in samples where types[family(of: sample.name)] == nil {
            throw Failure(description: "no type: \(sample.name)")
        }
    }

    func value(_ name: String, _ labels: [String: String] = [:]) -> Double? {
        samples.first { $0.name == name && $0.labels == labels }?.value
    }

    private func family(of name: String) -> String {
        for suffix in ["_bucket", "_sum", "_count"] where name.hasSuffix(suffix) {
            let family = String(name.dropLast(suffix.count))
            if types[family] == "histogram" { return family }
        }
        return name
    }

    private static func sample(_ line: Substring) throws -> Sample {
        var rest = line
        let name = rest.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || "_:".contains($0)) }
        guard let first = name.first, !first.isNumber else {
            throw Failure(description: "name: \(line)")
        }
        rest = rest.dropFirst(name.count)
        var labels: [String: String] = [:]
        if rest.first == "{" {
            rest = rest.dropFirst()
            repeat {
                let key = rest.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
                rest = rest.dropFirst(key.count)
                guard !key.isEmpty, rest.hasPrefix("=\"") else {
                    throw Failure(description: "label: \(line)")
                }
                rest = rest.dropFirst(2)
                labels[String(key)] = try value(&rest)
                guard let next = rest.popFirst(), ",}".contains(next) else {
                    throw Failure(description: "labels: \(line)")
                }
                if next == "}" { break }
            } while true
        }
        guard rest.popFirst() == " ", let value = number(rest) else {
            throw Failure(description: "value: \(line)")
        }
        return Sample(name: String(name), labels: labels, value: value)
    }

    private static func value(_ rest: inout Substring) throws -> String {
        var text = ""
        while let character = rest.popFirst() {
            switch character {
            case "\"": return text
            case "\\":
                switch rest.popFirst() {
                case "n": text.append("\n")
                case "\\": text.append("\\")
                case "\"": text.append("\"")
                default: throw Failure(description: "escape")
                }
            default: text.append(character)
            }
        }
        throw Failure(description: "an open quote")
    }

    private static func number(_ text: Substring) -> Double? {
        switch text {
        case "+Inf": .infinity
        case "-Inf": -.infinity
        case "NaN": .nan
        default: Double(text)
        }
    }
}

@Suite("Metrics")
struct MetricsTests {
    @Test("counters, gauges and histograms are written as Prometheus reads them")
    func kinds() throws {
        let registry = MetricsRegistry(descriptions: [
            "sizes": .init("Sizes\nin \\ bytes.", bounds: [1, 10])
        ])
        let counter = Counter(label: "things_total", dimensions: [("kind", "a")], factory: registry)
        counter.increment(by: 3)
        Counter(label: "things_total", dimensions: [("kind", "a")], factory: registry).increment()
        Counter(label: "things_total", dimensions: [("kind", "b")], factory: registry).increment()
        Gauge(label: "level", dimensions: [], factory: registry).record(2.5)
        let meter = Meter(label: "meter", dimensions: [], factory: registry)
        meter.set(7)
        meter.decrement(by: 2.0)
        let sizes = Recorder(
            label: "sizes", dimensions: [], aggregate: true, factory: registry)
        for size in [1, 5, 10, 11, 1_000] { sizes.record(size) }
        Timer(label: "time_seconds", dimensions: [], factory: registry).recordMilliseconds(20)
        FloatingPointCounter(label: "parts_total", dimensions: [], factory: registry)
            .increment(by: 0.25)
        let read = try PrometheusReader(registry.text())
        #expect(read.types["things_total"] == "counter")
        #expect(read.value("things_total", ["kind": "a"]) == 4)
        #expect(read.value("things_total", ["kind": "b"]) == 1)
        #expect(read.value("level") == 2.5)
        #expect(read.value("meter") == 5)
        #expect(read.value("parts_total") == 0.25)
        #expect(read.value("sizes_bucket", ["le": "1"]) == 1)
        #expect(read.value("sizes_bucket", ["le": "10"]) == 3)
        #expect(read.value("sizes_bucket", ["le": "+Inf"]) == 5)
        #expect(read.value("sizes_count") == 5)
        #expect(read.value("sizes_sum") == 1_027)
        #expect(read.value("time_seconds_bucket", ["le": "0.01"]) == 0)
        #expect(read.value("time_seconds_bucket", ["le": "0.05"]) == 1)
        #expect(read.help["sizes"] == #"Sizes\nin \\ bytes."#)
    }

    @Test("every label value is escaped so that it is read as it was; metric names are made valid")
    func escaping() throws {
        let registry = MetricsRegistry()
        let values = ["\"", "\\", "\n", "a\"b\\c\nd", "ü€", "}", ",x=\"", "\\n"]
        for value in values {
            Counter(label: "x", dimensions: [("v", value)], factory: registry).increment()
        }
        Counter(label: "9 lives/é", dimensions: [("a-b", "1")], factory: registry).increment()
        let read = try PrometheusReader(registry.text())
        for value in values { #expect(read.value("x", ["v": value]) == 1) }
        #expect(read.value("_9_lives__", ["a_b": "1"]) == 1)
    }

    @Test(
        "a metric beyond the limit works, is not shown, and is counted",
        .limit("server.metrics"))
    func bounded() throws {
        let registry = MetricsRegistry(limit: 3)
        for number in 0..<10 {
            Counter(label: "x", dimensions: [("n", "\(number)")], factory: registry).increment()
        }
        let read = try PrometheusReader(registry.text())
        #expect(read.samples.count { $0.name == "x" } == 3)
        #expect(read.value("reprise_metrics_not_shown") == 7)
        Gauge(label: "x", dimensions: [], factory: MetricsRegistry()).record(1)
    }

    @Test("one name has one kind of metric")
    func conflict() throws {
        let registry = MetricsRegistry()
        Counter(label: "x", dimensions: [], factory: registry).increment()
        Gauge(label: "x", dimensions: [("a", "b")], factory: registry).record(5)
        let read = try PrometheusReader(registry.text())
        #expect(read.types["x"] == "counter")
        #expect(read.samples.count { $0.name == "x" } == 1)
    }

    @Test("a server counts what it does, and names no channel and no user")
    func server() async throws {
        try await RunningServer.withUsers { server, accounts in
            let secret = channel("very-secret-room")
            let ada = try await server.client(as: "ada-lovelace")
            let ben = try await server.client(as: "ben")
            try await server.fill(secret, messages: 3)
            try await ada.subscribe(secret)
            try await ben.subscribe(secret)
            let id = EntryID.random()
            for _ in 0..<2 { try await ada.send(AccessTests.publish(secret.text, id: id)) }
            guard case .event = try await ben.nextFrame() else {
                Issue.record("no event")
                return
            }
            accounts.set(.nothing, of: user("ben"), in: secret)
            _ = try await ben.nextFrame()
            let stranger = try await server.client(hello: false)
            try await stranger.send(.hello(.init(device: .random(), client: "test")))
            _ = try await stranger.ending()
            var answers = 0
            while answers < 2 { if case .published = try await ada.nextFrame() { answers += 1 } }
            let text = try await Self.get("/metrics", of: server)
            let read = try PrometheusReader(text)
            #expect(read.value("reprise_connected_users") == 2)
            #expect(read.value("reprise_subscriptions") == 1)
            #expect(read.value("reprise_messages_total", ["outcome": "stored"]) == 4)
            #expect(read.value("reprise_messages_total", ["outcome": "duplicate"]) == 1)
            #expect(read.value("reprise_events_sent_total", ["path": "catch_up"]) == 6)
            #expect(read.value("reprise_events_sent_total", ["path": "live"]) == 2)
            #expect(
                read.value("reprise_refusals_total", ["request": "subscribe", "code": "forbidden"])
                    == 1)
            #expect(read.value("reprise_auth_failures_total", ["reason": "unauthorized"]) == 1)
            #expect(read.value("reprise_closes_total", ["code": "4203"]) == 1)
            #expect(read.value("reprise_catch_up_seconds_count") == 2)
            #expect(read.value("reprise_catch_ups_open") == 0)
            #expect((read.value("reprise_commit_seconds_count") ?? 0) >= 2)
            #expect(read.value("reprise_metrics_not_shown") == 0)
            #expect(!text.contains("secret") && !text.contains("ada"))
            for name in read.types.keys { #expect(read.help[name] != nil, "\(name)") }
        }
    }

    @Test("tokens that are refused over HTTP are counted, too")
    func refusedTokens() async throws {
        try await RunningServer.with(authenticator: TableAuthenticator()) { server in
            for (token, status) in [("x.ada.x", 200), ("x.ended.x", 401), ("abc", 401)] {
                let socket = try PlainSocket(port: server.port)
                try await socket.send(
                    HTTPConnectionTests.get(
                        "/v1/me", "Authorization: Bearer \(token)\r\nConnection: close\r\n"))
                let answer = String(decoding: try await socket.receiveAll(), as: UTF8.self)
                #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(token)")
            }
            let read = try PrometheusReader(try await Self.get("/metrics", of: server))
            #expect(read.value("reprise_auth_failures_total", ["reason": "expired"]) == 1)
            #expect(read.value("reprise_auth_failures_total", ["reason": "unauthorized"]) == 1)
        }
    }

    @Test("Prometheus' own parser reads what a server answers")
    func realParser() async throws {
        try await RunningServer.withUsers { server, _ in
            let client = try await server.client(as: "ada")
            try await client.subscribe(channel())
            try await server.fill(channel(), messages: 3)
            let folder = try TemporaryFolder()
            let file = folder.url.appending(path: "metrics.txt")
            try await Self.get("/metrics", of: server)
                .write(to: file, atomically: true, encoding: .utf8)
            let (status, words) = try await Command.run(
                Command.python.path,
                [Command.root.appending(path: "scripts/check-metrics").path, file.path])
            #expect(status == 0, "\(words)")
        }
    }

    /// The body of an answer, over a connection of its own.
    static func get(_ path: String, of server: RunningServer) async throws -> String {
        let client = TestClient(socket: try PlainSocket(port: server.port))
        try await client.socket.send(
            "GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        try await client.readResponse()
        #expect(client.response.hasPrefix("HTTP/1.1 200"))
        #expect(client.response.lowercased().contains("text/plain; version=0.0.4"))
        return try await client.readToEnd()
    }
}
