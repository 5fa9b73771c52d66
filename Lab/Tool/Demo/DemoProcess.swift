import Foundation
import RepriseCommandLine
import RepriseCore
import RepriseTesting

/// A process of a demo.
///
/// `@unchecked Sendable`: `Process` is set up before anybody else sees it; afterwards only its
/// number is used.
final class DemoProcess: @unchecked Sendable {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private let ended: AsyncStream<Int32>
    private let reader: InputLineReader
    private let log: URL

    /// Starts a program with these arguments.
    ///
    /// - Parameters:
    ///   - program: stands beside this one.
    ///   - arguments: those after its name.
    ///   - log: the file for its standard error.
    /// - Throws: ``CommandFailure``.
    init(_ program: LabProgram, _ arguments: [String], log: URL) throws {
        let (ended, continuation) = AsyncStream<Int32>.makeStream()
        self.ended = ended
        self.log = log
        reader = InputLineReader(descriptor: output.fileHandleForReading.fileDescriptor)
        let executable = try program.url()
        _ = FileManager.default.createFile(atPath: log.path, contents: nil)
        process.executableURL = executable
        process.arguments = arguments
        process.standardInput = input
        process.standardOutput = output
        process.standardError = try FileHandle(forWritingTo: log)
        process.terminationHandler = {
            continuation.yield($0.terminationStatus)
            continuation.finish()
        }
        try process.run()
    }

    /// The next line it prints.
    ///
    /// - Throws: ``CommandFailure`` if it ends or takes too long.
    func line(within limit: Duration = .seconds(60)) async throws -> String {
        do {
            let line = try await withTimeout(limit, for: "A line") { try await self.reader.next() }
            if let line { return String(decoding: line, as: UTF8.self) }
        } catch let error as RepriseError where error.code == .timedOut {}
        throw CommandFailure(.internal, "A process of the demo failed: \(lastWords)")
    }

    /// The address of a server, which is its first line.
    ///
    /// - Throws: ``CommandFailure``.
    func url() async throws -> String {
        let line = try await line()
        let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
        guard let url = object?["url"] as? String else {
            throw CommandFailure(.internal, "The server did not say where it listens.")
        }
        return url
    }

    /// Writes a line to it; that it has ended is known otherwise.
    func say(_ line: String) {
        try? input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8))
    }

    private var lastWords: String {
        let words = (try? String(contentsOf: log, encoding: .utf8))?
            .split(whereSeparator: \.isNewline).last.map(String.init)
        return words ?? "it said nothing."
    }

    /// Ends it at once, in the middle of whatever it does.
    func kill() async {
        if process.isRunning { Foundation.kill(process.processIdentifier, SIGKILL) }
        await waitUntilEnd()
    }

    /// Terminates it, and kills it after 6 s.
    func terminate() async {
        guard process.isRunning else { return }
        Foundation.kill(process.processIdentifier, SIGTERM)
        try? await withTimeout(.seconds(6), for: "Its end") { await self.waitUntilEnd() }
        guard process.isRunning else { return }
        Foundation.kill(process.processIdentifier, SIGKILL)
        // Not by the stream, which has ended with the wait that was given up.
        _ = try? await Waiting.isTrue(within: .seconds(60)) { !process.isRunning }
    }

    private func waitUntilEnd() async { for await _ in ended {} }
}
