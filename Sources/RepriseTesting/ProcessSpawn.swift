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
            var (actions, attributes): (FileActions, Attributes) = (nil, nil)
        #else
            var (actions, attributes) = (FileActions(), Attributes())
        #endif
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        for (number, stream) in [input, output, errors].enumerated() {
            lead(Int32(number), to: stream, &actions)
        }
        var flags = unblockSignals(&attributes, resets: resetsSignals)
        if isIsolated { flags |= isolate(&actions, &attributes) }
        posix_spawnattr_setflags(&attributes, Int16(flags))
        let words = copies(of: command)
        let variables = copies(of: environment.map { "\($0.key)=\($0.value)" }.sorted())
        defer { for copy in words + variables { free(copy) } }
        var id: pid_t = 0
        let code = posix_spawn(&id, command[0], &actions, &attributes, words, variables)
        guard code == 0 else { throw Failure(description: String(cString: strerror(code))) }
        return id
    }

    #if canImport(Darwin)
        private typealias FileActions = posix_spawn_file_actions_t?
        private typealias Attributes = posix_spawnattr_t?
    #else
        private typealias FileActions = posix_spawn_file_actions_t
        private typealias Attributes = posix_spawnattr_t
    #endif

    private static func lead(_ number: Int32, to stream: Stream, _ actions: inout FileActions) {
        switch stream {
        case .inherited: break
        case .null:
            posix_spawn_file_actions_addopen(
                &actions, number, "/dev/null", number == 0 ? O_RDONLY : O_WRONLY, 0)
        case .file(let file): posix_spawn_file_actions_adddup2(&actions, file, number)
        }
    }

    /// Gives the child its signals.
    ///
    /// A thread of Swift's pool blocks all of them. A child that inherited that would ignore
    /// SIGTERM, and a shell without SIGCHLD would wait for ever.
    ///
    /// - Returns: the flags that are needed for it.
    private static func unblockSignals(_ attributes: inout Attributes, resets: Bool) -> Int32 {
        var (all, none) = (sigset_t(), sigset_t())
        sigfillset(&all)
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        guard resets else { return Int32(POSIX_SPAWN_SETSIGMASK) }
        posix_spawnattr_setsigdefault(&attributes, &all)
        return Int32(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF)
    }

    /// The peer of an inherited socket would never see our end.
    ///
    /// - Returns: the flags that are needed for it.
    private static func isolate(
        _ actions: inout FileActions, _ attributes: inout Attributes
    ) -> Int32 {
        posix_spawnattr_setpgroup(&attributes, 0)
        #if canImport(Darwin)
            return Int32(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_CLOEXEC_DEFAULT)
        #else
            let open = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
            // One that is closed by then is no error.
            for file in (open ?? []).compactMap({ Int32($0) }) where file > 2 {
                posix_spawn_file_actions_addclose(&actions, file)
            }
            return Int32(POSIX_SPAWN_SETPGROUP)
        #endif
    }

    private static func copies(of texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
        texts.map { strdup($0) } + [nil]
    }
}
