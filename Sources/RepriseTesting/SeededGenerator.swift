import Foundation

/// Random numbers that a printed seed replays, on every machine: SplitMix64.
///
/// Source: Steele, Lea, Flood, Fast Splittable Pseudorandom Number Generators, 2014.
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    /// What replays them.
    package let seed: UInt64
    private var state: UInt64

    package init(seed: UInt64) {
        self.seed = seed
        state = seed
    }

    /// Of `REPRISE_SEED`, or another seed each time.
    package init() {
        let given = ProcessInfo.processInfo.environment["REPRISE_SEED"].flatMap { UInt64($0) }
        self.init(seed: given ?? UInt64.random(in: 0...UInt64(UInt32.max)))
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var word = state
        word = (word ^ word >> 30) &* 0xbf58_476d_1ce4_e5b9
        word = (word ^ word >> 27) &* 0x94d0_49bb_1331_11eb
        return word ^ word >> 31
    }

    /// 0..<bound; 0 if there is nothing to choose from.
    package mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(max(1, bound))) }

    /// True with this probability.
    package mutating func chance(_ probability: Double) -> Bool {
        Double(next() >> 11) * 0x1p-53 < probability
    }

    /// One of them; there must be one.
    package mutating func element<Value>(_ all: [Value]) -> Value { all[below(all.count)] }
}
