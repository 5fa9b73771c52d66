import Foundation
import RepriseCore
import RepriseTesting
import Synchronization

/// The browser's processes, which end with ours even if that is killed.
///
/// Chromium starts a dozen processes that outlive their parent. So a shell in between starts the
/// browser, and reads from a pipe whose other end only we hold. When that closes, the shell ends
/// the browser; when the browser has ended, it removes the profile and ends its whole group.
final class ChromiumProcess: Sendable {
    private struct State {
        var pipe: Int32
        var hasEnded = false
    }

    private static let guardian = """
        exec 3<&0
        "$@" </dev/null >/dev/null 2>&1 3<&- &
        browser=$!
        { read -r line <&3; kill -KILL $browser; } &
        wait $browser
        rm -rf "$0" || rm -rf "$0"
        kill -KILL 0
        """

    /// The shell's process, which is the group's too.
    let id: pid_t
    private let state: Mutex<State>

    init(profile: String, command: [String]) throws {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw Self.failure(String(cString: strerror(errno)))
        }
        // Processes started meanwhile must not inherit our end.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { close(ends[0]) }
        do {
            id = try ProcessSpawn.start(
                ["/bin/sh", "-c", Self.guardian, profile] + command, input: .file(ends[0]),
                output: .null, errors: .null, isIsolated: true)
        } catch {
            close(ends[1])
            throw Self.failure("\(error)")
        }
        state = Mutex(State(pipe: ends[1]))
    }

    deinit {
        closePipe()
        guard state.withLock({ !$0.hasEnded }) else { return }
        // Reaps the process.
        let id = self.id
        Thread.detachNewThread {
            var status: Int32 = 0
            while waitpid(id, &status, 0) < 0, errno == EINTR {}
        }
    }

    var isRunning: Bool {
        state.withLock { state in
            guard !state.hasEnded else { return false }
            var status: Int32 = 0
            if waitpid(id, &status, WNOHANG) == id { state.hasEnded = true }
            return !state.hasEnded
        }
    }

    /// Returns when the shell has ended, which ends last.
    func end() async {
        closePipe()
        let deadline = ContinuousClock.now + .seconds(10)
        while isRunning {
            if ContinuousClock.now > deadline { _ = kill(-id, SIGKILL) }
            try? await Task.sleep(for: .milliseconds(5))
        }
    }

    private func closePipe() {
        let pipe = state.withLock { state in
            defer { state.pipe = -1 }
            return state.pipe
        }
        if pipe >= 0 { close(pipe) }
    }

    private static func failure(_ reason: String) -> RepriseError {
        RepriseError(.unavailable, "Chromium could not be started: \(reason).")
    }
}
