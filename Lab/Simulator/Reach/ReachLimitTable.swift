package import RepriseCore

extension LimitTable {
    /// Printed into `docs/limits/tool.md`.
    package static let reach: Self = LimitTable(
        "tool", "`reprise-lab reach`",
        "",
        [
            Limit(
                "reach.population", "devices, days, draws",
                "\(ReachLimits.devices); \(ReachLimits.days); \(ReachLimits.draws)",
                "exit status 64"),
            Limit(
                "reach.file", "a file with inputs",
                "\(bytes: ReachLimits.fileBytes), each number in its range", "exit status 65"),
        ])
}
