import Foundation

/// The figures that have a target, each with what it is compared to.
enum Suites {
    typealias Suite = @Sendable () async throws -> [Figure]

    static let all: [(name: String, suite: Suite)] = [
        ("codec", codec), ("fan-out", fanOut), ("publish", publish), ("catch-up", catchUp),
        ("device", device), ("idle", idle), ("complete", complete), ("channels", manyChannels),
        ("latency", latency), ("stopped", stopped), ("tokens", tokens),
        ("forms", forms), ("reminders", reminders), ("chains", chains), ("jobs", jobs),
        ("push", push), ("notices", notices), ("directories", directories), ("logs", logs),
        ("ids", ids),
    ]

    private static func withServer<T>(
        _ command: String = "serve-reprise", _ options: [String] = [],
        _ body: (ServerProcess) async throws -> T
    ) async throws -> T {
        let server = try ServerProcess([command] + options)
        defer { server.stop() }
        return try await body(server)
    }

    @Sendable private static func codec() async throws -> [Figure] {
        let times = try Codec.run()
        return [
            Figure(
                name: "write an event's envelope", value: times.written.ours, unit: "ns",
                baseline: times.written.foundation, baselineName: "JSONEncoder",
                smallerIsBetter: true),
            Figure(
                name: "read an event's envelope", value: times.read.ours, unit: "ns",
                baseline: times.read.foundation, baselineName: "JSONDecoder",
                smallerIsBetter: true),
        ]
    }

    @Sendable private static func fanOut() async throws -> [Figure] {
        let bare = try await withServer("serve-bare") {
            try await FanOut(server: $0.address, isBare: true).run()
        }
        let ours = try await withServer { try await FanOut(server: $0.address).run() }
        return [
            Figure(
                name: "fan-out 1 → 100, 128-byte bodies, durable first", value: ours,
                unit: "deliveries/s", baseline: bare, baselineName: "bare handlers, not durable",
                target: 2_000_000)
        ]
    }

    @Sendable private static func publish() async throws -> [Figure] {
        let bare = try Publish.bareCommits()
        let many = try await withServer { try await Publish(server: $0.address).run() }
        let one = try await withServer {
            try await Publish(server: $0.address, publishers: 1, inFlight: 1).run()
        }
        return [
            Figure(
                name: "durable publish, 64 publishers × 16 in flight", value: many.perSecond,
                unit: "messages/s", target: 60_000),
            Figure(
                name: "the same, to the acknowledgement, p99", value: many.p99 / 1_000, unit: "ms"),
            Figure(
                name: "durable publish, one publisher, one in flight", value: one.perSecond,
                unit: "messages/s", baseline: bare, baselineName: "bare SQLite commits",
                target: bare / 2),
        ]
    }

    @Sendable private static func catchUp() async throws -> [Figure] {
        try await withServer { server in
            let some = CatchUp(server: server, channel: "some")
            try await some.fill(100_000)
            let rate = try await some.read(100_000)
            let many = CatchUp(server: server, channel: "many")
            try await many.fill(1_000_000)
            // A new process: what filling the log has allocated would hide what reading it costs.
            let fresh = try server.restarted()
            defer { fresh.stop() }
            let large = try await CatchUp(server: fresh, channel: "many").read(1_000_000)
            return [
                Figure(
                    name: "catch-up of 100,000, the server's side alone", value: rate.perSecond,
                    unit: "messages/s", target: 800_000),
                Figure(
                    name: "catch-up of 1,000,000, the server's side alone", value: large.perSecond,
                    unit: "messages/s"),
                Figure(
                    name: "catch-up of 1,000,000, a fresh server's memory above idle",
                    value: Double(large.memory) / 1_048_576, unit: "MB", target: 64,
                    smallerIsBetter: true),
            ]
        }
    }

