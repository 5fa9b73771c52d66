import Foundation
import RepriseSimulator
import Testing

@Suite("Reminders in virtual time")
struct RemindersWorkloadTests {
    private let workload = RemindersWorkload()

    @Test(
        "no seed breaks a promise: kills, power losses, failing disks, stores and notification centres, permissions, calendars, journeys"
    )
    func honest() {
        let conviction = workload.conviction(seeds: 1..<31)
        #expect(
            conviction == nil, "\(conviction.map { "\($0.whole.seed): \($0.violation)" } ?? "")")
    }

    @Test(
        "a wrong driver is convicted",
        arguments: [
            (Mutation.additionsFirst, 1), (.deliveredStays, 1), (.changesMeanwhileForgotten, 1),
            (.pendingRemembered, 1), (.pausedStays, 1), (.endBeforePresented, 1),
            (.presentedAgain, 1), (.lookUpOnce, 1), (.markApart, 1), (.answerAgain, 1),
        ] as [(Mutation, UInt64)])
    func mutation(_ mutation: Mutation, _ first: UInt64) {
        for seed in first..<first + 200 {
            let schedule = workload.schedule(seed: seed)
            if workload.run(schedule, mutation: mutation).violation != nil { return }
        }
        Issue.record("\(mutation.text), and nobody noticed")
    }

    @Test("the same schedule is the same run, line by line")
    func repeats() {
        let runs = (0..<2).map { _ in
            workload.run(workload.schedule(seed: 7), isTracing: true).lines
        }
        #expect(runs[0] == runs[1])
        #expect(runs[0].count > 100)
    }

    @Test("the model of marks and routes and the shipping tables agree after every transaction")
    func compared() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "reprise-reminders-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for seed: UInt64 in 1..<3 {
            let outcome = workload.run(workload.schedule(seed: seed), tier: .compared(folder))
            #expect(
                outcome.violation == nil, "seed \(seed): \(String(describing: outcome.violation))")
        }
    }
}
