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

    @Test("Where only one of two pipes can be made, it is closed")
    func onePipe() throws {
        var reading: Int32 = -1
        do {
            _ = try ChildProcess.pipes { ends in
                guard reading < 0, pipe(ends) == 0 else { return -1 }
                for end in 0..<2 { _ = fcntl(ends[end], F_SETFD, FD_CLOEXEC) }
                reading = fcntl(ends[0], F_DUPFD_CLOEXEC, 0)
                return 0
            }
            Issue.record("a second pipe was made")
        } catch is ChildProcess.StartFailure {}
        defer { close(reading) }
        _ = fcntl(reading, F_SETFL, O_NONBLOCK)
        var byte: UInt8 = 0
        // The end of the file: nobody can write any more.
        #expect(read(reading, &byte, 1) == 0)
    }
}
