import Foundation
import RepriseCore
import RepriseServer
import RepriseWire

/// A process that works on a message log, for tests that kill it and for measurements.
///
///     log-workload write FOLDER [IDS]       stores messages until it is killed, IDS to a run
///     log-workload move FOLDER              moves positions until it is killed
///     log-workload measure FOLDER [COUNT]   prints what the log and the committer reach here
///     log-workload badges FOLDER [COUNT]    prints how long the first badge of COUNT channels took
///
/// `write` and `move` print a line for each message or move that is durable.
@main
enum LogWorkload {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.count >= 2, let folder = arguments.dropFirst().first else {
            FileHandle.standardError.write(
                Data("log-workload write|move|measure|badges FOLDER\n".utf8))
            exit(64)
        }
        switch arguments.first {
        case "write":
            let ids = arguments.dropFirst(2).first.flatMap { Int($0) }
            try await Writing.run(in: folder, idsPerRun: ids)
        case "move": try await Moving.run(in: folder)
        case "measure":
            let count = arguments.dropFirst(2).first.flatMap { Int($0) } ?? 1_000_000
            try await Measurement(folder: folder, count: count).run()
        case "badges":
            let count = arguments.dropFirst(2).first.flatMap { Int($0) } ?? 10_000
            try await Badges(folder: folder, channels: count).run()
        default: exit(64)
        }
    }
}
