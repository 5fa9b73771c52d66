import RepriseCore

/// A feature's expected and observed result: a row of the table at the end of `reprise demo`.
struct DemoAccount: Encodable, Sendable {
    /// The feature.
    let feature: String
    /// The invariant.
    let promise: String
    /// The result of the case study's original app; nil: not covered.
    let before: String?
    /// The same with the document's own repair.
    let repaired: String?
    /// The result with Reprise.
    let reprise: String
    /// Whether the invariant held, by the feature's own table.
    let kept: Bool

    private enum CodingKeys: String, CodingKey {
        case feature = "door"
        case promise
        case before
        case repaired
        case reprise
        case kept
    }
}

/// The result of one part of the demo.
protocol DemoReport: Sendable {
    /// Whether all invariants held.
    var hasPassed: Bool { get }
    /// The rows of the table at the end.
    var accounts: [DemoAccount] { get }
    /// All of it for programs, one JSON object.
    func json() throws -> String
    /// The output that was not printed during the run.
    func rest(_ terminal: Terminal) -> String
}

extension KillReport: DemoReport {
    var accounts: [DemoAccount] {
        [
            DemoAccount(
                feature: "channels", promise: "every message, \(kills + 1) kills",
                before: "\(naive.lost.grouped) lost", repaired: nil,
                reprise: "\((ours.lost + sink.lost).grouped) lost", kept: hasPassed),
            DemoAccount(
                feature: "channels", promise: "at most 128 twice at each kill",
                before: naive.again.grouped, repaired: nil, reprise: ours.again.grouped,
                kept: ours.again <= 128 * (kills + 1) && sink.again == 0),
        ]
    }

    func rest(_ terminal: Terminal) -> String { table(terminal) }
}

extension CatchUpReport: DemoReport {
    var accounts: [DemoAccount] {
        [
            DemoAccount(
                feature: "channels", promise: "complete when it says so",
                before: word(.first), repaired: word(.repaired), reprise: word(.reprise) ?? "–",
                kept: hasPassed)
        ]
    }

    private func word(_ role: CatchUpDevice) -> String? {
        guard let device = devices[role] else { return nil }
        return device.isFrozen ? "frozen" : "\(device.lost.grouped) lost"
    }

    func rest(_ terminal: Terminal) -> String { table(terminal) }
}

extension FormsReport: DemoReport {
    var accounts: [DemoAccount] {
        [
            DemoAccount(
                feature: "forms", promise: "its form for each tap, once",
                before: share(.optionalChaining), repaired: share(.waitThreeSeconds),
                reprise: share(.reprise) ?? "–", kept: hasPassed)
        ]
    }

    private func share(_ algorithm: FormsAlgorithm) -> String? {
        let played = results.filter { $0.run(algorithm) != nil }
        guard !played.isEmpty else { return nil }
        let right = played.count { result in
            guard let run = result.run(algorithm) else { return false }
            guard algorithm != .reprise else { return result.isKept }
            if case .right = result.disposition(run) { return true }
            return false
        }
        return "\(right) of \(played.count)"
    }

    func rest(_ terminal: Terminal) -> String { table(terminal) }
}

extension RemindersReport: DemoReport {
    var accounts: [DemoAccount] {
        [
            DemoAccount(
                feature: "reminders", promise: "the right screen for each tap",
                before: share(.first), repaired: share(.repaired), reprise: share(.reprise) ?? "–",
                kept: hasPassed),
            DemoAccount(
                feature: "reminders", promise: "none rings for what is gone",
                before: orphans(.first), repaired: orphans(.repaired),
                reprise: orphans(.reprise) ?? "–", kept: hasPassed),
        ]
    }

    private func share(_ algorithm: RemindersAlgorithm) -> String? {
        let played = results.filter {
            $0.run(algorithm) != nil && !$0.scenario.screens.isEmpty
        }
        guard !played.isEmpty else { return nil }
        let right = played.count { result in
            guard let run = result.run(algorithm) else { return false }
            return !result.faults(run).contains { fault in
                switch fault {
                case .lost, .twice, .screen: true
                case .orphans, .silent, .dropped, .heard, .applied: false
                }
            }
        }
        return "\(right) of \(played.count)"
    }

    private func orphans(_ algorithm: RemindersAlgorithm) -> String? {
        let runs = results.compactMap { $0.run(algorithm) }
        guard !runs.isEmpty else { return nil }
        return "\(runs.reduce(0) { $0 + $1.centre.orphans }) do"
    }

    /// Its rows were printed as they came.
    func rest(_ terminal: Terminal) -> String { foot(terminal) }
}

extension ChainsReport: DemoReport {
    var accounts: [DemoAccount] {
        [
            DemoAccount(
                feature: "chains", promise: "each chain comes to its end",
                before: lost(.singleValue), repaired: nil, reprise: lost(.reprise) ?? "–",
                kept: hasPassed)
        ]
    }

    /// Deliberately damaged chains do not count as lost: they are in quarantine.
    private func lost(_ algorithm: ChainsAlgorithm) -> String? {
        let played = results.filter { $0.run(algorithm) != nil }
        guard !played.isEmpty else { return nil }
        let lost = played.reduce(0) { sum, result in
            guard let run = result.run(algorithm) else { return sum }
            return sum
                + (0..<result.scenario.chains).count {
                    run.states[$0] != result.scenario.end(of: $0)
                }
        }
        return "\(lost) lost"
    }

    /// Its rows were printed as they came.
    func rest(_ terminal: Terminal) -> String { summary(terminal) }
}

extension NoticesReport: DemoReport {
    var accounts: [DemoAccount] {
        [
            account("at most one banner of a message", .twice, "twice") { _ in true },
            account("the badge is what is unread", .badge, "wrong") { _ in true },
            account("seen although the app was dead", .late, "not") { result in
                result.scenario.isPushed
            },
        ]
    }

    private func account(
        _ promise: String, _ sort: NoticesResult.Fault.Sort, _ word: String,
        where isMeant: (NoticesResult) -> Bool
    ) -> DemoAccount {
        func sum(_ algorithm: NoticesAlgorithm) -> Int? {
            let runs = results.filter(isMeant).compactMap { result in
                result.run(algorithm).map { result.faults($0).total(of: sort) }
            }
            return runs.isEmpty ? nil : runs.reduce(0, +)
        }
        return DemoAccount(
            feature: "notices", promise: promise, before: sum(.seed).map { "\($0) \(word)" },
            repaired: nil, reprise: sum(.reprise).map { "\($0) \(word)" } ?? "–",
            kept: hasPassed)
    }

    /// Its rows were printed as they came.
    func rest(_ terminal: Terminal) -> String { foot(terminal) }
}
