import RepriseCommandLine
import RepriseSimulator

/// What `reprise-lab simulate` can play.
struct SimulationList: Encodable {
    struct Item: Encodable {
        var name: String
        var summary: String
    }

    let workloads = Workloads.all.map { Item(name: $0.name, summary: $0.summary) }
    let baselines = Workloads.baselines.map { Item(name: $0.name, summary: $0.summary) }
    let controls = Workloads.controls.map { Item(name: $0.name, summary: $0.summary) }
    let mutations = Mutation.allCases.map { Item(name: $0.rawValue, summary: $0.text) }

    func text(_ terminal: Terminal) -> String {
        var lines: [String] = []
        func section(_ title: String, _ items: [Item]) {
            guard !items.isEmpty else { return }
            if !lines.isEmpty { lines.append("") }
            lines.append(terminal.paint(title, .bold))
            for item in items {
                lines += item.summary.wrapped(46).enumerated().map { place, words in
                    "  " + (place == 0 ? item.name : "").left(32) + words
                }
            }
        }
        section("Workloads: what should hold", workloads)
        section("Baselines: the case studies' own algorithms, which should not", baselines)
        section("Controls: machines of ours, tried as the baselines are", controls)
        section("Mutations: drivers that are wrong on purpose", mutations)
        return lines.joined(separator: "\n")
    }
}