    @Sendable private static func device() async throws -> [Figure] {
        try await withServer { server in
            try await CatchUp(server: server, channel: "device").fill(100_000)
            let rate = try await Device.catchUp(100_000, channel: "device", server: server.address)
            return [
                Figure(
                    name: "catch-up of 100,000 into a device's journal", value: rate,
                    unit: "messages/s", target: 100_000)
            ]
        }
    }

    @Sendable private static func idle() async throws -> [Figure] {
        try await withServer { server in
            [
                Figure(
                    name: "an idle connection, subscribed to one channel",
                    value: try await Idle(server: server).run() / 1_024,
                    unit: "KB of server memory",
                    target: 12, smallerIsBetter: true)
            ]
        }
    }

    @Sendable private static func complete() async throws -> [Figure] {
        try await withServer { server in
            [
                Figure(
                    name: "last backlog event to live, p99 of 200 devices",
                    value: try await Completion.afterLastEvent(server: server), unit: "ms",
                    baseline: try await Completion.bareCommits(server: server),
                    baselineName: "received and committed, no more",
                    target: 5, smallerIsBetter: true, factor: 1.5)
            ]
        }
    }

    @Sendable private static func manyChannels() async throws -> [Figure] {
        try await withServer { server in
            [
                Figure(
                    name: "1,000 channels of one connection, 10 missed messages each, all live",
                    value: try await Completion.ofManyChannels(server: server), unit: "s",
                    target: 1, smallerIsBetter: true)
            ]
        }
    }

    @Sendable private static func latency() async throws -> [Figure] {
        let bare = try await withServer("serve-bare", ["--durable"]) {
            try await Latency(server: $0.address, isBare: true).run()
        }
        let ours = try await withServer { try await Latency(server: $0.address).run() }
        return [
            Figure(
                name: "publish to arrival, 1,000 connections in 100 channels, p99",
                value: ours.arrival, unit: "ms", baseline: bare.arrival,
                baselineName: "bare fan-out, committed first", target: 20, smallerIsBetter: true,
                factor: 1.5),
            Figure(
                name: "the same, median", value: ours.median, unit: "ms", baseline: bare.median,
                baselineName: "bare fan-out, committed first", smallerIsBetter: true),
            Figure(
                name: "publish to applied in a device's journal, at the same time, p99",
                value: ours.applied, unit: "ms", baseline: bare.applied,
                baselineName: "the same, then one more SQLite commit", target: 20,
                smallerIsBetter: true, factor: 1.5),
            Figure(
                name: "the rate at which they were published", value: ours.rate,
                unit: "messages/s", baseline: bare.rate, baselineName: "bare fan-out",
                target: 9_900),
        ]
    }

    @Sendable private static func stopped() async throws -> [Figure] {
        // A server each: the second run's subscribers would read the first one's messages from the
        // log.
        func run(stopped: Int) async throws -> (rate: Double, memory: Double) {
            try await withServer { server in
                let before = server.residentBytes
                let rate = try await FanOut(server: server.address, stopped: stopped).run()
                return (rate, Double(server.residentBytes - before) / 1_048_576)
            }
        }
        let all = try await run(stopped: 0)
        let rest = try await run(stopped: 1)
        return [
            Figure(
                name: "fan-out 1 → 100 beside one reader that has stopped", value: rest.rate,
                unit: "deliveries/s", baseline: all.rate, baselineName: "all reading",
                target: all.rate * 0.95),
            Figure(
                name: "what the server's memory grew by meanwhile", value: rest.memory, unit: "MB",
                baseline: all.memory, baselineName: "all reading", smallerIsBetter: true),
        ]
    }

