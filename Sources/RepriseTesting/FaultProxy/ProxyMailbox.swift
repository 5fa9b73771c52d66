import Foundation
import Synchronization

/// Commands for the proxy's thread, and a pipe that wakes it.
final class ProxyMailbox: Sendable {
    typealias Command = @Sendable (ProxyLoop) -> Void

    private struct State {
        var commands: [Command] = []
        var isStopping = false
        var isClosed = false
    }

    private let state = Mutex(State())
    /// Readable when commands wait.
    let wakeDescriptor: Int32
    private let wakeWriter: Int32

    init() throws(FaultProxy.StartFailure) {
        var ends = [Int32](repeating: -1, count: 2)
        guard pipe(&ends) == 0 else {
            throw .init(description: "pipe: \(String(cString: strerror(errno)))")
        }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        (wakeDescriptor, wakeWriter) = (ends[0], ends[1])
    }

    deinit {
        close(wakeDescriptor)
        close(wakeWriter)
    }

    /// - Returns: false if the thread has ended.
    func post(_ command: @escaping Command) -> Bool {
        let isOpen = state.withLock { state in
            guard !state.isClosed else { return false }
            state.commands.append(command)
            return true
        }
        if isOpen { wakeThread() }
        return isOpen
    }

    func stop() {
        state.withLock { $0.isStopping = true }
        wakeThread()
    }

    /// For the thread: the commands, and whether to go on.
    func take() -> (commands: [Command], isStopping: Bool) {
        var bytes: (UInt64, UInt64) = (0, 0)
        while read(wakeDescriptor, &bytes, 16) > 0 {}
        return state.withLock { state in
            defer { state.commands = [] }
            return (state.commands, state.isStopping)
        }
    }

    /// For the thread, at its end: no command is accepted any more.
    func shut() -> [Command] {
        state.withLock { state in
            state.isClosed = true
            defer { state.commands = [] }
            return state.commands
        }
    }

    private func wakeThread() {
        var byte: UInt8 = 0
        _ = write(wakeWriter, &byte, 1)  // a full pipe wakes as well
    }
}

/// The report, written by the proxy's thread and read by any other.
final class ProxyTally: Sendable {
    private let current = Mutex(FaultProxy.Report())

    var report: FaultProxy.Report { current.withLock { $0 } }

    func connected() { current.withLock { $0.connections += 1 } }

    func met(_ kind: FaultProxy.Report.Met) { current.withLock { $0.met[kind, default: 0] += 1 } }

    func forwarded(_ bytes: Int, _ direction: FaultProxy.Direction) {
        current.withLock { $0.bytes[direction, default: 0] += bytes }
    }

    func waiting(_ bytes: Int) {
        current.withLock { $0.mostWaiting = max($0.mostWaiting, bytes) }
    }
}
