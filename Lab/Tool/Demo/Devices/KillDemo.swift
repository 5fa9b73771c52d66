import Foundation
import RepriseCommandLine
import RepriseCore
import RepriseSimulator
import RepriseWire

/// The demo `kill`: two devices, ours and the naive one, on the same channel, killed at the same
/// moments.
struct KillDemo: Sendable {
    static let channel = "demo"

    let seed: UInt64
    let messages: Int
    let kills: Int
    let text: DemoText
    let timeline: Timeline

    func play() async throws -> DeviceReport {
        var generator = SeededRandom(seed: seed)
        let schedule = KillSchedule(messages: messages, deviceKills: kills, using: &generator)
        let fixture = try DemoFixture { url, folder in
            let arguments = [
                "device", Self.channel, "--server", url, "--journal", Self.journal(folder).path,
            ]
            return [
                arguments + ["--effects", Self.effects("reprise", folder)],
                arguments + ["--effects", Self.effects("naive", folder), "--naive"],
            ]
        }
        let session = DeviceSession(
            fixture, channels: [Self.channel], text: text,
            observer: DeviceObserver(
                ["reprise", "naive"].map { ($0, [Self.effects($0, fixture.folder)]) }),
            timeline: timeline)
        return try await DeviceSession.play(steps(schedule), on: session, of: "kill") { session in
            await fixture.endDevices()
            let sink = try SinkTable.ids(in: Self.journal(fixture.folder))
            let acknowledged = await session.acknowledged
            return report(
                Evidence(
                    published: messages, acknowledged: acknowledged.count,
                    ours: try await session.evidence(of: "reprise"),
                    naive: try await session.evidence(of: "naive"),
                    sink: DeviceEvidence(
                        applied: Set(sink).count, again: sink.count - Set(sink).count,
                        lost: acknowledged.subtracting(sink).count)),
                perSecond: session.traffic[0].medianRate)
        }
    }

    private static func journal(_ folder: URL) -> URL { folder.appendingPathComponent("device") }
    private static func effects(_ device: String, _ folder: URL) -> String {
        folder.appendingPathComponent("\(device).effects").path
    }

    // MARK: Steps

    private func steps(_ schedule: KillSchedule) -> [Step<DeviceSession>] {
        var steps: [Step<DeviceSession>] = [
            .startServer, .startDevices, .listening(1),
            .note("both devices listen; \(Traffic.connections) connections publish"),
        ]
        var (stored, kill) = (0, 0)
        for burst in schedule.bursts {
            steps.append(.send(burst.messages))
            switch burst.kill {
            case .devices(let count):
                kill += 1
                steps += [
                    .handled(count, by: "reprise"), .killDevices,
                    .note("SIGKILL to both devices, \(kill) of \(kills)"), .startDevices,
                    .listening(1),
                ]
            case .server(let count):
                steps += [.stored(stored + count), .killServer, .listening(2)]
            case nil: break
            }
            stored += burst.messages
            steps.append(.stored(stored))
        }
        return steps + [
            .endPublishing, .note("everything is published and acknowledged"), .settle("reprise"),
        ]
    }

    // MARK: Expectations

    struct Evidence: Sendable {
        let published: Int
        let acknowledged: Int
        let ours: DeviceEvidence
        let naive: DeviceEvidence
        /// The rows of the table that shares the journal's transactions.
        let sink: DeviceEvidence
    }

    static let expectations = [
        none("the server acknowledges what is published", "are not acknowledged") {
            $0.published - $0.acknowledged
        },
        none("each message is handled, in a file outside the journal", "are lost in the file") {
            $0.ours.lost
        },
        none("and in the journal's own transaction", "are lost in the transaction") {
            $0.sink.lost
        },
        none("there once", "are repeated in the transaction") { $0.sink.again },
    ]

    private static func none(
        _ sentence: String, _ what: String, _ count: @escaping @Sendable (Evidence) -> Int
    ) -> Expectation<Evidence> {
        Expectation(sentence) { evidence in
            let count = count(evidence)
            return count == 0 ? [] : [.init("kill", "\(count)", "\(count) messages \(what)")]
        }
    }

    // MARK: The report