    /// In a real browser, which needs Chromium.
    @Sendable private static func forms() async throws -> [Figure] {
        try await FormsBench.run { bench in
            let gate = (try await bench.lastGate(lives: 100), try await bench.bareGate(lives: 100))
            let tap = (try await bench.tap(count: 150), try await bench.bareTap(count: 150))
            let held = (try await bench.held(10_000), try await bench.bareHeld(10_000))
            let triggers = (
                try await bench.evaluation(forms: 1_000, events: 512),
                try await bench.evaluation(forms: 1, events: 512)
            )
            return [
                Figure(
                    name: "last gate opened to the held event in the page, p99 of 100",
                    value: gate.0, unit: "ms", baseline: gate.1,
                    baselineName: "a fresh page, a commit and a DevTools call", target: 10,
                    smallerIsBetter: true, factor: 1.5),
                Figure(
                    name: "tap on a running app to its form visible, p99 of 150",
                    value: tap.0.p99, unit: "ms", baseline: tap.1.p99,
                    baselineName: "a commit, a call, two frames", target: 100,
                    smallerIsBetter: true, factor: 1.5),
                Figure(
                    name: "the same, median", value: tap.0.p50, unit: "ms", baseline: tap.1.p50,
                    baselineName: "a commit, a call, two frames", smallerIsBetter: true),
                Figure(
                    name: "10,000 held events released in order, all answered", value: held.0,
                    unit: "s", baseline: held.1,
                    baselineName: "64 rows a commit, a call, an answer, a commit", target: 1,
                    smallerIsBetter: true, factor: 1.5),
                Figure(
                    name: "an event evaluated against 1,000 forms, of 512 together",
                    value: triggers.0, unit: "ms", baseline: triggers.1,
                    baselineName: "against one form", target: 5, smallerIsBetter: true),
            ]
        }
    }

    /// Planning alone, for what the system is asked for takes its own time; and the way of a tap.
    @Sendable private static func reminders() async throws -> [Figure] {
        let bench = RemindersBench(entities: 1_000)
        let routes = RoutesBench()
        let handed = try await routes.handed(lives: 300)
        let entry = try await routes.entry(rounds: 300)
        let bare = try await routes.bare(rounds: 300)
        return [
            Figure(
                name: "store ready to the route dispatched, p99 of 300",
                value: handed.percentile(0.99), unit: "ms", baseline: bare.percentile(0.99),
                baselineName: "a commit and a look into memory", target: 5, smallerIsBetter: true,
                factor: 1.5),
            Figure(
                name: "the same, median", value: handed.percentile(0.5), unit: "ms",
                baseline: bare.percentile(0.5), baselineName: "a commit and a look into memory",
                smallerIsBetter: true),
            Figure(
                name: "the same beside an entry of the journal whose gate is opened, p99 of 300",
                value: handed.percentile(0.99), unit: "ms", baseline: entry.percentile(0.99),
                baselineName: "the journal's entry alone", smallerIsBetter: true),
            Figure(
                name: "planning 1,000 entities with 3,000 reminders",
                value: try bench.planned(rounds: 51), unit: "ms",
                baseline: try bench.barePlanned(rounds: 11),
                baselineName: "a next date each by Foundation's calendar, sorted", target: 50,
                smallerIsBetter: true, factor: 1.5),
            Figure(
                name: "planning again after the change of one of them",
                value: try bench.changed(rounds: 501), unit: "ms",
                baseline: try bench.bareChanged(rounds: 501),
                baselineName: "3,000 known dates, sorted", target: 5, smallerIsBetter: true,
                factor: 1.5),
        ]
    }

