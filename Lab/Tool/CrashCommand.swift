import ArgumentParser
import Foundation
import RepriseCommandLine

/// `reprise-lab crash`: becomes the program `crash-loop`, which stands beside this one.
struct CrashCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "crash",
        abstract: "Kill processes, cut the power, damage files.")

    @Argument(parsing: .captureForPassthrough, help: "Those of crash-loop: see its --help.")
    var arguments: [String] = []

    func run() async throws {
        let program = try LabProgram.crashLoop.url()
        var words = ([program.path] + arguments).map { strdup($0) } + [nil]
        execv(program.path, &words)
        throw CommandFailure(
            .unavailable, "\(program.path) cannot be started: \(String(cString: strerror(errno))).")
    }
}
