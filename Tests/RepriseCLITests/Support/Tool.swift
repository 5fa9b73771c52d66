import Foundation
import Testing

/// The real binary, run as a person runs it.
struct Tool {
    struct Result {
        let status: Int32
        let output: String
        let error: String

        var lines: [String] { output.split(separator: "\n").map(String.init) }
    }

    /// `reprise`, beside the test bundle.
    static var executable: URL {
        URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appendingPathComponent("reprise")
    }

    /// Runs it to its end.
    ///
    /// - Parameters:
    ///   - arguments: what follows `reprise`.
    ///   - input: what it finds on its standard input.
    ///   - environment: added to a clean one.
    ///   - limit: seconds after which it is killed.
    /// - Returns: how it ended; the status of a signal is negative.
    /// - Throws: what starting it throws.
    static func run(
        _ arguments: [String], input: Data = Data(), environment: [String: String] = [:],
        limit: Double = 30
    ) async throws -> Result {
        let running = try RunningTool(arguments, environment: environment)
        running.write(input)
        running.closeInput()
        let status = await running.end(within: limit)
        return Result(status: status, output: running.output, error: running.error)
    }

    static func run(_ arguments: String...) async throws -> Result { try await run(arguments) }
}

/// The binary while it runs, with its output in files, so that nothing has to be drained.
///
/// `@unchecked Sendable`: set up before it is shared; then only its number is used.
final class RunningTool: @unchecked Sendable {
    private let process = Process()
    private let input = Pipe()
    private let folder: Folder
    private let ended: AsyncStream<Int32>

    init(_ arguments: [String], environment: [String: String] = [:], outputTo pipe: Pipe? = nil)
        throws
    {
        // A tool that ends without reading its input must not end the tests.
        Foundation.signal(SIGPIPE, SIG_IGN)
        folder = try Folder()
        let (ended, continuation) = AsyncStream<Int32>.makeStream()
        self.ended = ended
        process.executableURL = Tool.executable
        process.arguments = arguments
        process.currentDirectoryURL = folder.url
        process.environment = ["PATH": "/usr/bin:/bin"].merging(environment) { $1 }
        process.standardInput = input
        if let pipe {
            process.standardOutput = pipe
        } else {
            process.standardOutput = try folder.file("output")
        }
        process.standardError = try folder.file("error")
        process.terminationHandler = {
            continuation.yield(
                $0.terminationReason == .uncaughtSignal
                    ? -$0.terminationStatus : $0.terminationStatus)
            continuation.finish()
        }
        try process.run()
    }

    deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

    var isRunning: Bool { process.isRunning }
    var output: String { folder.text("output") }
    var error: String { folder.text("error") }

    func write(_ data: Data) { try? input.fileHandleForWriting.write(contentsOf: data) }
    func closeInput() { try? input.fileHandleForWriting.close() }
    func signal(_ number: Int32) { kill(process.processIdentifier, number) }

    /// Waits for the exit status, which is negative for a signal.
    ///
    /// Kills it at the limit.
    func end(within limit: Double = 30) async -> Int32 {
        let number = process.processIdentifier
        let watchdog = Task {
            try await Task.sleep(for: .seconds(limit))
            kill(number, SIGKILL)
        }
        defer { watchdog.cancel() }
        for await status in ended { return status }
        return process.terminationStatus
    }

    /// Waits until the output satisfies a condition.
    func wait(
        seconds: Double = 20, _ what: String, until condition: (String) -> Bool
    ) async throws {
        let deadline = ContinuousClock.now + .seconds(seconds)
        while !condition(output) {
            try #require(
                ContinuousClock.now < deadline && isRunning,
                "\(what): not in time; it said: \(output.suffix(500)) \(error.suffix(500))")
            try await Task.sleep(for: .milliseconds(5))
        }
    }
}

/// A folder that goes away with its last user.
final class Folder: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory
            .appendingPathComponent("reprise-test-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func path(_ name: String) -> String { url.appendingPathComponent(name).path }

    func file(_ name: String) throws -> FileHandle {
        _ = FileManager.default.createFile(atPath: path(name), contents: nil)
        return try FileHandle(forWritingTo: url.appendingPathComponent(name))
    }

    func write(_ text: String, to name: String) throws -> String {
        try Data(text.utf8).write(to: url.appendingPathComponent(name))
        return path(name)
    }

    func text(_ name: String) -> String {
        String(decoding: FileManager.default.contents(atPath: path(name)) ?? Data(), as: UTF8.self)
    }
}

/// `reprise serve` on a free port.
final class ToolServer: Sendable {
    let tool: RunningTool
    let url: String
    let data: String

    /// Starts one, or starts it again with the data and the port of an earlier one.
    init(data: String, url earlier: String? = nil, options: [String] = []) async throws {
        let port = earlier?.split(separator: ":").last.map(String.init) ?? "0"
        tool = try RunningTool(
            ["serve", "--port", port, "--data", data, "--json", "--until-input-ends"] + options)
        try await tool.wait("the server is ready") { $0.contains("\n") }
        let line = try JSONSerialization.jsonObject(with: Data(tool.output.utf8)) as? [String: Any]
        url = try #require(line?["url"] as? String)
        self.data = data
    }

    /// SIGKILL, then a new one in its place.
    func killed() async throws -> ToolServer {
        tool.signal(SIGKILL)
        _ = await tool.end()
        return try await ToolServer(data: data, url: url)
    }
}

/// Runs a test beside a server.
func withServer(
    options: [String] = [], _ body: (ToolServer, Folder) async throws -> Void
) async throws {
    let folder = try Folder()
    let server = try await ToolServer(data: folder.path("data"), options: options)
    try await body(server, folder)
    server.tool.signal(SIGTERM)
    _ = await server.tool.end(within: 10)
}

/// A line of `listen --json`.
struct ListenLine: Decodable {
    let channel: String
    let seq: Int
    let id: String
    let body: String
    let attempt: Int

    static func all(_ text: String) throws -> [ListenLine] {
        try text.split(separator: "\n").map {
            try JSONDecoder().decode(ListenLine.self, from: Data($0.utf8))
        }
    }
}
