import RepriseSimulator
import Testing

@Suite("Typing in virtual time")
struct TypingWorkloadTests {
    private let workload = TypingWorkload()

    @Test("who is said to type does, it ends within 10 s, and with the connection")
    func honest() {
        let detection = workload.detection(seeds: 1..<201)
        #expect(
            detection == nil, "\(detection.map { "\($0.whole.seed): \($0.violation)" } ?? "")")
    }

    @Test("a server that dies at one of two frames that came together does not take the other one")
    func deadServer() {
        let schedule = workload.schedule(seed: 2_109).reduced(messages: 106, faults: [1, 2])
        #expect(workload.run(schedule).violation == nil)
    }

    @Test(
        "a wrong driver is detected",
        arguments: [
            Mutation.typingForEver, .typingOutlivesConnection, .typingUnticked,
        ])
    func mutation(_ mutation: Mutation) {
        let detected = (1..<101 as Range<UInt64>).contains { seed in
            workload.run(workload.schedule(seed: seed), mutation: mutation).violation != nil
        }
        #expect(detected, "\(mutation.text), and nobody noticed")
    }
}
