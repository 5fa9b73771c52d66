import Foundation
import RepriseTestSupport
import Testing

/// What was typed is written down here; the screens and the server's history are compared with it.
@Suite("chat through kills", .timeLimit(.minutes(3)))
struct ChatKillsTests {
    /// A person at a terminal, in as many lives of the tool as it takes.
    private struct Person {
        let name: String
        let arguments: [String]
        private(set) var terminal: PseudoTerminal
        private(set) var said: [String] = []

        init(_ name: String, in scene: ChatScene) throws {
            self.name = name
            arguments = scene.arguments(name)
            terminal = try PseudoTerminal(arguments, height: 80)
        }

        mutating func say() -> String {
            let line = "\(name) says \(said.count + 1)."
            said.append(line)
            terminal.type(line + "\r")
            return line
        }

        /// What is on the screen is in the journal.
        func sees(_ line: String) async throws {
            try await terminal.wait("\(name) sees “\(line)”") { $0.times(line) == 1 }
        }

        func isLive() async throws {
            try await terminal.wait("\(name) is live") { $0.contains { $0.contains("· live") } }
        }

        mutating func kill() async {
            terminal.signal(SIGKILL)
            _ = await terminal.end()
        }

        mutating func comeBack() throws {
            terminal = try PseudoTerminal(arguments, height: 80)
        }
    }

    @Test(
        "two people in two terminals, each of them and the server killed: each line once, in order")
    func rounds() async throws {
        var scene = try await ChatScene()
        var ada = try Person("ada", in: scene)
        var bob = try Person("bob", in: scene)
        for _ in 0..<2 {
            try await ada.isLive()
            try await bob.isLive()
            try await ada.sees(bob.say())
            try await bob.sees(ada.say())

            try await ada.sees(ada.say())
            await ada.kill()
            try await bob.sees(bob.say())
            try ada.comeBack()
            try await ada.isLive()

            try await bob.sees(bob.say())
            await bob.kill()
            try await ada.sees(ada.say())
            try bob.comeBack()
            try await bob.isLive()

            // What both say now waits in their journals, and one of them is killed over it.
            scene.server.tool.signal(SIGKILL)
            _ = await scene.server.tool.end()
            try await ada.sees(ada.say())
            try await bob.sees(bob.say())
            await ada.kill()
            try ada.comeBack()
            // What is typed before the tool has the terminal is the shell's.
            try await ada.sees(bob.said.first ?? "")
            try await ada.sees(ada.say())
            try await scene.restartServer()
        }
        try await ada.sees(bob.say())
        try await bob.sees(ada.say())

        let said = ada.said + bob.said
        try await shows(said, on: ada.terminal)
        try await shows(said, on: bob.terminal)
        let stored = try await scene.said()
        #expect(stored.count == said.count, "\(stored)")
        for person in [ada, bob] {
            let theirs = stored.filter { $0.hasPrefix(person.name) }
            #expect(theirs == person.said.map { "\(person.name) \($0)" })
        }
    }

    private func shows(_ said: [String], on terminal: PseudoTerminal) async throws {
        try await terminal.wait("all of it, once") { rows in
            said.allSatisfy { rows.times($0) == 1 }
        }
        #expect(terminal.rows.times(" says ", within: true) == said.count, "\(terminal.text)")
    }
}
