/// The chains in memory, of which the engine drops those that it has not used for long.
struct LiveChains {
    private(set) var all: [Int64: LiveChain] = [:]
    private var uses: UInt64 = 0

    subscript(_ seq: Int64) -> LiveChain? { all[seq] }

    /// Whether a decision is not durable yet.
    var areUnsettled: Bool { all.values.contains { $0.unsettled > 0 } }

    /// Finds one for use.
    mutating func use(_ seq: Int64) -> LiveChain? {
        uses += 1
        all[seq]?.lastUse = uses
        return all[seq]
    }

    /// Adds one for use, in place of those that are idle for the longest.
    mutating func add(_ chain: LiveChain) {
        chain.lastUse = uses
        if all.count >= ChainsLimits.idleChains * 2 {
            let idle = all.values.filter(\.isIdle).sorted { $0.lastUse < $1.lastUse }
            for chain in idle.prefix(max(0, all.count - ChainsLimits.idleChains)) {
                all[chain.row.seq] = nil
            }
        }
        all[chain.row.seq] = chain
    }

    mutating func remove(_ seq: Int64) { all[seq] = nil }
    mutating func removeAll() { all = [:] }
}
