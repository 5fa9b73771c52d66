package import Foundation
package import RepriseTesting
import Testing

/// The real binaries, run as a person runs them.
package enum Tool {
    package enum Program: String {
        case reprise
        case lab = "reprise-lab"

        /// Beside the test bundle.
        package var url: URL {
            URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
                .appendingPathComponent(rawValue)
        }
    }

    package struct Result: Sendable {
        package let status: Int32
        package let output: String
        package let error: String

        package var lines: [String] { output.split(separator: "\n").map(String.init) }
    }

    /// Runs it to its end.
    ///
    /// - Parameters:
    ///   - arguments: what follows its name.
    ///   - program: which of them.
    ///   - input: what it finds on its standard input.
    ///   - environment: added to a clean one.
    ///   - limit: seconds after which it is killed.
    /// - Returns: how it ended; the status of a signal is negative.
    /// - Throws: what starting it throws.
    package static func run(
        _ arguments: [String], program: Program = .reprise, input: Data = Data(),
        environment: [String: String] = [:], limit: Double = 50
    ) async throws -> Result {
        let running = try RunningTool(arguments, program: program, environment: environment)
        running.write(input)
        running.closeInput()
        let status = await running.end(within: limit)
        return Result(status: status, output: running.output, error: running.error)
    }

    package static func run(_ arguments: String...) async throws -> Result {
        try await run(arguments)
    }
}

/// The binary while it runs, with its output in files, so that nothing has to be drained.
///
/// `@unchecked Sendable`: set up before it is shared; then only its number is used.
package final class RunningTool: @unchecked Sendable {
    private let process = Process()
    private let input = Pipe()
    private let folder: TemporaryFolder
    private let ended: AsyncStream<Int32>

    package init(
        _ arguments: [String], program: Tool.Program = .reprise,
        environment: [String: String] = [:], outputTo output: Any? = nil
    ) throws {
        // A tool that ends without reading its input must not end the tests.
        Foundation.signal(SIGPIPE, SIG_IGN)
        folder = try TemporaryFolder()
        let (ended, continuation) = AsyncStream<Int32>.makeStream()
        self.ended = ended
        process.executableURL = program.url
        process.arguments = arguments
        process.currentDirectoryURL = folder.url
        process.environment = ["PATH": "/usr/bin:/bin"].merging(environment) { $1 }
        process.standardInput = input
        // Closed here once the tool has them: with many open descriptors Foundation's `Process`
        // reads beyond a buffer (swift-corelibs-foundation 5472).
        let files = (output: try folder.file("output"), error: try folder.file("error"))
        defer {
            try? files.output.close()
            try? files.error.close()
        }
        process.standardOutput = output ?? files.output
        process.standardError = files.error
        process.terminationHandler = {
            continuation.yield(
                $0.terminationReason == .uncaughtSignal
                    ? -$0.terminationStatus : $0.terminationStatus)
            continuation.finish()
        }
        try process.run()
    }

    deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

    package var isRunning: Bool { process.isRunning }
    package var output: String { folder.text("output") }
    package var error: String { folder.text("error") }

    package func write(_ data: Data) { try? input.fileHandleForWriting.write(contentsOf: data) }
    package func closeInput() { try? input.fileHandleForWriting.close() }
    /// Does nothing if it has ended: its number may be another's.
    package func signal(_ number: Int32) {
        if process.isRunning { kill(process.processIdentifier, number) }
    }

    /// Waits for the exit status, which is negative for a signal.
    ///
    /// Kills it at the limit.
    package func end(within limit: Double = 50) async -> Int32 {
        let number = process.processIdentifier
        let watchdog = Task {
            try await Task.sleep(for: .seconds(limit))
            kill(number, SIGKILL)
        }
        defer {
            watchdog.cancel()
            closeInput()
        }
        for await status in ended { return status }
        return process.terminationStatus
    }

    /// Waits until the output satisfies a condition.
    package func wait(
        seconds: Double = 50, _ what: String, until condition: (String) -> Bool
    ) async throws {
        try await eventually(
            "\(what): it said: \(output.suffix(500)) \(error.suffix(500))",
            within: .seconds(seconds)
        ) {
            // What is said last is read when nothing more can come.
            let isRunning = isRunning
            let holds = condition(output)
            try #require(
                holds || isRunning, "\(what): it ended; it said: \(output.suffix(500)) \(error)")
            return holds
        }
    }
}

/// `reprise serve` on a free port.
package final class ToolServer: Sendable {
    package let tool: RunningTool
    package let url: String
    package let data: String
    private let options: [String]
    private let environment: [String: String]

    /// Starts one, or starts it again with the data and the port of an earlier one.
    package init(
        data: String, url earlier: String? = nil, options: [String] = [],
        environment: [String: String] = [:]
    ) async throws {
        let port = earlier?.split(separator: ":").last.map(String.init) ?? "0"
        tool = try RunningTool(
            ["serve", "--port", port, "--data", data, "--json", "--until-input-ends"] + options,
            environment: environment)
        try await tool.wait("the server is ready") { $0.contains("\n") }
        let line = try JSONSerialization.jsonObject(with: Data(tool.output.utf8)) as? [String: Any]
        url = try #require(line?["url"] as? String)
        self.data = data
        self.options = options
        self.environment = environment
    }

    /// A new one in the place of this one, with its options, once it has ended.
    package func restarted() async throws -> ToolServer {
        _ = await tool.end()
        return try await ToolServer(
            data: data, url: url, options: options, environment: environment)
    }
}

/// Runs a test beside a server.
package func withServer(
    options: [String] = [], _ body: (ToolServer, TemporaryFolder) async throws -> Void
) async throws {
    let folder = try TemporaryFolder()
    let server = try await ToolServer(data: folder.path("data"), options: options)
    try await body(server, folder)
    server.tool.signal(SIGTERM)
    _ = await server.tool.end()
}

/// A line of `listen --json`.
package struct ListenLine: Decodable {
    package let channel: String
    package let seq: Int
    package let id: String
    package let body: String
    package let attempt: Int

    package static func all(_ text: String) throws -> [ListenLine] {
        try text.split(separator: "\n").map {
            try JSONDecoder().decode(ListenLine.self, from: Data($0.utf8))
        }
    }
}
