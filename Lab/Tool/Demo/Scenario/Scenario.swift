import RepriseCommandLine
import RepriseCore
import ReprisePhone

/// A scenario of a demo: what happens to an app, step by step, and what has to come of it.
protocol Scenario: Sendable {
    /// One app on its way through the steps.
    associatedtype Session: PhoneSession

    /// Those of a demo, in the order of its report.
    static func all(_ settings: DemoSettings) -> [Self]

    var name: String { get }
    var title: String { get }
    /// Whether the case study covers it, so that its original apps play it, too.
    var isInCaseStudy: Bool { get }
    /// How the phone behaves where Apple's documentation leaves it open.
    var rules: PhoneRules { get }
    /// Which queue it waits in; each queue has fixtures of its own.
    var queue: Int { get }
    /// Whether it has a fixture of its own, because it breaks what others share.
    var isAlone: Bool { get }
    /// The actions, in order. A kill is a step like any other.
    var steps: [Step<Session>] { get }
}

extension Scenario {
    var queue: Int { 0 }
    var isAlone: Bool { false }

    func isPlayed(by app: some ScenarioApp) -> Bool { isInCaseStudy || app == .reprise }
}

/// One action; it returns once its effect has happened.
struct Step<Session: Sendable>: Sendable {
    /// For the message about a step that gets stuck.
    let name: String
    let perform: @Sendable (Session) async throws -> Void

    init(_ name: String = #function, _ perform: @escaping @Sendable (Session) async throws -> Void)
    {
        self.name = name
        self.perform = perform
    }

    /// Some steps for each of these.
    static func forEach<Items: Sequence>(
        _ items: Items, _ steps: (Items.Element) -> [Step]
    ) -> Step {
        let all = items.flatMap(steps)
        return Step("one of \(all.count)") { session in
            for step in all {
                do {
                    try await step.perform(session)
                } catch let failure as CommandFailure {
                    throw CommandFailure(failure.status, "\(step.name): \(failure.message)")
                }
            }
        }
    }

    /// Runs steps in order, each within a limit.
    ///
    /// - Throws: ``CommandFailure`` with the step's place and name.
    static func perform(
        _ steps: [Step], on session: Session, limit: Duration, of title: String
    ) async throws {
        for (index, step) in steps.enumerated() {
            try Task.checkCancellation()
            do {
                try await withTimeout(limit, for: "It") { try await step.perform(session) }
            } catch {
                try Task.checkCancellation()
                let reason =
                    (error as? CommandFailure)?.message ?? (error as? RepriseError)?.message
                    ?? "\(error)"
                throw CommandFailure(
                    .incomplete,
                    "The demo got stuck in \(title), step \(index + 1) of \(steps.count), "
                        + "\(step.name): \(reason)")
            }
        }
    }
}

/// Which app plays; the last is Reprise.
protocol ScenarioApp: RawRepresentable<String>, CaseIterable, Hashable, Sendable {
    static var reprise: Self { get }
    /// In the head of a column.
    var title: String { get }
}

extension ScenarioApp {
    var title: String { rawValue }
}

/// A sentence that must hold after every scenario, checked from outside the app: by the phone's
/// log, the server's answers, the browser, files.
struct Expectation<Evidence: Sendable>: Sendable {
    let sentence: String
    /// How it is violated; empty: it holds.
    let faults: @Sendable (Evidence) -> [ScenarioFault]

    init(
        _ sentence: String,
        _ faults: @escaping @Sendable (Evidence) -> [ScenarioFault]
    ) {
        self.sentence = sentence
        self.faults = faults
    }

    /// Each event is in the ledger of Reprise's journal, with the right end.
    static func ledger<Demo: ScenarioDemo>(
        _ sentence: String, _ holds: @escaping @Sendable (Demo.Script, LedgerSum) -> Bool
    ) -> Self where Evidence == ScenarioRun<Demo> {
        Self(sentence) { run in
            guard run.app == .reprise else { return [] }
            if let ledger = run.ledger, holds(run.scenario, ledger) { return [] }
            return [
                ScenarioFault(
                    "ledger", "ledger",
                    "the ledger is \(run.ledger?.equation ?? "not to be read")")
            ]
        }
    }
}

/// A violated expectation.
struct ScenarioFault: Hashable, Sendable {
    let sort: String
    /// How many times, for a sum.
    let count: Int
    /// In a cell of the table.
    let word: String
    let sentence: String

    init(_ sort: String, _ word: String, _ sentence: String, count: Int = 1) {
        (self.sort, self.count, self.word, self.sentence) = (sort, count, word, sentence)
    }
}

extension [ScenarioFault] {
    /// A fault for what should not be there, if there is any; its sentence begins with how many.
    static func some(_ count: Int, _ sort: String, _ word: String, _ what: String) -> Self {
        count > 0 ? [ScenarioFault(sort, word, "\(count) \(what)", count: count)] : []
    }
}

extension LedgerSum {
    /// As the sum that it is.
    var equation: String {
        let parts = Outcome.allCases.compactMap { outcome in
            outcomes[outcome].flatMap { $0 > 0 ? "\($0) \(outcome.rawValue)" : nil }
        }
        return "\(accepted) accepted = "
            + (parts + ["\(pending) pending"]).joined(separator: " + ")
            + (duplicates > 0 ? "; \(duplicates) came twice" : "")
    }

    /// For programs.
    var counts: [String: Int64] {
        outcomes.reduce(
            into: ["accepted": accepted, "pending": pending, "duplicates": duplicates]
        ) { $0[$1.key.rawValue] = $1.value }
    }

    /// Whether everything has ended as expected.
    func isSettled(as expected: [Outcome: Int64]) -> Bool {
        isBalanced && pending == 0 && outcomes.filter { $0.value > 0 } == expected
    }
}
