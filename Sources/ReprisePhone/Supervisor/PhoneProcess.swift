import Foundation
import RepriseTesting
import Synchronization

/// A process started by the phone: can be stopped, continued, killed, and awaited.
package final class PhoneProcess: Sendable {
    /// Why it could not be started, or how it ended.
    struct Failure: Error, CustomStringConvertible { let description: String }

    let identity: ProcessIdentity
    /// Whether its id is free for another process.
    private let isReaped = Mutex(false)
    /// Our end of its input, which the system closes with this process, however that ends; -1 if it
    /// has none.
    private let input: Int32
    private let end = DispatchSemaphore(value: 0)
    /// The most output that is kept.
    static let outputLimit = 1_048_576

    /// Starts a process.
    ///
    /// - Parameters:
    ///   - words: the program's path and its arguments.
    ///   - environment: the complete environment.
    ///   - output: the file for its output.
    ///   - holdsInput: whether its input ends with this process; else it has none.
    ///   - ended: called once with its end, on a thread of its own.
    /// - Throws: ``Failure``.
    init(
        _ words: [String], environment: [String: String], output: URL, holdsInput: Bool = false,
        ended: @escaping @Sendable (String) -> Void
    ) throws {
        let (reading, writing) = try Self.pipe()
        let (theirInput, ourInput) = holdsInput ? try Self.pipe() : (-1, -1)
        defer {
            close(writing)
            if holdsInput { close(theirInput) }
        }
        do {
            // Isolated: a terminal's signals to the phone must not reach the apps.
            let id = try ProcessSpawn.start(
                words, environment: environment, input: holdsInput ? .file(theirInput) : .null,
                output: .file(writing), errors: .file(writing), isIsolated: true,
                resetsSignals: true)
            identity = ProcessIdentity(id: id, started: Self.startTime(id) ?? "")
        } catch {
            close(reading)
            if holdsInput { close(ourInput) }
            throw Failure(description: "\(error)")
        }
        input = ourInput
        Self.drain(reading, to: output)
        let thread = Thread { [self] in ended(awaitEnd()) }
        thread.stackSize = 262_144
        thread.start()
    }

    /// Sends a signal, unless it has ended.
    func signal(_ signal: Int32) {
        isReaped.withLock { isReaped in
            if !isReaped { _ = kill(identity.id, signal) }
        }
    }

    /// Kills it and waits for its end, at most five seconds.
    func end(within seconds: Double = 5) {
        signal(SIGKILL)
        if end.wait(timeout: .now() + seconds) == .success { end.signal() }
    }

    private func awaitEnd() -> String {
        // Looked at first and reaped under the lock: no signal can meet another process of the same
        // number.
        var information = siginfo_t()
        while waitid(P_PID, id_t(identity.id), &information, WEXITED | WNOWAIT) != 0,
            errno == EINTR
        {}
        var status: Int32 = 0
        isReaped.withLock { isReaped in
            while waitpid(identity.id, &status, 0) < 0, errno == EINTR {}
            isReaped = true
        }
        end.signal()
        if input >= 0 { close(input) }
        let signal = status & 0x7f
        return signal == 0 ? "status \(status >> 8 & 0xff)" : "signal \(signal)"
    }

    /// Both ends: for reading, for writing.
    private static func pipe() throws -> (Int32, Int32) {
        var ends: [Int32] = [-1, -1]
        guard Foundation.pipe(&ends) == 0 else {
            throw Failure(description: "no pipe: \(String(cString: strerror(errno)))")
        }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    /// Keeps the beginning of its output, and discards the rest so that it never blocks.
    private static func drain(_ input: Int32, to output: URL) {
        let file = open(output.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        let thread = Thread {
            var buffer = [UInt8](repeating: 0, count: 16_384)
            var room = outputLimit
            while true {
                let count = read(input, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { break }
                if file >= 0, room > 0 { _ = write(file, buffer, min(room, count)) }
                room -= count
            }
            close(input)
            if file >= 0 { close(file) }
        }
        thread.stackSize = 262_144
        thread.start()
    }
}

extension PhoneProcess {
    /// Kills a process that is not our child, if its identity matches; waits for its end, at most
    /// five seconds.
    static func endLeftover(_ identity: ProcessIdentity) {
        let isThere = { startTime(identity.id) == identity.started && !identity.started.isEmpty }
        guard isThere() else { return }
        kill(identity.id, SIGKILL)
        let limit = Date().addingTimeInterval(5)
        while isThere(), Date() < limit { usleep(2_000) }
    }

    /// The system's start time of a process; nil if it does not exist or is a zombie.
    package static func startTime(_ id: Int32) -> String? {
        #if os(Linux)
            guard let text = try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8),
                let name = text.lastIndex(of: ")")
            else { return nil }
            // After the name: the state, then 18 others, then the start in ticks since boot
            // (proc(5)).
            let words = text[text.index(after: name)...].split(separator: " ")
            guard words.count > 19, words[0] != "Z", words[0] != "X" else { return nil }
            return String(words[19])
        #else
            var information = kinfo_proc()
            var size = MemoryLayout<kinfo_proc>.stride
            var path: [Int32] = [CTL_KERN, KERN_PROC, KERN_PROC_PID, id]
            guard sysctl(&path, 4, &information, &size, nil, 0) == 0, size > 0,
                information.kp_proc.p_stat != SZOMB
            else { return nil }
            let started = information.kp_proc.p_starttime
            return "\(started.tv_sec).\(started.tv_usec)"
        #endif
    }
}
