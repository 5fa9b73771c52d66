import RepriseChannels
import RepriseTestSupport
import RepriseWire
import Testing

@testable import RepriseCLI

@Suite("chat: the line above new messages")
struct ChatDividerTests {
    private func start(_ count: Int64, after: Int64, isKnown: Bool = true) -> UnreadStart {
        UnreadStart(
            unread: Unread(count: count, head: after + count), after: after, isKnown: isKnown)
    }

    @Test(
        "the line stays behind the last read message, however many messages come, are edited or deleted"
    )
    func stays() {
        var divider = ChatDivider()
        #expect(divider.moved(by: start(0, after: 4)) == nil)
        for count in [1, 2, 5, 4, 3] as [Int64] {
            #expect(divider.moved(by: start(count, after: 4)) == 4, "\(count)")
        }
        // Part of it is read on another device.
        #expect(divider.moved(by: start(2, after: 6)) == 4)
        // All of it.
        #expect(divider.moved(by: start(0, after: 8)) == 4)
        #expect(divider.moved(by: start(1, after: 8)) == 8)
    }

    @Test(
        "a key marks the shown messages as read, later ones are new; sending a message removes the line"
    )
    func read() {
        var divider = ChatDivider()
        #expect(divider.moved(by: start(3, after: 1)) == 1)
        divider.attended()
        // What was on its way when the key was touched.
        #expect(divider.moved(by: start(3, after: 1)) == 1)
        #expect(divider.moved(by: start(0, after: 4)) == 1)
        #expect(divider.moved(by: start(1, after: 4)) == 4)
        divider.spoken()
        #expect(divider.moved(by: start(0, after: 5)) == nil)
        #expect(divider.moved(by: start(1, after: 5)) == 5)
    }

    @Test("the line is not shown before the server has sent the read position")
    func unknown() {
        var divider = ChatDivider()
        #expect(divider.moved(by: start(50, after: 0, isKnown: false)) == nil)
        #expect(divider.moved(by: start(3, after: 47)) == 47)
    }

    @Test("the divider of another log is set anew")
    func otherLog() {
        var divider = ChatDivider()
        #expect(divider.moved(by: start(3, after: 47)) == 47)
        #expect(divider.moved(by: start(2, after: 0)) == 0)
    }

    @Test(
        "in the terminal the line stays in place when messages come, are deleted, and are read on another device"
    )
    func terminal() async throws {
        let scene = try await ChatScene()
        try await scene.post(#"{"id":"a0","body":"before"}"#, as: "ada")
        let bob = try PseudoTerminal(scene.arguments("bob"), height: 40)
        func below() -> String? {
            let rows = bob.rows
            return rows.firstIndex { $0.contains("─ new ─") }.map { rows[$0 + 1] }
        }
        try await bob.wait("what was there is new") { _ in below()?.hasSuffix("before") == true }
        bob.type("x\u{15}")
        try await bob.wait("read") { !$0.contains { $0.contains("unread") } }
        var places: Set<String> = []
        for number in 1...12 {
            try await scene.post(#"{"id":"a\#(number)","body":"m\#(number)"}"#, as: "ada")
            try await bob.wait("m\(number)") { rows in
                if rows.times("m1") == 1, let place = below() { places.insert(place) }
                return rows.times("m\(number)") == 1
                    && rows.contains { $0.contains("\(number) unread") }
            }
        }
        // Before the count has come it may still stand where it was.
        #expect(
            places.allSatisfy { $0.contains("  m1") || $0.contains("  before") }, "\(places)")
        try await scene.post(#"{"id":"d1","deletes":"a1"}"#, as: "ada")
        try await bob.wait("one is gone, and the line stays") { rows in
            rows.contains { $0.contains("11 unread") } && below()?.hasSuffix("(deleted)") == true
        }
        try await scene.read(through: 6, as: "bob")
        try await bob.wait("some are read elsewhere, and the line stays") { rows in
            !rows.contains { $0.contains("11 unread") } && below()?.hasSuffix("(deleted)") == true
        }
        bob.type("x\u{15}")
        try await bob.wait("read") { !$0.contains { $0.contains("unread") } }
        try await scene.post(#"{"id":"e1","body":"later"}"#, as: "ada")
        try await bob.wait("what comes then is new") { _ in below()?.hasSuffix("later") == true }
        bob.type("\u{4}")
        #expect(await bob.end() == 0)
    }
}
