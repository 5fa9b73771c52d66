import Foundation
import RepriseCore

/// The scenarios and what two apps have made of them.
struct NoticesReport: Sendable {
    let results: [NoticesResult]
    let algorithms: [NoticesAlgorithm]
    let took: Duration

    /// Whether all invariants held.
    var hasPassed: Bool { !results.isEmpty && results.allSatisfy(\.isKept) }

    // MARK: For people

    func table(_ terminal: Terminal) -> String {
        ([Self.head(algorithms, terminal)] + results.map { Self.row($0, algorithms, terminal) }
            + [foot(terminal)]).joined(separator: "\n")
    }

    static func head(_ algorithms: [NoticesAlgorithm], _ terminal: Terminal) -> String {
        ScenarioTable(terminal: terminal).head(
            "what a person saw", algorithms.map(\.rawValue))
    }

    static func row(
        _ result: NoticesResult, _ algorithms: [NoticesAlgorithm], _ terminal: Terminal
    ) -> String {
        ScenarioTable(terminal: terminal).row(
            result.scenario.title, algorithms.map { cell(result, $0) })
    }

    private static func cell(
        _ result: NoticesResult, _ algorithm: NoticesAlgorithm
    ) -> ScenarioTable.Cell {
        guard let run = result.run(algorithm) else { return ("–", nil) }
        let faults = result.faults(run)
        if let fault = faults.first { return (fault.word, .red) }
        guard algorithm != .reprise || result.isKept else { return ("ledger", .red) }
        let good: Terminal.Colour? = algorithm == .reprise ? .green : nil
        if let time = run.time { return (String(format: "%.2f s", time.inSeconds), good) }
        return (run.messages.contains { $0.due == .atOpen } ? "when opened" : "right", good)
    }

    func foot(_ terminal: Terminal) -> String {
        let table = ScenarioTable(terminal: terminal)
        func sums(_ sum: (NoticesResult, NoticesRun) -> Int) -> [ScenarioTable.Cell] {
            algorithms.map { algorithm in
                let total = results.reduce(0) { total, result in
                    total + (result.run(algorithm).map { sum(result, $0) } ?? 0)
                }
                return ("\(total)", nil)
            }
        }
        return [
            "",
            table.row("messages", sums { $1.messages.count }),
            table.row("  not heard of before the app was opened", sums { $1.count(of: .late) }),
            table.row("  with a second banner", sums { $0.faults($1).total(of: .twice) }),
            table.row("banners of what is read", sums { $1.count(of: .stale) }),
            table.row(
                "scenarios with a wrong badge", sums { $1.count(of: .badge) > 0 ? 1 : 0 }),
            "",
            hasPassed
                ? terminal.paint(
                    "At most one banner of a message, and the badge is what is unread.", .green)
                : terminal.paint("A promise was broken. Please report it with this output.", .red),
            "", Self.explanation, "Took \(took.shown).",
        ].joined(separator: "\n")
    }

    private static let explanation = """
        seed       seed 004: a socket while the app runs, a local notification for each
                   message, and nothing when it does not run. What it leaves open is
                   filled in to its advantage: no message is lost, the badge is in the
                   banner, and asked of the server at each opening.
        reprise    the same, and pushes from a server process by a stand-in of Apple's
                   to the phone, where an extension decides by what the app has left.

        A time is the longest from “stored” to its banner, as the phone's notification
        centre has it. A push is sent when a device has not received a message by
        itself in 5 s. “2 at open”: not before the app was opened or ran again. “badge
        0 of 1”: what the icon showed, and what was unread by the server. “1 stands”:
        a banner of what is read. – : the seed says nothing of it.
        """

    // MARK: For programs

    func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(NoticesSummary(self)), as: UTF8.self)
    }
}

extension NoticesResult.Fault {
    /// The sums of the report.
    enum Sort { case late, twice, stale, badge, other }

    var sort: Sort {
        switch self {
        case .lost, .atOpen: .late
        case .twice: .twice
        case .stands: .stale
        case .badge: .badge
        case .shown, .unnamed, .silent, .missed, .routes: .other
        }
    }

    private var number: Int {
        switch self {
        case .lost(let count), .atOpen(let count), .twice(let count), .shown(let count),
            .stands(let count), .unnamed(let count), .silent(let count):
            count
        case .missed, .routes, .badge: 1
        }
    }

    static func total(_ faults: [Self], of sort: Sort) -> Int {
        faults.reduce(0) { $0 + ($1.sort == sort ? $1.number : 0) }
    }

    /// In a cell.
    var word: String {
        switch self {
        case .lost(let count): "\(count) lost"
        case .atOpen(let count): "\(count) at open"
        case .twice(let count): "\(count) twice"
        case .shown(let count): "\(count) shown"
        case .stands(let count): "\(count) stands"
        case .unnamed(let count): "\(count) unnamed"
        case .silent(let count): "\(count) silent"
        case .missed(let what): what
        case .routes: "wrong way"
        case .badge(let saw, let due): "badge \(saw) of \(due)"
        }
    }

    /// In a sentence.
    var sentence: String {
        switch self {
        case .lost(let count): "\(count) messages were never seen"
        case .atOpen(let count): "\(count) messages were seen only when the app ran again"
        case .twice(let count): "\(count) banners too many"
        case .shown(let count): "\(count) banners disturbed the person, who had said no"
        case .stands(let count): "\(count) banners stand for what is read"
        case .unnamed(let count): "\(count) banners say not who or what"
        case .silent(let count): "\(count) banners made no sound"
        case .missed(let what): "a sign of the others was not seen: \(what)"
        case .routes(let led): "the taps led to \(led.joined(separator: ", "))"
        case .badge(let saw, let due): "the badge was \(saw), and \(due) were unread"
        }
    }
}

extension [NoticesResult.Fault] {
    func total(of sort: NoticesResult.Fault.Sort) -> Int { Element.total(self, of: sort) }
}

extension NoticesRun {
    /// Faults of a sort, added up.
    func count(of sort: NoticesResult.Fault.Sort) -> Int { faults.total(of: sort) }
}
