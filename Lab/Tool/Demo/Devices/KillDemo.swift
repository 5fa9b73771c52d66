import Foundation
import RepriseCommandLine
import RepriseCore
import RepriseSimulator

/// The demo `kill`: two devices, ours and the naive one, on the same channel, killed at the same
/// moments.
struct KillDemo: Sendable {
    let seed: UInt64
    let messages: Int
    let kills: Int
    let settings: DemoSettings

    func play() async throws -> TableReport {
        var generator = SeededRandom(seed: seed)
        let schedule = KillSchedule(messages: messages, deviceKills: kills, using: &generator)
        return try await DeviceSession.play(
            steps(schedule), of: "kill, seed \(seed)",
            "\(messages.grouped) messages, \(kills) kills of the devices, 1 of the server.",
            with: [.reprise, .naive], channels: ["demo"],
            columns: [("stored", 9), ("reprise", 9), ("naive", 9)], settings: settings
        ) { session in
            await session.endDevices()
            let sink = try SinkTable.ids(in: DeviceCommand.journal(in: session.folder))
            let acknowledged = await session.acknowledged
            let devices = try await session.evidence()
            return report(
                Evidence(
                    published: messages, acknowledged: acknowledged.count,
                    ours: devices[.reprise] ?? DeviceEvidence(),
                    naive: devices[.naive] ?? DeviceEvidence(),
                    sink: DeviceEvidence(
                        applied: Set(sink).count, again: sink.count - Set(sink).count,
                        lost: acknowledged.subtracting(sink).count)),
                perSecond: await session.medianRate, took: session.timeline.elapsed)
        }
    }

    // MARK: Steps

    private func steps(_ schedule: KillSchedule) -> [Step<DeviceSession>] {
        var steps: [Step<DeviceSession>] = [
            .startDevices, .listening(1),
            .note("both devices listen; \(Traffic.connections) connections publish"),
        ]
        var (stored, kill) = (0, 0)
        for burst in schedule.bursts {
            steps.append(.send(burst.messages))
            switch burst.kill {
            case .devices(let count):
                kill += 1
                steps += [
                    .handled(count), .killDevices,
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
            Step("endPublishing") { try await $0.endPublishing() },
            .note("everything is published and acknowledged"), .settle,
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
        Expectation(sentence) { .some(count($0), "kill", "", "messages \(what)") }
    }

    // MARK: The report

    func report(_ evidence: Evidence, perSecond: Int, took: Duration) -> TableReport {
        let (ours, naive, sink) = (evidence.ours, evidence.naive, evidence.sink)
        let faults = Self.expectations.flatMap { $0.faults(evidence) }
        let none = TableRow.Cell("–", nil)
        func both(_ title: String, _ cell: (DeviceEvidence) -> String) -> TableRow {
            TableRow(title, [cell(ours), cell(naive)])
        }
        return TableReport(
            name: "kill", seed: seed, took: took,
            head: TableRow("", ["reprise", "naive"]),
            rows: [
                both("published") { _ in evidence.published.grouped },
                both("acknowledged by the server") { _ in evidence.acknowledged.grouped },
                both("applied, in a file outside the journal") { $0.applied.grouped },
                both("  dispatched a second time") { $0.again.grouped },
                TableRow("  lost", [TableRow.bad(ours.lost), TableRow.bad(naive.lost)]),
                TableRow(
                    "applied, in the journal's own transaction",
                    [(sink.applied.grouped, nil), none]),
                TableRow("  repeated", [TableRow.bad(sink.again), none]),
                TableRow("  lost", [TableRow.bad(sink.lost), none]),
                both("from the last restart to caught up") {
                    $0.lost == 0 ? $0.caughtUp?.shown ?? "never" : "never"
                },
            ],
            faults: faults,
            verdict: "Nothing lost, nothing repeated in the transaction, after \(kills + 1) kills.",
            explanation: """
                A file cannot share a transaction with the journal. A device that is killed
                between writing its line and recording that it did gets the message again,
                marked as such: at most 128 of them at each kill. That is what "dispatched a
                second time" counts.
                A burst went out at about \(perSecond.grouped) messages/s, by the median.
                Run it again: reprise-lab demo kill --seed \(seed)
                """,
            figures: [
                "published": evidence.published, "acknowledged": evidence.acknowledged,
                "deviceKills": kills, "serverKills": 1, "reprise": ours.members,
                "naive": naive.members,
                "transaction": [
                    "applied": sink.applied, "repeated": sink.again, "lost": sink.lost,
                ] as ReportObject,
            ],
            accounts: [
                DemoAccount(
                    feature: "channels", promise: "every message, \(kills + 1) kills",
                    before: "\(naive.lost.grouped) lost",
                    reprise: "\((ours.lost + sink.lost).grouped) lost", kept: faults.isEmpty),
                DemoAccount(
                    feature: "channels", promise: "at most 128 twice at each kill",
                    before: naive.again.grouped, reprise: ours.again.grouped,
                    kept: ours.again <= 128 * (kills + 1) && sink.again == 0),
            ])
    }
}

extension Step<DeviceSession> {
    /// The server has answered all devices, so often since their start.
    fileprivate static func listening(_ times: Int) -> Step {
        until("the devices listen") { session in
            session.devices.allSatisfy { $0.said[.catchingUp, default: 0] >= times }
        }
    }
    /// Ours has handled so many messages since its start, normally in under a second.
    fileprivate static func handled(_ count: Int) -> Step {
        Step { session in
            try await session.isTrue(within: .seconds(5)) { session in
                session.device(.reprise).map { $0.handled >= count } ?? false
            }
        }
    }
    fileprivate static func stored(_ count: Int) -> Step {
        until("\(count) are stored") { $0.stored >= count }
    }
    /// Both devices have everything; or ours has, and the other gets no more.
    fileprivate static var settle: Step {
        Step { session in
            let isOurs = try await session.isTrue(within: DeviceSession.timeout) {
                $0.isComplete(.reprise)
            }
            if await !session.areAllComplete { try await session.rest() }
            let areAll = await session.areAllComplete
            try await session.note(
                !isOurs
                    ? "reprise does not have everything"
                    : areAll ? "both have everything" : "reprise has everything; naive gets no more"
            )
        }
    }
}
