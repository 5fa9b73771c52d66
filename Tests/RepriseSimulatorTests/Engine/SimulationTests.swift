import RepriseSimulator
import Testing

@Suite("Simulation")
struct SimulationTests {
    @Test("the same seed draws the same numbers, another purpose others")
    func random() {
        let draw = { (seed: UInt64, purpose: String) in
            var random = SeededRandom(seed: seed, purpose: purpose)
            return (0..<4).map { _ in random.next() }
        }
        #expect(draw(1, "a") == draw(1, "a"))
        #expect(draw(1, "a") != draw(1, "b"))
        #expect(draw(1, "a") != draw(2, "a"))
    }
}
