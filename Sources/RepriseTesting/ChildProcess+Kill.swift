public import Foundation

extension ChildProcess {
    /// Runs a program of the app, and kills it with SIGKILL once it has written so many lines.
    ///
    /// ```swift
    /// let recorded = try await ChildProcess.killed(
    ///     .sibling("CourierTool"), ["--record", folder.url.path], afterLines: 20)
    /// // … open the same folder here, and find everything that it had recorded
    /// ```
    ///
    /// The program is one of the app's own, with an argument that only its tests know, and writes a
    /// line when something is durable: each by one `write`, so that a kill cuts none.
    ///
    /// - Parameters:
    ///   - program: the executable; `URL.sibling(_:)` finds one of the package.
    ///   - arguments: without the program's name.
    ///   - count: after how many lines it is killed; 0: at once.
    /// - Returns: every whole line that it wrote before it died, at least `count` unless it ended
    ///   by itself.
    /// - Throws: ``StartFailure``.
    public static func killed(
        _ program: URL, _ arguments: [String] = [], afterLines count: Int
    ) async throws -> [String] {
        try await withCheckedThrowingContinuation { continuation in
            // It blocks: on a thread of its own.
            Thread.detachNewThread {
                continuation.resume(
                    with: Result {
                        let process = try ChildProcess(program, arguments)
                        var lines: [String] = []
                        while lines.count < count, let line = process.readLine() {
                            lines.append(line)
                        }
                        process.kill()
                        while let line = process.readLine() { lines.append(line) }
                        return lines
                    })
            }
        }
    }
}