    /// A message over a real socket to the system being asked for its banner, with the badge in it:
    /// a device of one channel, and one of 10,000.
    @Sendable private static func notices() async throws -> [Figure] {
        let few = try await NoticesBench(channels: 0).banners(messages: 500)
        let many = try await NoticesBench(channels: 10_000).banners(messages: 500)
        let bare = try await NoticesBench(channels: 0).bare(rounds: 500)
        return [
            Figure(
                name: "message in the journal to the system asked for its banner, p99 of 500",
                value: few.decision.percentile(0.99), unit: "ms", baseline: bare.percentile(0.99),
                baselineName: "two commits", target: 10, smallerIsBetter: true, factor: 1.5),
            Figure(
                name: "publish to the system asked for its banner, the server included, p99",
                value: few.whole.percentile(0.99), unit: "ms", baseline: bare.percentile(0.99),
                baselineName: "two commits", smallerIsBetter: true),
            Figure(
                name: "the same with 10,000 channels behind the badge, median",
                value: many.whole.percentile(0.5), unit: "ms",
                baseline: few.whole.percentile(0.5), baselineName: "with one channel",
                target: 5, smallerIsBetter: true, factor: 1.5),
        ]
    }

    /// A new device's directory.
    @Sendable private static func ids() async throws -> [Figure] {
        let (together, apart) = IDs.filters()
        let beside = "one filter a run, one behind the other"
        return [
            Figure(
                name: "a new id tested against the filters of 153 runs", value: together.time,
                unit: "ns", baseline: apart.time, baselineName: beside, smallerIsBetter: true),
            Figure(
                name: "look-ups in vain for 1,000 new ids", value: together.vain, unit: "",
                baseline: apart.vain, baselineName: beside, smallerIsBetter: true),
            Figure(
                name: "a look-up in vain, among three million ids", value: try IDs.lookUp(),
                unit: "ns", smallerIsBetter: true),
        ]
    }

    @Sendable private static func directories() async throws -> [Figure] {
        try await withServer("serve-reprise", ["--tokens"]) { server in
            var figures: [Figure] = []
            for count in [10, 100, 900] {
                let times = try await Directories(server: server.address)
                    .run(channels: count, rounds: 9)
                figures.append(
                    Figure(
                        name: "a new device connected, with its list of \(count) conversations",
                        value: times.read, unit: "ms", baseline: times.without,
                        baselineName: "connected, without a list", smallerIsBetter: true))
            }
            return figures
        }
    }

    /// What the server's log costs, into a file.
    @Sendable private static func logs() async throws -> [Figure] {
        var figures: [Figure] = []
        for subscribers in [1, 100] {
            func rate(_ level: String) async throws -> Double {
                try await withServer("serve-reprise", ["--log", level]) {
                    try await FanOut(
                        server: $0.address, subscribers: subscribers, duration: .seconds(3)
                    ).run()
                }
            }
            let off = try await rate("critical")
            for level in ["info", "debug"] {
                figures.append(
                    Figure(
                        name: "publish → deliver, 1 → \(subscribers), the log at `\(level)`",
                        value: try await rate(level), unit: "deliveries/s", baseline: off,
                        baselineName: "no log"))
            }
        }
        return figures
    }

    /// Trivial tasks: what is measured is what the feature adds to them.
    @Sendable private static func chains() async throws -> [Figure] {
        let bare = try await ChainsBench.commit()
        let few = try await ChainsBench.step(beside: 10)
        let many = try await ChainsBench.step(beside: 10_000)
        let waiting = try await ChainsBench.waiting(10_000)
        return [
            Figure(
                name: "checkpoint of a step beside 10 chains, p99 of 1,000", value: few.p99,
                unit: "ms", baseline: bare.p99, baselineName: "a commit of one row",
                target: bare.p99 + 1, smallerIsBetter: true, factor: 1.5),
            Figure(
                name: "the same beside 10,000 chains", value: many.p99, unit: "ms",
                baseline: few.p99, baselineName: "beside 10", target: bare.p99 + 1,
                smallerIsBetter: true, factor: 1.5),
            Figure(
                name: "the same, median", value: many.p50, unit: "ms", baseline: few.p50,
                baselineName: "beside 10", smallerIsBetter: true),
            Figure(
                name: "1,000 chains under way, from opening to the first task",
                value: try await ChainsBench.resumed(1_000), unit: "ms",
                baseline: try await ChainsBench.resumed(1), baselineName: "with one chain",
                target: 100, smallerIsBetter: true, factor: 1.5),
            Figure(
                name: "10,000 chains that wait: processor time in 10 s", value: waiting.cpu,
                unit: "ms", target: 10, smallerIsBetter: true),
            Figure(
                name: "10,000 chains that wait: memory", value: waiting.memory, unit: "MiB",
                target: 20, smallerIsBetter: true),
            Figure(
                name: "trivial tasks, each durable, 8 at a time",
                value: try await ChainsBench.throughput(), unit: "tasks/s",
                baseline: 8_000 / bare.p50, baselineName: "eight to a commit", target: 5_000,
                factor: 1.5),
        ]
    }

