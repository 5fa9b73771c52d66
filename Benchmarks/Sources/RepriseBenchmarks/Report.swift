import Foundation

/// One measured figure beside its target and the loop it is compared with.
struct Figure: Codable {
    var name: String
    var value: Double
    var unit: String
    /// The same I/O without Reprise, run in the same minute.
    var baseline: Double?
    var baselineName: String?
    /// What an issue asks for.
    var target: Double?
    var smallerIsBetter = false
    /// How much more than the bare loop is met too, where the issue says so: on a slow machine
    /// nobody meets the target.
    var factor: Double?

    /// The target, or what the bare loop allows, whichever is easier.
    var bound: Double? {
        guard let target else { return nil }
        guard let factor, let baseline else { return target }
        return smallerIsBetter ? max(target, baseline * factor) : min(target, baseline / factor)
    }

    var isMet: Bool? {
        bound.map { smallerIsBetter ? value <= $0 : value >= $0 }
    }
}

/// The machine, so that a figure can be read.
struct Machine: Codable {
    var processor: String
    var cores: Int
    var system: String
    var date: String

    init() {
        let info = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)) ?? ""
        let line = info.split(separator: "\n").first { $0.hasPrefix("model name") }
        processor =
            line?.split(separator: ":").last.map {
                $0.trimmingCharacters(in: .whitespaces)
            } ?? "unknown processor"
        cores = ProcessInfo.processInfo.activeProcessorCount
        system = ProcessInfo.processInfo.operatingSystemVersionString
        let format = ISO8601DateFormatter()
        format.formatOptions = [.withFullDate]
        date = format.string(from: Date())
    }
}

struct Report: Codable {
    var machine = Machine()
    var figures: [Figure] = []

    /// A table in Markdown, as it goes into README.md.
    func table() -> String {
        var lines = [
            "\(machine.processor), \(machine.cores) cores, \(machine.system), \(machine.date)", "",
            "| what | measured | beside it | ratio | target | met |", "|---|---|---|---|---|---|",
        ]
        for figure in figures {
            let baseline = figure.baseline.map {
                "\(Self.short($0)) (\(figure.baselineName ?? ""))"
            }
            let ratio = figure.baseline.map { String(format: "%.2f", figure.value / $0) }
            let target = figure.target.map {
                "\(figure.smallerIsBetter ? "≤" : "≥") \(Self.short($0))"
                    + (figure.factor.map { " or \(Self.short($0)) × bare" } ?? "")
            }
            let met = figure.isMet.map { $0 ? "yes" : "**no**" }
            lines.append(
                "| \(figure.name) | \(Self.short(figure.value)) \(figure.unit) | \(baseline ?? "–") | "
                    + "\(ratio ?? "–") | \(target ?? "–") | \(met ?? "–") |")
        }
        return lines.joined(separator: "\n")
    }

    private static func short(_ value: Double) -> String {
        switch abs(value) {
        case 1_000_000...: String(format: "%.2f M", value / 1_000_000)
        case 10_000...: String(format: "%.0f k", value / 1_000)
        case 100...: String(format: "%.0f", value)
        default: String(format: "%.1f", value)
        }
    }
}
