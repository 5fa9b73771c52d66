import RepriseSimulator
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

    @Test("The simulation convicts each by itself, and shows the trace", arguments: Baseline.all)
    func convicted(_ baseline: Baseline) throws {
        let conviction = try #require(baseline.convict())
        print(baseline.account(of: conviction))
    }
}

@Suite struct Survey {
    @Test func survey() {
        let rows: [(String, [Fault.Kind], Promise)] = [
            ("000-first", [.killDevice], .recorded), ("000-first", [.killDevice], .released),
            ("000-repaired", [.killDevice], .released),
            ("000-repaired", [.handlerLate, .killDevice], .released),
            ("000-at-its-best", [.killDevice], .recorded),
            ("000-at-its-best", [.handlerLate, .killDevice], .released),
            ("000-at-its-best", [.suspend], .released),
            ("001-first", [.cut], .alive), ("001-first", [.killDevice, .handlerLate], .recorded),
            ("001-first", [.killDevice, .handlerThrows], .alive),
            ("001-first", [.killDevice, .handlerThrows], .recorded),
            ("001-repaired", [.killDevice, .handlerThrows], .recorded),
            ("001-repaired", [.killDevice, .handlerLate], .recorded),
            ("001-repaired", [.cut], .recorded), ("001-repaired", [.reorder], .recorded),
            ("001-repaired", [.killDevice, .cut], .recorded),
            ("001-repaired", [.killDevice, .suspend], .recorded),
            ("002-first", [.killDevice], .released),
            ("002-repaired", [.killDevice, .handlerLate], .released),
            ("002-repaired", [.killDevice], .recorded), ("002-repaired", [.gateCloses], .released),
            ("003-first", [.killDevice], .once), ("003-repaired", [.killDevice], .once),
            ("003-repaired", [.killDevice, .diskFull], .once),
            ("003-repaired", [.killDevice, .damage], .recorded),
            ("003-repaired", [.handlerThrows], .acknowledged),
            ("004", [.suspend], .alive),
        ]
        for (name, kinds, promise) in rows {
            let baseline = Baseline.named(name)!
            var best: Conviction?
            var from: UInt64 = 0
            for _ in 0..<25 {
                guard let c = baseline.convict(seeds: from..<400, by: kinds, choosingFrom: 1) else {
                    break
                }
                from = c.whole.seed + 1
                guard c.violation.promise == promise,
                    Set(c.shrunk.faults.map(\.kind)) == Set(kinds)
                        || kinds == [.handlerLate, .killDevice] && name != "000-repaired"
                else { continue }
                if c.lines.count < best?.lines.count ?? .max { best = c }
            }
            print("SURVEY", name, kinds, promise, best.map { baseline.account(of: $0) } ?? "NONE")
        }
    }
}

extension Baseline: CustomTestStringConvertible {
    public var testDescription: String { name }
}
