import RepriseSimulator
import Testing

extension Workload {
    /// Fails the test for each seed that violates an invariant.
    func expectHolds(
        _ seeds: some Sequence<UInt64>, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        for seed in seeds {
            let violation = run(schedule(seed: seed)).violation
            #expect(
                violation == nil, "seed \(seed): \(String(describing: violation))",
                sourceLocation: sourceLocation)
        }
    }

    /// Fails the test where no seed shows that a wrong driver violates this invariant, or 21 show
    /// that it violates others.
    func expectDetected(
        _ mutation: Mutation, _ promise: Promise, in seeds: Range<UInt64>,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        var found: [Promise] = []
        for seed in seeds where found.count <= 20 {
            guard let violation = run(schedule(seed: seed), mutation: mutation).violation else {
                continue
            }
            if violation.promise == promise { return }
            found.append(violation.promise)
        }
        Issue.record(
            "\(mutation.text), and nobody noticed \(promise), only \(found)",
            sourceLocation: sourceLocation)
    }
}
