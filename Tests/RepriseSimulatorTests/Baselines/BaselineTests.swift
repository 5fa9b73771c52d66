import Foundation
import RepriseSimulator
import RepriseTestSupport
import Testing

/// The seeds' own algorithms before the observer.
@Suite("Baselines")
struct BaselineTests {
    @Test(
        "Without a fault each keeps what it accepts: its transcription works",
        arguments: Baseline.all)
    func cleanWithoutFaults(_ baseline: Baseline) {
        for seed in UInt64(0)..<30 {
            let schedule = baseline.workload.schedule(seed: seed).reduced(faults: [])
            let outcome = baseline.workload.run(schedule)
            #expect(outcome.violation == nil, "seed \(seed)")
        }
    }

    @Test("The simulation detects each by itself, and shows the trace", arguments: Baseline.all)
    func detected(_ baseline: Baseline) throws {
        let detection = try #require(baseline.detect(choosingFrom: 1))
        #expect(detection.shrunk.faults.count < detection.whole.faults.count)
        #expect(detection.lines.contains { $0.what.contains("VIOLATED INVARIANT") })
        print(baseline.account(of: detection))
    }

    /// Else it might be the workload that nobody can pass.
    @Test(
        "Each control passes the seeds that detect its baseline",
        arguments: Workloads.controls.map(\.name))
    func control(_ name: String) throws {
        let control = try #require(Workloads.named(name))
        let baselines = Baseline.all.filter { $0.control?.name == name }
        #expect(!baselines.isEmpty)
        for seed in UInt64(0)..<100 {
            let schedule = control.schedule(seed: seed)
            for baseline in baselines {
                #expect(schedule == baseline.workload.schedule(seed: seed))
            }
            let outcome = control.run(schedule)
            #expect(
                outcome.violation == nil, "seed \(seed): \(String(describing: outcome.violation))")
        }
        for baseline in baselines {
            let detected = (0..<100 as Range<UInt64>).contains { seed in
                baseline.workload.run(baseline.workload.schedule(seed: seed)).violation != nil
            }
            #expect(detected, "\(baseline.name)")
        }
    }

    @Test("Every baseline has a control")
    func controls() { #expect(Baseline.all.allSatisfy { $0.control != nil }) }

    @Test("A detection replays: the same schedule violates the same invariant at the same moment")
    func replays() throws {
        let baseline = try #require(Baseline.named("000-at-its-best"))
        let detection = try #require(baseline.detect(choosingFrom: 1))
        let again = baseline.workload.run(detection.shrunk, isTracing: true)
        #expect(again.violation == detection.violation)
        #expect(again.lines == detection.lines)
    }

    @Test(
        "Each schedule counts: 2 devices, 50 messages and 3 faults at least",
        arguments: Baseline.all)
    func schedules(_ baseline: Baseline) {
        for seed in UInt64(0)..<100 {
            let schedule = baseline.workload.schedule(seed: seed)
            #expect(schedule.devices >= 2 && schedule.messages >= 50 && schedule.faults.count >= 3)
        }
    }

    /// A row that no longer detects gets a new seed from
    /// ``Baseline/detect(seeds:by:choosingFrom:)``.
    @Test("Every command of docs/reliability/baselines.md shows a violated invariant")
    func documented() throws {
        let page = Command.root.appending(path: "docs/reliability/baselines.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        let commands = text.matches(of: /--workload (seed-[0-9a-z-]+) (--trace [^`|]*)`/)
        #expect(commands.count >= 15)
        for command in commands {
            let name = String(command.1)
            let workload = try #require(Workloads.named(name))
            let schedule = try schedule(of: workload, String(command.2))
            #expect(workload.run(schedule).violation != nil, "\(name) \(command.2)")
        }
    }

    /// What `reprise-lab simulate` makes of its options.
    private func schedule(of workload: any Workload, _ options: String) throws -> FaultSchedule {
        let words = options.split(separator: " ").map(String.init)
        func value(_ option: String) -> String? {
            words.firstIndex(of: option).map { words[$0 + 1] }
        }
        let seed = try #require(value("--trace").flatMap { UInt64($0) })
        return workload.schedule(seed: seed).reduced(
            devices: value("--devices").flatMap { Int($0) },
            messages: value("--messages").flatMap { Int($0) },
            faults: value("--faults").map { list in
                list.split(separator: ",").compactMap { Int($0) }
            })
    }
}

extension Baseline: CustomTestStringConvertible {
    /// Its name, in the list of tests.
    public var testDescription: String { name }
}
