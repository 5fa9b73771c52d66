import Foundation
public import Reprise

/// One chain in the State Viewer: its facts, its steps, its log, and what can be done to it.
public struct ChainDetail: Identifiable, Hashable, Sendable {
    /// A fact about the chain.
    public struct Fact: Identifiable, Hashable, Sendable {
        /// Its name, which is unique.
        public let id: String
        /// Its value.
        public let value: String
    }

    /// A step: tasks that run in parallel.
    public struct Step: Identifiable, Hashable, Sendable {
        /// Its number; the first is 0.
        public let id: Int
        /// `Step 2 of 3`.
        public let title: String
        /// Whether it is the one that the chain is at.
        public let isCurrent: Bool
        /// Its tasks, in the order of the definition.
        public let tasks: [Task]
    }

    /// A task.
    public struct Task: Identifiable, Hashable, Sendable {
        /// Its name, which is unique in the chain.
        public let id: String
        /// The worker's identifier, or `waits`.
        public let worker: String
        /// Its state, or that of its compensation, in a word.
        public let state: String
        /// How the state stands out.
        public let tone: RowTone
        /// `2 attempts, took 5 s`; nil: it was not tried.
        public let attempts: String?
        /// Its progress, 0 to 1; nil: it has not reported any, or has ended.
        public let fraction: Double?
        /// What it waits for, its error and its note, a line each.
        public let lines: [String]
    }

    /// The chain as it stands in the list.
    public let row: ChainListRow
    /// What else is known of it.
    public let facts: [Fact]
    /// The steps, in order.
    public let steps: [Step]
    /// The log, oldest first.
    public let log: [String]
    /// What can be done to it.
    public let actions: [ChainAction]

    /// The chain.
    public var id: ChainID { row.id }

    init(_ status: ChainStatus, in zone: TimeZone) {
        row = ChainListRow(status, in: zone)
        let facts: [(String, String?)] = [
            ("Id", status.id.text), ("Name", status.name), ("State", row.state),
            ("Reason", status.reason), ("Progress", row.progress),
            ("Started", status.startedAt.shown(in: zone)),
            ("Ended", status.endedAt?.shown(in: zone)),
        ]
        self.facts = facts.compactMap { name, value in value.map { Fact(id: name, value: $0) } }
        let numbers = Set(status.tasks.map(\.step)).sorted()
        let current = status.tasks.first { !$0.state.isEnd }?.step
        steps = numbers.enumerated().map { place, number in
            Step(
                id: number, title: "Step \(place + 1) of \(numbers.count)",
                isCurrent: number == current && !status.state.isEnd,
                tasks: status.tasks.filter { $0.step == number }.map(Task.init))
        }
        log = status.log
        actions = ChainAction.allowed(in: status.state)
    }
}

extension ChainDetail.Task {
    fileprivate init(_ task: ChainTaskStatus) {
        id = task.name
        worker = task.worker ?? "waits"
        (state, tone) = Self.word(task)
        var attempts = task.attempts > 0 ? Int64(task.attempts).counted("attempt") : nil
        if let began = task.startedAt, let ended = task.endedAt, ended >= began {
            attempts =
                (attempts.map { $0 + ", " } ?? "") + "took \(began.duration(to: ended).shown)"
        }
        self.attempts = attempts
        fraction = task.state.isEnd ? nil : task.progress.flatMap { $0.isFinite ? $0 : nil }
        lines = [task.hold.map(Self.words), task.error, task.note].compactMap(\.self)
    }

    private static func word(_ task: ChainTaskStatus) -> (String, RowTone) {
        switch task.compensation {
        case .intended, .held: return ("compensating", .waiting)
        case .compensated: return ("compensated", .plain)
        case .failed: return ("not compensated", .bad)
        case .none: break
        }
        return switch task.state {
        case .blocked: ("blocked", .plain)
        case .intended: (task.failures > 0 ? "retrying" : "running", .good)
        case .held: ("waiting", .waiting)
        case .succeeded: ("succeeded", .good)
        case .failed: ("failed", .bad)
        case .cancelled: ("cancelled", .plain)
        }
    }

    /// What a task waits for, as ``ChainTaskStatus/hold`` names it.
    private static func words(_ hold: String) -> String {
        if hold == "conditions" { return "Waits for the conditions that it needs" }
        if hold == "paused" { return "Waits for somebody to resume it" }
        if hold == "parked" { return "Waits for an update of the app" }
        if hold.hasPrefix("readiness:") { return "Waits for the readiness \(hold.dropFirst(10))" }
        if hold.hasPrefix("entry:") { return "Waits for an entry of kind \(hold.dropFirst(6))" }
        return "Waits for \(hold)"
    }
}
