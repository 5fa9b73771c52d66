package import Foundation

/// Starts a child process with `posix_spawn`.
package enum ProcessSpawn {
    /// Where one of its three standard streams leads.
    package enum Stream {
        case inherited
        case null
        case file(Int32)
    }

    /// The system's error.
    package struct Failure: Error, CustomStringConvertible { package let description: String }

    /// Starts it, with no signal blocked.
    ///
    /// - Parameters:
    ///   - command: the program's path and its arguments.
    ///   - environment: the complete environment.
    ///   - input: its standard input.
    ///   - output: its standard output.
    ///   - errors: its standard error.
    ///   - isIsolated: whether it has its own process group, and none of our other descriptors.
    ///   - resetsSignals: whether what we ignore or handle has its default action there.
    /// - Returns: its number.
    /// - Throws: ``Failure``.
    package static func start(
        _ command: [String],
        environment: [String: String] = ProcessInfo.processInfo.environment,
        input: Stream, output: Stream, errors: Stream,
        isIsolated: Bool = false, resetsSignals: Bool = false
    ) throws(Failure) -> pid_t {
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
        let streams: [(Int32, Stream)] = [(0, input), (1, output), (2, errors)]
        for (number, stream) in streams {
            switch stream {
            case .inherited: break
            case .null:
                posix_spawn_file_actions_addopen(
                    &actions, number, "/dev/null", number == 0 ? O_RDONLY : O_WRONLY, 0)
            case .file(let file): posix_spawn_file_actions_adddup2(&actions, file, number)
            }
        }
        var flags = POSIX_SPAWN_SETSIGMASK
        // A thread of Swift's pool blocks all signals. A child that inherited that would ignore
        // SIGTERM, and a shell without SIGCHLD would wait for ever.
        var (all, none) = (sigset_t(), sigset_t())
        sigfillset(&all)
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        if resetsSignals {
            flags |= POSIX_SPAWN_SETSIGDEF
            posix_spawnattr_setsigdefault(&attributes, &all)
        }
        if isIsolated {
            flags |= POSIX_SPAWN_SETPGROUP
            posix_spawnattr_setpgroup(&attributes, 0)
            // The peer of an inherited socket would never see our end.
            #if canImport(Darwin)
                flags |= POSIX_SPAWN_CLOEXEC_DEFAULT
            #else
                let open = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
                // One that is closed by then is no error.
                for file in (open ?? []).compactMap({ Int32($0) }) where file > 2 {
                    posix_spawn_file_actions_addclose(&actions, file)
                }
            #endif
        }
        posix_spawnattr_setflags(&attributes, Int16(flags))
        let words = copies(of: command)
        let variables = copies(of: environment.map { "\($0.key)=\($0.value)" }.sorted())
        defer { for copy in words + variables { free(copy) } }
        var id: pid_t = 0
        let code = posix_spawn(&id, command[0], &actions, &attributes, words, variables)
        guard code == 0 else { throw Failure(description: String(cString: strerror(code))) }
        return id
    }

    private static func copies(of texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
        texts.map { strdup($0) } + [nil]
    }
}
