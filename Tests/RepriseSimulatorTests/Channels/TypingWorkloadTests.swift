import RepriseSimulator
import Testing

@Suite("Typing in virtual time")
struct TypingWorkloadTests {
    private let workload = TypingWorkload()

    @Test("a user shown as typing does type, and it ends within 10 s and with the connection")
    func honest() {
        workload.expectHolds(1..<201)
    }

    @Test("a server that dies at one of two frames that came together does not take the other one")
    func deadServer() {
        let schedule = workload.schedule(seed: 2_109).reduced(messages: 106, faults: [1, 2])
        workload.expectHolds(schedule)
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
