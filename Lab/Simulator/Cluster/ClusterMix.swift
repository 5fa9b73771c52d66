/// What a run of `cluster` has beside its devices: each part in some of the runs, since they cost
/// time and most faults need none of them.
struct ClusterMix {
    /// Whether readers say how far they have read.
    let hasReceipts: Bool
    /// Whether one gateway at a time does the housekeeping.
    let hasKeepers: Bool
    /// Whether the journal goes back at the end.
    let goesBack: Bool
    /// Whether bases are made at the end, and the journal purged behind them.
    let hasBases: Bool
    /// Whether messages are pushed at the end.
    let hasPushes: Bool

    init(_ schedule: FaultSchedule) {
        func chance(_ part: String, _ share: Double) -> Bool {
            var random = SeededRandom(seed: schedule.seed, purpose: part)
            return random.chance(share)
        }
        hasReceipts = chance("cluster's receipts", 0.33)
        hasKeepers = chance("cluster's leases", 0.25)
        goesBack = chance("cluster goes back", 0.25)
        hasBases = !goesBack && chance("cluster's bases", 0.15)
        hasPushes = !goesBack && !hasBases && chance("cluster has pushes", 0.15)
    }
}
