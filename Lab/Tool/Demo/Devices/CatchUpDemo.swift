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
    let text: DemoText
    let timeline: Timeline

    func play() async throws -> DeviceReport {
        let (seed, speed) = (self.seed, self.speed)
        let fixture = try DemoFixture { url, folder in
            CatchUpDevice.allCases.map { role in
                ["catch-up-device"] + Self.channels
                    + [
                        "--server", url, "--folder", folder.path, "--role", role.rawValue,
                        "--seed", String(seed), "--speed", String(speed),
                    ]
            }
        }
        let files = { (role: CatchUpDevice) in
            Self.channels.map { CatchUpDeviceCommand.effects(of: role, in: $0, at: fixture.folder) }
        }
        let session = DeviceSession(
            fixture, channels: Self.channels, text: text,
            observer: DeviceObserver(CatchUpDevice.allCases.map { ($0.rawValue, files($0)) }),
            timeline: timeline)
        return try await DeviceSession.play(steps, on: session, of: "catch-up") { session in
            var devices: [CatchUpDevice: DeviceEvidence] = [:]
            for role in CatchUpDevice.allCases {
                devices[role] = try await session.evidence(of: role.rawValue)
            }
            let acknowledged = await session.acknowledged
            return report(
                Evidence(
                    acknowledged: acknowledged.count,
                    live: acknowledged.subtracting(await session.beforeKill).count,
                    devices: devices))
        }
    }

    // MARK: Steps

    private var steps: [Step<DeviceSession>] {
        [
            .startServer, .startDevices, .send(Self.channels.count), .isStored,
            .haveAll,
            .claims(.reprise), .note("subscribed to \(Self.channels.count) channels; first event"),
            .killDevices, .note("SIGKILL to all devices: they are away"),
            .send(Self.backlog), .isStored, .note("\(Self.backlog) events meanwhile"),
            .startDevices, .goLive, .note("the devices are back; live events from now on"),
            .have(Self.channels.count + Self.backlog / 4),
            .note("each has a quarter of the backlog, or more"),
            .killServer, .claims(.reprise), .claims(.signalled),
            .note("reprise and the signalled client say: complete"),
            .claims(.repaired, within: Self.longestCatchUp / speed + DeviceSession.timeout),
            .note("the repaired client says: complete, by its timer"),
            .endLive, .note("no more live events"), .has(.reprise),
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
        let devices: [CatchUpDevice: DeviceEvidence]

        var ours: DeviceEvidence { devices[.reprise] ?? DeviceEvidence(lost: acknowledged) }
    }

    static let expectations: [Expectation<Evidence>] = [
        Expectation("it says when it has caught up") {
            $0.ours.complete == nil ? [.init("never", "never", "it never said: complete")] : []
        },
        Expectation("and has everything then") {
            $0.ours.lost == 0 ? [] : [.init("lost", "lost", "\($0.ours.lost) events are lost")]
        },
        Expectation("each event is handled once") {
            let again = $0.ours.again
            return again == 0 ? [] : [.init("again", "again", "\(again) were handled again")]
        },
    ]

    // MARK: The report

    func report(_ evidence: Evidence) -> DeviceReport {
        let faults = Self.expectations.flatMap { $0.faults(evidence) }
        let devices = CatchUpDevice.allCases.compactMap { evidence.devices[$0] }
        func row(
            _ title: String, _ cell: (DeviceEvidence) -> DeviceReport.Cell
        ) -> DeviceReport.Row { .init(title, devices.map(cell)) }
        func word(_ role: CatchUpDevice) -> String? {
            evidence.devices[role].map { $0.isFrozen ? "frozen" : "\($0.lost.grouped) lost" }
        }
        let objects = CatchUpDevice.allCases.map { role -> (String, ReportObject) in
            let device = evidence.devices[role] ?? DeviceEvidence()
            return (
                role.rawValue,
                [
                    "applied": device.applied, "lost": device.lost, "again": device.again,
                    "live": device.live, "wasComplete": device.wasComplete,
                    "completeMilliseconds": ReportObject.nullable(
                        device.complete?.milliseconds),
                    "frozen": device.isFrozen,
                ]
            )
        }
        return DeviceReport(
            columns: ["first", "repaired", "+ signal", "reprise"],
            rows: [
                row("acknowledged by the server") { _ in (evidence.acknowledged.grouped, nil) },
                row("applied, in a file outside") { ($0.applied.grouped, nil) },
                row("  lost") { DeviceReport.bad($0.lost) },
                row("  dispatched a second time") { DeviceReport.bad($0.again) },
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
            members: ReportObject([
                "scenario": "catch-up", "seed": seed, "speed": speed,
                "acknowledged": evidence.acknowledged, "live": evidence.live,
                "milliseconds": timeline.elapsed.milliseconds,
            ]).merging(ReportObject(Dictionary(objects) { first, _ in first })),
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
    /// Every device has what was published.
    static var haveAll: Step {
        Step("haveAll") { session in
            try await session.wait("all have the first event") { try $0.areAllComplete() }
        }
    }
    /// Every device has at least so many.
    static func have(_ count: Int) -> Step {
        Step("have(\(count))") { session in
            try await session.wait("a part of the backlog") { session in
                try session.observer.devices.allSatisfy {
                    try session.observer.count($0) >= count
                }
            }
        }
    }
    static func has(_ role: CatchUpDevice) -> Step {
        Step("has(\(role))") { session in
            try await session.wait("\(role) has everything") { try $0.isComplete(role.rawValue) }
        }
    }
    /// It says that it is complete.
    static func claims(_ role: CatchUpDevice, within limit: Duration = DeviceSession.timeout)
        -> Step
    {
        Step("claims(\(role))") { session in
            try await session.wait("\(role) says that it is complete", limit) {
                $0.observer.claim(of: role.rawValue) != nil
            }
        }
    }
    static var rest: Step { Step("rest") { try await $0.rest() } }
    static var goLive: Step { Step("goLive") { await $0.goLive() } }
    static var endLive: Step { Step("endLive") { await $0.endLive() } }
}
