import Foundation
import RepriseTesting
import Testing

@Suite("Child process")
struct ChildProcessTests {
    @Test("A line for a process that has ended does not end the tests")
    func ended() throws {
        let child = try ChildProcess(URL(filePath: "/bin/sh"), ["-c", "exit 3"])
        #expect(child.wait() == .exit(3))
        child.writeLine("too late")
        #expect(child.readLine() == nil)
    }
}