    func report(_ evidence: Evidence, perSecond: Int) -> DeviceReport {
        let (ours, naive, sink) = (evidence.ours, evidence.naive, evidence.sink)
        let faults = Self.expectations.flatMap { $0.faults(evidence) }
        func both(_ count: Int) -> [String] { [count.grouped, count.grouped] }
        func object(_ device: DeviceEvidence) -> ReportObject {
            [
                "applied": device.applied, "again": device.again, "lost": device.lost,
                "caughtUpMilliseconds": ReportObject.nullable(
                    device.caughtUp?.milliseconds),
            ]
        }
        return DeviceReport(
            columns: ["reprise", "naive"],
            rows: [
                .init("published", both(evidence.published)),
                .init("acknowledged by the server", both(evidence.acknowledged)),
                .init(
                    "applied, in a file outside the journal",
                    [ours.applied.grouped, naive.applied.grouped]),
                .init("  dispatched a second time", [ours.again.grouped, naive.again.grouped]),
                .init("  lost", [DeviceReport.bad(ours.lost), DeviceReport.bad(naive.lost)]),
                .init(
                    "applied, in the journal's own transaction", [sink.applied.grouped, "–"]),
                .init("  repeated", [DeviceReport.bad(sink.again), ("–", nil)]),
                .init("  lost", [DeviceReport.bad(sink.lost), ("–", nil)]),
                .init(
                    "from the last restart to caught up",
                    [ours, naive].map { $0.lost == 0 ? $0.caughtUp?.shown ?? "never" : "never" }),
            ],
            faults: faults,
            verdict: "Nothing lost, nothing repeated in the transaction, after \(kills + 1) kills.",
            explanation: """
                A file cannot share a transaction with the journal. A device that is killed
                between writing its line and recording that it did gets the message again,
                marked as such: at most 128 of them at each kill. That is what "delivered a
                second time" counts.
                A burst went out at about \(perSecond.grouped) messages/s, by the median.
                Run it again: reprise-lab demo kill --seed \(seed)
                """,
            members: [
                "scenario": "kill", "seed": seed, "published": evidence.published,
                "acknowledged": evidence.acknowledged, "deviceKills": kills, "serverKills": 1,
                "reprise": object(ours), "naive": object(naive),
                "transaction": [
                    "applied": sink.applied, "repeated": sink.again, "lost": sink.lost,
                ] as [String: Int],
                "milliseconds": timeline.elapsed.milliseconds,
            ],
            accounts: [
                DemoAccount(
                    feature: "channels", promise: "every message, \(kills + 1) kills",
                    before: "\(naive.lost.grouped) lost", repaired: nil,
                    reprise: "\((ours.lost + sink.lost).grouped) lost", kept: faults.isEmpty),
                DemoAccount(
                    feature: "channels", promise: "at most 128 twice at each kill",
                    before: naive.again.grouped, repaired: nil, reprise: ours.again.grouped,
                    kept: ours.again <= 128 * (kills + 1) && sink.again == 0),
            ])
    }
}

extension Step<DeviceSession> {
    /// The server has answered all devices, so often since their start.
    static func listening(_ times: Int) -> Step {
        Step("listening(\(times))") { session in
            try await session.wait("the devices listen") { session in
                session.observer.devices.allSatisfy {
                    session.observer.times(.listening, $0) >= times
                }
            }
        }
    }
    /// A device has handled so many messages since its start, normally in under a second.
    static func handled(_ count: Int, by device: String) -> Step {
        Step("handled(\(count))") { session in
            try await session.wait(atMost: .seconds(5)) { session in
                try session.observer.handled(device) >= count
            }
        }
    }
    /// The server has stored so many messages of the first channel.
    static func stored(_ count: Int) -> Step {
        Step("stored(\(count))") { await $0.traffic[0].wait(for: count) }
    }
    static var endPublishing: Step { Step("endPublishing") { try await $0.endPublishing() } }
    /// All devices have everything; or this one has, and the others get no more.
    static func settle(_ ours: String) -> Step {
        Step("settle") { session in
            try await session.wait(atMost: DeviceSession.timeout) { try $0.isComplete(ours) }
            if try await !session.areAllComplete() { try await session.rest() }
            let isOurs = try await session.isComplete(ours)
            let areAll = try await session.areAllComplete()
            try await session.note(
                !isOurs
                    ? "\(ours) does not have everything"
                    : areAll ? "both have everything" : "\(ours) has everything; naive gets no more"
            )
        }
    }
}
