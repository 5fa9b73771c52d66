import RepriseCore
import Testing

@Suite("The gate machine")
struct GateMachineTests {
    private let now = WallTime(milliseconds: 1_000_000)

    private func machine() -> GateMachine {
        GateMachine(kinds: [
            EntryKind("free"),
            EntryKind("ui", requires: [.ui]),
            EntryKind("both", requires: [.ui, .store], bound: .init(after: .zero, then: .expire)),
            EntryKind("late", requires: [.ui], bound: .init(after: .zero, then: .deliver)),
        ])
    }

    @Test(
        "Guarantee 2: a gate opens with the last condition it requires and closes with the first that is lost"
    )
    func opensAndCloses() {
        var gate = machine()
        #expect(gate.openKinds == ["free"])
        #expect(gate.readinessOpened(.store).isEmpty)
        #expect(
            gate.readinessOpened(.ui) == [
                .open(kind: "both"), .open(kind: "late"), .open(kind: "ui"),
            ])
        #expect(gate.readinessOpened(.ui).isEmpty, "a second signal says nothing new")
        #expect(gate.readinessClosed(.store) == [.close(kind: "both")])
        #expect(gate.readinessClosed(.store).isEmpty)
        #expect(gate.openKinds == ["free", "late", "ui"])
        #expect(gate.isOpen(kind: "ui"))
        #expect(!gate.isOpen(kind: "both"))
        #expect(!gate.isOpen(kind: "unknown"))
    }

    @Test(
        "An entry at, before and after its bound is held, dispatched or expired by its kind",
        arguments: [
            ("both", false, -1, true, GateMachine.Disposition.hold),
            ("both", false, 0, true, .expire),
            ("both", true, 0, true, .expire),
            ("both", true, -1, true, .dispatch),
            ("both", false, 0, false, .hold),
            ("both", true, 0, false, .dispatch),
            ("late", false, 0, true, .dispatch),
            ("late", false, -1, true, .hold),
            ("free", false, 0, true, .dispatch),
            ("unknown", true, 0, true, .hold),
        ])
    func dispositions(
        kind: String, isOpen: Bool, past: Int64, isTrusted: Bool, expected: GateMachine.Disposition
    ) {
        var gate = machine()
        if isOpen {
            for condition in [Readiness.ui, .store] { _ = gate.readinessOpened(condition) }
        }
        let bound = WallTime(milliseconds: now.milliseconds - past)
        let disposition = gate.disposition(kind: kind, bound: bound, now: now, mayExpire: isTrusted)
        #expect(disposition == expected)
    }
}
