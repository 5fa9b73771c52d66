import Foundation
import RepriseCore
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
        guard pipe(&ends) == 0 else { throw Self.failure(errno) }
        // Processes started meanwhile must not inherit our end.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let words = ["/bin/sh", "-c", Self.guardian, profile] + command
        let result = Self.spawn(words, input: ends[0])
        close(ends[0])
        switch result {
        case .success(let id):
            self.id = id
            state = Mutex(State(pipe: ends[1]))
        case .failure(let error):
            close(ends[1])
            throw error
        }
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

    private static func spawn(
        _ command: [String], input: Int32
    ) -> Result<pid_t, RepriseError> {
        #if canImport(Darwin)
            var actions: posix_spawn_file_actions_t?
            var attributes: posix_spawnattr_t?
        #else
            var actions = posix_spawn_file_actions_t()
            var attributes = posix_spawnattr_t()
        #endif
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        posix_spawn_file_actions_adddup2(&actions, input, 0)
        for output in [Int32(1), 2] {
            posix_spawn_file_actions_addopen(&actions, output, "/dev/null", O_WRONLY, 0)
        }
        var flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK
        // Closes all inherited descriptors: an inherited socket's peer would never see its end.
        #if canImport(Darwin)
            flags |= POSIX_SPAWN_CLOEXEC_DEFAULT
        #else
            let open = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
            // One that is closed by then is no error.
            for file in (open ?? []).compactMap({ Int32($0) }) where file > 2 {
                posix_spawn_file_actions_addclose(&actions, file)
            }
        #endif
        posix_spawnattr_setpgroup(&attributes, 0)
        // A thread of Swift's pool has all signals blocked, a child inherits that, and a shell
        // without SIGCHLD waits for ever.
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, numericCast(flags))
        var words: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) }
        words.append(nil)
        defer { for word in words { free(word) } }
        var id: pid_t = 0
        let code = posix_spawn(&id, command[0], &actions, &attributes, words, environ)
        return code == 0 ? .success(id) : .failure(failure(code))
    }

    private static func failure(_ code: Int32) -> RepriseError {
        RepriseError(
            .unavailable, "Chromium could not be started: \(String(cString: strerror(code))).")
    }
}
