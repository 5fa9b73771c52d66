import Foundation
import RepriseCommandLine
import RepriseCore
import RepriseWire

/// The demo `catch-up`: "How to Test" of `case-catch-up`, step by step, with four devices at once.
struct CatchUpDemo: Sendable {
    /// "Bulk events should arrive (100-200)".
    static let backlog = 200
    static let channels = ["north", "east", "south", "west"]
    /// How long the repaired client waits at most, and a bit (`catchUpTimeout`, looked at every 2
    /// s).
    private static let longestCatchUp = Duration.seconds(66)

    let seed: UInt64
    /// The speed-up of the original clients' clocks.
    let speed: Double
    let settings: DemoSettings

    func play() async throws -> TableReport {
        try await DeviceSession.play(
            steps, of: "catch-up, seed \(seed)",
            "What case-catch-up prescribes for its repair; it takes about "
                + (speed > 1 ? "15 s." : "70 s."),
            with: Self.roles, channels: Self.channels,
            options: ["--streams", "\(seed)", "--speed", "\(speed)"], columns: Self.columns,
            settings: settings
        ) { session in
            let acknowledged = await session.acknowledged
            return report(
                Evidence(
                    acknowledged: acknowledged.count,
                    live: acknowledged.subtracting(await session.beforeKill).count,
                    devices: try await session.evidence()),
                took: session.timeline.elapsed)
        }
    }

    static let roles: [DemoDeviceRole] = [.first, .repaired, .signalled, .reprise]
    static let columns = [
        ("stored", 7), ("first", 6), ("repaired", 9), ("+ signal", 9), ("reprise", 8),
    ]

    // MARK: Steps

    private var steps: [Step<DeviceSession>] {
        [
            .startDevices, .send(Self.channels.count), .isStored,
            .until("all have the first event") { $0.areAllComplete },
            .claims(.reprise), .note("subscribed to \(Self.channels.count) channels; first event"),
            .killDevices, .note("SIGKILL to all devices: they are away"),
            .send(Self.backlog), .isStored, .note("\(Self.backlog) events meanwhile"),
            .startDevices, Step("goLive") { await $0.goLive() },
            .note("the devices are back; live events from now on"),
            .until("a part of the backlog") { session in
                session.devices.allSatisfy { $0.count >= Self.channels.count + Self.backlog / 4 }
            },
            .note("each has a quarter of the backlog, or more"),
            .killServer, .claims(.reprise), .claims(.signalled),
            .note("reprise and the signalled client say: complete"),
            .claims(.repaired, within: Self.longestCatchUp / speed + DeviceSession.timeout),
            .note("the repaired client says: complete, by its timer"),
            Step("endLive") { await $0.endLive() }, .isStored, .note("no more live events"),
            .until("ours has everything") { $0.isComplete(.reprise) },
            Step("the repaired clients have what is live, as far as they ever will") { session in
                try await session.isTrue(within: DeviceSession.timeout) {
                    $0.hasLive(.repaired) && $0.hasLive(.signalled)
                }
            },
            // What the others lack after two seconds of silence never arrives.
            .rest, .note("the end"),
        ]
    }

    // MARK: Expectations

    struct Evidence: Sendable {
        /// How many events the server has acknowledged to the publishers.
        let acknowledged: Int
        /// How many of them after the server was killed.
        let live: Int
        let devices: [DemoDeviceRole: DeviceEvidence]

        var ours: DeviceEvidence { devices[.reprise] ?? DeviceEvidence(lost: acknowledged) }
    }

    static let expectations: [Expectation<Evidence>] = [
        Expectation("it says when it has caught up") {
            $0.ours.complete == nil ? [.init("never", "never", "it never said: complete")] : []
        },
        Expectation("and has everything then") {
            .some($0.ours.lost, "lost", "lost", "events are lost")
        },
        Expectation("each event is handled once") {
            .some($0.ours.again, "again", "again", "were handled again")
        },
    ]

    // MARK: The report

    func report(_ evidence: Evidence, took: Duration) -> TableReport {
        let faults = Self.expectations.flatMap { $0.faults(evidence) }
        let devices = Self.roles.compactMap { evidence.devices[$0] }
        func row(
            _ title: String, _ cell: (DeviceEvidence) -> TableRow.Cell
        ) -> TableRow { TableRow(title, devices.map(cell)) }
        func word(_ role: DemoDeviceRole) -> String? {
            evidence.devices[role].map { $0.isFrozen ? "frozen" : "\($0.lost.grouped) lost" }
        }
        let objects = evidence.devices.map { ($0.rawValue, $1.members) }
        return TableReport(
            name: "catch-up", seed: seed, took: took,
            head: TableRow("", ["first", "repaired", "+ signal", "reprise"]),
            rows: [
                row("acknowledged by the server") { _ in (evidence.acknowledged.grouped, nil) },
                row("applied, in a file outside") { ($0.applied.grouped, nil) },
                row("  lost") { TableRow.bad($0.lost) },
                row("  dispatched a second time") { TableRow.bad($0.again) },
                row("live after the kill, of \(evidence.live.grouped)") { ($0.live.grouped, nil) },
                row("from coming back to “complete”") {
                    ($0.complete?.shown ?? ($0.isFrozen ? "frozen" : "never"), nil)
                },
                row("  and it was complete") { device in
                    guard device.complete != nil else { return ("–", nil) }
                    return device.wasComplete ? ("yes", .green) : ("no", .red)
                },
            ],
            faults: faults, verdict: "Nothing lost, nothing twice, and complete when it said so.",
            explanation: explanation,
            figures: ReportObject(Dictionary(uniqueKeysWithValues: objects)).merging([
                "speed": speed, "acknowledged": evidence.acknowledged, "live": evidence.live,
            ]),
            accounts: [
                DemoAccount(
                    feature: "channels", promise: "complete when it says so", before: word(.first),
                    repaired: word(.repaired), reprise: word(.reprise) ?? "–",
                    kept: faults.isEmpty)
            ])
    }

    private var explanation: String {
        let text = """
            first      the original app: an error in the middle of a catch-up leaves it
                       waiting for events that never come.
            repaired   calls it complete after 30 s without an event, 60 s at most, or an
                       error; then asks for what is above the highest sequence it has seen.
            + signal   the same, with a server that says when a catch-up is over: it knows
                       sooner, and misses the same.
            reprise    keeps which ranges it has, and asks for exactly the others.

            A live event is the highest sequence at once. What of the backlog had not come
            when the connection broke lies below it, and nobody asks for it again.
            """
        let isFast = speed != 1
        let times = isFast ? "\nThe original apps' timers went \(Int(speed)) times as fast." : ""
        let again = "\nRun it again: reprise-lab demo catch-up --seed \(seed)"
        return text + times + again + (isFast ? " --fast" : "")
    }
}

extension Step<DeviceSession> {
    /// It says that it is complete.
    fileprivate static func claims(
        _ role: DemoDeviceRole, within limit: Duration = DeviceSession.timeout
    ) -> Step {
        until("\(role) says that it is complete", within: limit) {
            $0.device(role)?.claim != nil
        }
    }
}
