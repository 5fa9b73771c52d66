public import Foundation
import Synchronization

/// A child process of a test: started, controlled by lines, stopped, killed.
///
/// Killed at the latest with the last reference to it.
///
/// ```swift
/// let writer = try ChildProcess(.sibling("JournalWriter"), [folder.path])
/// let first = writer.readLine()
/// writer.kill()
/// ```
///
/// Its calls block: run it on a thread of its own. Starting one makes this process ignore SIGPIPE,
/// so that a write to a child that has ended is an error.
public final class ChildProcess: Sendable {
    /// Why it could not be started.
    public struct StartFailure: Error, CustomStringConvertible {
        /// The program, and the system's error.
        public let description: String
    }

    /// How it ended.
    public enum Ending: Hashable, Sendable {
        /// By itself, with this status.
        case exit(Int32)
        /// By this signal.
        case signal(Int32)
    }

    private struct State {
        var ending: Ending?
        var input: Int32
        var unread: [UInt8] = []
    }

    /// The process's number.
    public let id: pid_t
    private let output: Int32
    private let state: Mutex<State>

    /// Starts a process.
    ///
    /// It shares the test's standard error.
    ///
    /// - Parameters:
    ///   - program: the executable.
    ///   - arguments: without the program's name.
    /// - Throws: ``StartFailure``.
    public init(_ program: URL, _ arguments: [String] = []) throws {
        // A line for a process that has ended must not end this one.
        Foundation.signal(SIGPIPE, SIG_IGN)
        let (toChild, fromChild) = try ChildProcess.pipes()
        // Another child that is started concurrently must not inherit these descriptors.
        for end in toChild + fromChild { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer {
            close(toChild[0])
            close(fromChild[1])
        }
        do {
            id = try ProcessSpawn.start(
                [program.path] + arguments, input: .file(toChild[0]), output: .file(fromChild[1]),
                errors: .inherited, resetsSignals: true)
        } catch {
            close(toChild[1])
            close(fromChild[0])
            throw StartFailure(description: "\(program.path): \(error)")
        }
        output = fromChild[0]
        state = Mutex(State(input: toChild[1]))
    }

    /// A pipe to a child and one from it: both or none.
    ///
    /// - Parameter make: makes a pipe, as the system's call does.
    /// - Returns: the ends of each, the one to read from first.
    /// - Throws: ``StartFailure``.
    package static func pipes(
        _ make: (UnsafeMutablePointer<Int32>) -> Int32 = { pipe($0) }
    ) throws -> (toChild: [Int32], fromChild: [Int32]) {
        var (toChild, fromChild) = (
            [Int32](repeating: -1, count: 2), [Int32](repeating: -1, count: 2)
        )
        guard make(&toChild) == 0, make(&fromChild) == 0 else {
            let number = errno
            for end in toChild where end >= 0 { close(end) }
            throw StartFailure(description: "no pipe: \(String(cString: strerror(number)))")
        }
        return (toChild, fromChild)
    }

    deinit {
        kill()
        let input = state.withLock { $0.input }
        if input >= 0 { close(input) }
        close(output)
    }

    /// Waits for a line of its standard output.
    ///
    /// - Returns: the line without its end; nil when the process has closed its output. A line cut
    ///   short by the end is not returned.
    public func readLine() -> String? {
        while true {
            let line: String? = state.withLock { state in
                guard let end = state.unread.firstIndex(of: 10) else { return nil }
                let line = String(decoding: state.unread[..<end], as: UTF8.self)
                state.unread.removeSubrange(...end)
                return line
            }
            if let line { return line }
            var buffer = [UInt8](repeating: 0, count: 65_536)
            let count = read(output, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return nil }
            state.withLock { $0.unread += buffer.prefix(count) }
        }
    }

    /// Writes a line to its standard input; does nothing if it has ended.
    ///
    /// - Parameter text: without the end of the line.
    public func writeLine(_ text: String) {
        let bytes = Array((text + "\n").utf8)
        let input = state.withLock { $0.input }
        if input >= 0 { _ = write(input, bytes, bytes.count) }
    }

    /// Closes its standard input.
    public func closeInput() {
        let input = state.withLock { state in
            defer { state.input = -1 }
            return state.input
        }
        if input >= 0 { close(input) }
    }

    /// Sends a signal; does nothing if it has ended.
    ///
    /// - Parameter signal: SIGSTOP, SIGCONT, SIGTERM, …
    public func signal(_ signal: Int32) {
        state.withLock { state in
            if state.ending == nil { _ = sendSignal(id, signal) }
        }
    }

    /// Kills it with SIGKILL and waits for its end.
    @discardableResult
    public func kill() -> Ending {
        signal(SIGKILL)
        return wait()
    }

    /// Waits for its end.
    @discardableResult
    public func wait() -> Ending {
        if let ending = state.withLock({ $0.ending }) { return ending }
        var info = siginfo_t()
        while waitid(P_PID, id_t(id), &info, WEXITED | WNOWAIT) < 0, errno == EINTR {}
        // Its number may be another's from here on: nobody signals it meanwhile.
        return state.withLock { state in
            if let ending = state.ending { return ending }
            var status: Int32 = 0
            while waitpid(id, &status, 0) < 0, errno == EINTR {}
            let signal = status & 0x7f
            let ending = signal == 0 ? Ending.exit(status >> 8 & 0xff) : .signal(signal)
            state.ending = ending
            return ending
        }
    }
}

private func sendSignal(_ id: pid_t, _ signal: Int32) -> Int32 { kill(id, signal) }

extension URL {
    /// An executable built beside the tests.
    ///
    /// - Parameter name: the executable's target.
    /// - Returns: its path.
    public static func sibling(_ name: String) -> URL {
        #if canImport(Darwin)
            let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }
            let folder = (bundle ?? .main).bundleURL.deletingLastPathComponent()
        #else
            let folder = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        #endif
        return folder.appendingPathComponent(name)
    }
}
