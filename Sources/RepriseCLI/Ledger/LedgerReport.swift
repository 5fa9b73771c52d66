import RepriseCommandLine
import RepriseCore
import RepriseWire

/// Shows a ledger, to people and to programs.
struct LedgerReport {
    private static let order: [Outcome] = [.applied, .expired, .superseded, .dead, .unconfirmed]

    let sum: LedgerSum

    /// How many messages are lost; of a range of unknown length at least one is.
    var lost: Int64 { sum.lost.reduce(0) { $0 + ($1.count ?? 1) } }

    /// On one line.
    var json: String {
        var writer = JSONWriter()
        writer.object { json in
            json.key("accepted")
            json.integer(sum.accepted)
            json.key("pending")
            json.integer(sum.pending)
            json.key("outcomes")
            json.object { json in
                for outcome in Self.order {
                    json.key(plain: outcome.rawValue)
                    json.integer(sum.outcomes[outcome] ?? 0)
                }
            }
            json.key("duplicates")
            json.integer(sum.duplicates)
            json.key("lost")
            json.integer(lost)
            json.key("balanced")
            json.bool(sum.isBalanced)
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    /// As an addition, with what is not part of it below.
    func table(_ terminal: Terminal) -> String {
        var lines = [Self.row("accepted", sum.accepted), ""]
        lines += Self.order.map { Self.row($0.rawValue, sum.outcomes[$0] ?? 0) }
        lines.append(Self.row("pending", sum.pending))
        let total = sum.pending + sum.outcomes.values.reduce(0, +)
        lines.append(String(repeating: "-", count: 30))
        let disposition =
            sum.isBalanced
            ? terminal.paint("balanced", .green) : terminal.paint("does not add up", .red)
        lines.append(Self.row("sum", total) + "   " + disposition)
        lines += ["", Self.row("duplicates", sum.duplicates), Self.row("lost", lost)]
        for loss in sum.lost {
            let count = loss.count.map(\.grouped) ?? "an unknown number"
            lines.append("  \(count) of \(loss.channel), by \(loss.reason)".printable)
        }
        return lines.joined(separator: "\n")
    }

    private static func row(_ name: String, _ count: Int64) -> String {
        name.left(14) + count.grouped.right(16)
    }
}
