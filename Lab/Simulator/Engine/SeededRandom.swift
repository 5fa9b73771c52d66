import RepriseTesting

/// A source of random numbers that gives the same ones for the same seed, on every machine.
package struct SeededRandom: RandomNumberGenerator, Sendable {
    private var words: SeededGenerator

    package init(seed: UInt64) { words = SeededGenerator(seed: seed) }

    /// A source of its own for `purpose`, so that drawing more for one purpose changes nothing for
    /// another.
    package init(seed: UInt64, purpose: String) {
        // FNV-1a, because Swift's own hash differs from process to process.
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in purpose.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
        var mixed = SeededRandom(seed: seed ^ hash)
        self.init(seed: mixed.next())
    }

    package mutating func next() -> UInt64 { words.next() }

    /// 0..<1.
    package mutating func fraction() -> Double { Double(next() >> 11) * 0x1p-53 }

    /// True with this probability.
    package mutating func chance(_ probability: Double) -> Bool { fraction() < probability }

    /// 0..<count; 0 if there is nothing to choose from.
    package mutating func index(_ count: Int) -> Int {
        count > 1 ? Int(truncatingIfNeeded: next() % UInt64(count)) : 0
    }

    package mutating func duration(_ from: Duration, _ to: Duration) -> Duration {
        from + (to - from) * fraction()
    }

    /// Short ones often, long ones seldom: even over the logarithm.
    package mutating func spread(_ from: Duration, _ to: Duration) -> Duration {
        var step = to / from
        let factor = power { _ in
            step = step.squareRoot()
            return step
        }
        return from * factor
    }

    /// The same between two that are drawn between many times.
    package mutating func spread(_ spread: Spread) -> Duration {
        spread.from * power { spread.steps[$0] }
    }

    /// A ratio to the power of a fraction, by halves, so that no mathematics library decides the
    /// last bit; `root` takes the next root of it.
    private mutating func power(_ root: (_ number: Int) -> Double) -> Double {
        var (factor, left) = (1.0, fraction())
        for number in 0..<Spread.count {
            let step = root(number)
            left *= 2
            if left >= 1 {
                factor *= step
                left -= 1
            }
        }
        return factor
    }

    /// Two lengths, and the roots of their ratio that a draw multiplies.
    package struct Spread: Sendable {
        fileprivate static let count = 20
        fileprivate let from: Duration
        fileprivate let steps: [Double]

        package init(_ from: Duration, _ to: Duration) {
            self.from = from
            var step = to / from
            steps = (0..<Self.count).map { _ in
                step = step.squareRoot()
                return step
            }
        }
    }

    /// Nearly the same in a fraction of the time: each octave as often as the others.
    package mutating func latency(_ from: Duration, _ to: Duration) -> Duration {
        let (least, most) = (max(from.wholeNanoseconds, 1), to.wholeNanoseconds)
        guard most > least else { return from }
        // One of the octaves between them, and evenly in that.
        let octaves = 64 - ((most - 1) / least).leadingZeroBitCount
        let bits = next()
        let low = least << Int64(bits % UInt64(octaves))
        let width = min(2 * low, most) - low
        return .nanoseconds(low + Int64(truncatingIfNeeded: (bits >> 8) % UInt64(width)))
    }
}
