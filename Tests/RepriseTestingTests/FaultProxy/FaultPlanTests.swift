import RepriseTesting
import Testing

@Suite("Fault plan")
struct FaultPlanTests {
    @Test("the same seed is the same plan, whatever was asked before")
    func deterministic() {
        let (a, b) = (FaultProxy.Plan(seed: 7), FaultProxy.Plan(seed: 7))
        let forwards = (0..<200).map { a.connection($0) }
        let backwards = (0..<200).reversed().map { b.connection($0) }
        #expect(forwards == backwards.reversed())
        // And in every later version: a seed that is written down somewhere must go on meaning
        // this.
        #expect(
            (0..<12).map { a.connection($0).faults.last?.afterBytes } == [
                32_541, 989, 20_638, 64, 432, 64_025, 17_804, 43_741, 2_941, 2_007, 28_435, 84,
            ])
        #expect(
            a.connection(3).faults == [
                .init(.split(bytes: 26), .toServer, afterBytes: 341),
                .init(.reset, .toServer, afterBytes: 64),
            ])
    }

    @Test("another seed is another plan, and so is another connection")
    func different() {
        let plans = (0..<50).map { seed in
            (0..<20).map { FaultProxy.Plan(seed: UInt64(seed)).connection($0) }
        }
        #expect(Set(plans).count == 50)
        #expect(Set(plans.flatMap { $0 }).count > 800)
    }

    @Test("two hundred connections of a seed meet every kind of fault but the impossible one")
    func everyKind() {
        let connections = (0..<200).map { FaultProxy.Plan(seed: 1).connection($0) }
        let kinds = Set(connections.flatMap(\.faults).map { Self.name($0.kind) })
        #expect(
            kinds == [
                "delay", "throttle", "split", "hold", "halfOpen", "truncate", "finish", "reset",
            ])
        #expect(connections.contains { $0.isRefused })
        #expect(connections.contains { $0.faults.isEmpty && !$0.isRefused })
    }

    @Test("ends come within the reach that was asked for, near as often as far")
    func reach() {
        let plan = FaultProxy.Plan(seed: 3, reach: 100...10_000)
        let places = (0..<1_000).flatMap { plan.connection($0).faults }.filter {
            ["halfOpen", "truncate", "finish", "reset", "hold"].contains(Self.name($0.kind))
        }.map(\.afterBytes)
        #expect(places.allSatisfy { (100...10_000).contains($0) })
        let near = places.filter { $0 < 1_000 }.count
        #expect(near * 4 > places.count && near * 4 < places.count * 3)
    }

    @Test("connections after the planned ones are left alone")
    func after() {
        let plan = FaultProxy.Plan(seed: 5, connections: 10)
        #expect((10..<100).allSatisfy { plan.connection($0) == .init() })
        #expect((0..<10).contains { plan.connection($0) != .init() })
        #expect(FaultProxy.Plan([.refused]).connection(1) == .init())
    }

    private static func name(_ kind: FaultProxy.Fault.Kind) -> String {
        String("\(kind)".prefix { $0 != "(" })
    }
}
