import RepriseSimulator
import Testing

@Suite("Receipts in virtual time")
struct ReceiptsTests {
    private let workload = ReceiptsWorkload()

    @Test("positions never go back, are durable before they are told, and agree in the end")
    func honest() {
        workload.expectHolds(1..<201)
    }

    @Test("a wrong driver is detected", arguments: [Mutation.echoBeforeDurable, .positionsGoBack])
    func mutation(_ mutation: Mutation) {
        #expect(
            workload.detection(of: mutation, seeds: 1..<60) != nil,
            "\(mutation.text), and nobody noticed")
    }
}
