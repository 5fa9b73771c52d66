import RepriseSimulator
import Testing

@Suite("Typing in virtual time")
struct TypingTests {
    private let workload = TypingWorkload()

    @Test("who is said to type does, it ends within 10 s, and with the connection")
    func honest() {
        let conviction = workload.conviction(seeds: 1..<201)
        #expect(
            conviction == nil, "\(conviction.map { "\($0.whole.seed): \($0.violation)" } ?? "")")
    }

    @Test(
        "a wrong driver is convicted",
        arguments: [
            Mutation.typingForEver, .typingOutlivesConnection, .typingUnticked,
        ])
    func mutation(_ mutation: Mutation) {
        let convicted = (1..<101 as Range<UInt64>).contains { seed in
            workload.run(workload.schedule(seed: seed), mutation: mutation).violation != nil
        }
        #expect(convicted, "\(mutation.text), and nobody noticed")
    }
}
