import Foundation
import RepriseTestSupport
import RepriseTesting

/// A run of `crash-loop` with `--json`: its exit status and what it has counted.
struct LoopRun: Sendable {
    let status: Int32
    let seed: String
    let numbers: [String: Int]
    let faults: [String]

    init(_ verb: String, _ arguments: [String]) async throws {
        let (ending, line) = try await onThread {
            let process = try ChildProcess(
                .sibling("crash-loop"), [verb, "--json"] + arguments)
            var last = ""
            while let line = process.readLine() { last = line }
            return (process.wait(), last)
        }
        status = if case .exit(let status) = ending { status } else { -1 }
        let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
        seed = object?["seed"] as? String ?? "unknown"
        faults = object?["faults"] as? [String] ?? ["it ended with \(ending) and no summary"]
        numbers = (object ?? [:]).compactMapValues { $0 as? Int }
    }
}
