import RepriseCommandLine
import RepriseCore
import RepriseSimulator

/// A single run as a timeline.
struct SimulationTrace: Encodable {
    struct Line: Encodable {
        var milliseconds: Int64
        var who: String
        var what: String
    }

    var workload: String
    var seed: UInt64
    var holds: Bool
    var promise: String?
    var violation: String?
    var lines: [Line]

    init(_ outcome: RunOutcome, _ workload: any Workload) {
        self.workload = workload.name
        seed = outcome.schedule.seed
        holds = outcome.violation == nil
        promise = outcome.violation?.invariant.rawValue
        violation = outcome.violation?.what
        lines = outcome.lines.map {
            Line(milliseconds: $0.at.milliseconds, who: $0.who, what: $0.what)
        }
    }

    static func text(
        of outcome: RunOutcome, _ workload: any Workload, _ terminal: Terminal
    ) -> String {
        let schedule = outcome.schedule
        var lines = [
            terminal.paint("\(workload.name), seed \(schedule.seed)", .bold),
            "\(schedule.devices) devices, \(schedule.messages) messages, "
                + "\(schedule.faults.count) faults:",
        ]
        lines += schedule.faults.map { fault in
            "  \(fault.index)  at \(fault.at.clock) for \(fault.length.clock): \(fault.kind.text)"
        }
        lines.append("")
        lines += outcome.lines.timeline()
        lines.append("")
        lines.append(
            outcome.violation.map { terminal.paint("Violated invariant, \($0)", .red) }
                ?? terminal.paint("All invariants hold.", .green))
        return lines.joined(separator: "\n")
    }
}
