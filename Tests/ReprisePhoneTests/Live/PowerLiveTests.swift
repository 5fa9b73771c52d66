import Foundation
import NIOCore
import RepriseCore
import ReprisePhone
import RepriseTestSupport
import RepriseTesting
import Testing

@Suite("A phone that is switched off, and peers that make no sense")
struct PowerLiveTests {
    @Test("a phone that is killed takes its apps along, and forgets nothing else")
    func powerOff() async throws {
        let calls: [AppCall] = [
            .add(request("later", after: 100)), .add(request("now", badge: 2)),
            .submit(BackgroundRequest(id: "t", kind: .refresh)), .pending,
        ]
        try await ProbePhone.play(calls: calls, tasks: ["t"]) { phone in
            try await phone.launch()
            try await phone.expects(.report("called", "later"))
            try await phone.expects(.phone(.delivered, "now"))
            try await phone.suspend()
            let before = try await phone.status()
            let process = try #require(before.apps[0].process)
            await phone.powerOff()
            #expect(!isAlive(before.process) && !isAlive(process))
            try await phone.powerOn()
            try await phone.expects(.phone(.exited, "power off"))
            let after = try await phone.app()
            #expect(after.state == .notRunning && after.process == nil)
            #expect(after.pending.map(\.id) == ["later"] && after.badge == 2)
            #expect(after.delivered == before.apps[0].delivered && after.delivered.count == 1)
            #expect(after.tasks.map(\.id) == ["t"])
            #expect(after.settings.authorization == .authorized)
            try await phone.advance(by: .seconds(101))
            try await phone.expects(.phone(.delivered, "later"))
            let numbers = try await phone.log().map(\.number)
            #expect(numbers == Array(1...numbers.count))
        }
    }

    @Test("the processes of a killed phone are ended when it starts again")
    func leftovers() async throws {
        try await ProbePhone.play(["--mute"]) { phone in
            try await phone.launch()
            let status = try await phone.status()
            let process = try #require(status.apps[0].process)
            #expect(status.apps[0].state == .launching)
            kill(status.process, SIGKILL)
            try await eventually("the phone is gone") { !isAlive(status.process) }
            #expect(isAlive(process))
            try await phone.powerOn()
            #expect(!isAlive(process))
        }
    }

    @Test("an app that never connects is terminated at its limit", .limit("phone.launch"))
    func mute() async throws {
        try await ProbePhone.play(["--mute"]) { phone in
            try await phone.launch()
            try await phone.advance(by: .seconds(10))
            #expect(try await phone.app().state == .launching)
            try await phone.advance(by: .seconds(10))
            try await phone.expects(.phone(.terminated, "it did not connect in time"))
            #expect(try await phone.app().process == nil)
        }
    }

    @Test("an app that talks nonsense is not understood, and the phone goes on")
    func nonsense() async throws {
        try await ProbePhone.play(["--nonsense"]) { phone in
            try await phone.launch()
            for _ in 0..<9 { try await phone.expects(.phone(.nonsense)) }
            try await phone.expects(.report("tenThousand"))
            let process = try #require(try await phone.app().process)
            kill(process, SIGKILL)
            try await phone.expects(.phone(.exited, "signal 9"))
            try await phone.install(
                PhoneAppSpec(id: "other", executable: URL.sibling("PhoneProbe").path))
            try await phone.launch("other")
            try await phone.expects(.report("foreground", app: "other"))
        }
    }

    @Test(
        "a command of more than a mebibyte, and one that is none, are refused; the next phone call works",
        .limit("phone.line")
    )
    func badCommands() async throws {
        try await ProbePhone.play { phone in
            await expectError(.tooLarge) {
                try await phone.push(String(repeating: "x", count: 2_000_000))
            }
            for line in ["nonsense", "", "{}", String(repeating: "y", count: 2_000_000)] {
                let reply = try await Self.reply(to: line, of: phone.folder)
                #expect(reply?.id == nil)
                guard case .failed = reply?.answer else {
                    Issue.record("\(line.prefix(10)): \(String(describing: reply))")
                    continue
                }
            }
            await expectError(.malformed) { try await phone.push("{") }
            await expectError(.noSuchEntry) { try await phone.launch("none") }
            await expectError(.noSuchEntry) { try await phone.tap() }
            #expect(try await phone.status().apps.count == 1)
        }
    }

    /// Says who it is, then one line; the answer to that.
    private static func reply(to line: String, of folder: PhoneFolder) async throws -> PhoneReply? {
        let socket = try await LineConnection.connect(to: folder.socket)
        socket.send(PhoneGreeting.control)
        socket.sendRaw(Array(line.utf8))
        var reply: PhoneReply?
        await socket.readLines { line in
            reply = try? PhoneJSON.decode(PhoneReply.self, from: line)
            return false
        }
        return reply
    }

    @Test(
        "a program that cannot be started is an error of the launch, and a second phone of the folder of its start"
    )
    func badProgram() async throws {
        try await ProbePhone.play { phone in
            try await phone.install(PhoneAppSpec(id: "none", executable: "/nowhere/none"))
            await expectError(.unavailable) { try await phone.launch("none") }
            try await phone.expects(.phone(.notLaunched, app: "none"))
            let folder = phone.folder
            await expectError(.journalOwned) {
                try await PhoneSupervisor.run(in: folder)
            }
            #expect(try await phone.status().apps.count == 2)
        }
    }

    @Test("a phone whose starter ends is ended, and its apps with it")
    func orphan() async throws {
        let folder = try TemporaryFolder()
        let owner = try ChildProcess(.sibling("PhoneProbe"), ["phone", folder.url.path])
        let place = PhoneFolder(folder.url)
        var control: PhoneControl?
        try await eventually("the phone answers") {
            control = try? await PhoneControl.connect(to: place)
            return control != nil
        }
        let phone = try #require(control)
        try await phone.ask(
            .install(PhoneAppSpec(id: "probe", executable: URL.sibling("PhoneProbe").path)))
        try await phone.ask(.launch(app: nil))
        let process = try #require(try await phone.status().apps.first?.process)
        owner.closeInput()
        #expect(owner.wait() == .exit(0))
        #expect(!isAlive(process))
    }
}