    /// What `peers/swiftqueue/run` measures of SwiftQueue.
    @Sendable private static func jobs() async throws -> [Figure] {
        var figures: [Figure] = []
        for count in [100, 200, 400] {
            figures.append(
                Figure(
                    name: "a trivial job of \(count), each durable, 8 at a time",
                    value: try await ChainsBench.job(of: count), unit: "ms", smallerIsBetter: true))
        }
        return figures
    }

    /// One message to 100,000 phones and to 20,000 browsers, on one core; rates are of the moments
    /// between the first push and the last.
    @Sendable private static func push() async throws -> [Figure] {
        try await PushBench.run { bench in
            let apns = try await bench.apns(100_000)
            let bareAPNs = try await bench.bare(
                50_000, path: "/3/device/", bytes: 300, concurrency: 500)
            let web = try await bench.webPush(20_000)
            let bareWeb = try await bench.bare(
                20_000, path: "/push/", bytes: 330, concurrency: 100)
            let megabyte = 1_048_576.0
            return [
                Figure(
                    name: "APNs, from the queue to the stand-in, one core", value: apns.perSecond,
                    unit: "pushes/s", baseline: bareAPNs.perSecond,
                    baselineName: "AsyncHTTPClient alone", target: 5_000, factor: 1.5),
                Figure(
                    name: "the same, the server's processor time", value: apns.cpu,
                    unit: "µs/push", baseline: bareAPNs.cpu, baselineName: "AsyncHTTPClient alone",
                    smallerIsBetter: true),
                Figure(
                    name: "the same, the server's memory at its most",
                    value: Double(apns.memory.most) / megabyte, unit: "MB",
                    baseline: Double(bareAPNs.memory.most) / megabyte,
                    baselineName: "AsyncHTTPClient alone", target: 100, smallerIsBetter: true),
                Figure(
                    name: "a channel of 100,000 members, memory above idle",
                    value: Double(apns.memory.grown) / megabyte, unit: "MB", target: 64,
                    smallerIsBetter: true),
                Figure(
                    name: "Web Push, sealed and sent, one core", value: web.perSecond,
                    unit: "pushes/s", baseline: bareWeb.perSecond,
                    baselineName: "AsyncHTTPClient alone", target: 3_000, factor: 1.5),
                Figure(
                    name: "the same, the server's processor time", value: web.cpu,
                    unit: "µs/push", baseline: bareWeb.cpu, baselineName: "AsyncHTTPClient alone",
                    smallerIsBetter: true),
            ]
        }
    }

    /// The first figures again, with tokens, grants and limits on.
    @Sendable private static func tokens() async throws -> [Figure] {
        let fan = try await withServer("serve-reprise", ["--tokens"]) {
            try await FanOut(server: $0.address).run()
        }
        let many = try await withServer("serve-reprise", ["--tokens"]) {
            try await Publish(server: $0.address).run()
        }
        return [
            Figure(
                name: "with tokens: fan-out 1 → 100, 128-byte bodies, durable first", value: fan,
                unit: "deliveries/s", target: 2_000_000),
            Figure(
                name: "with tokens: durable publish, 64 publishers × 16 in flight",
                value: many.perSecond, unit: "messages/s", target: 60_000),
        ]
    }
}
