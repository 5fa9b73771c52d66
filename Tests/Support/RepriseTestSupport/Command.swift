import Dispatch
package import Foundation

/// A program that runs to its end: a validator, `mount`.
package enum Command {
    /// The package's folder.
    package static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// Python with the validators in it, which `make setup` makes.
    package static let python = root.appending(path: ".build/python/bin/python")

    /// What tests have in other versions, which `make setup` gets:
    /// Tests/Support/cluster/other-versions.txt.
    package static let otherVersions = root.appending(path: ".build/other-versions")

    /// Runs a program, without blocking one of Swift's threads; kills it at the limit.
    ///
    /// It is a path, or a name that is looked for where the system has its programs. Its words are
    /// all that it said, errors too.
    @discardableResult
    package static func run(
        _ program: String, _ arguments: [String], within limit: Duration = .seconds(60)
    ) async throws -> (status: Int32, words: String) {
        try await onThread { try runBlocking(program, arguments, within: limit) }
    }

    /// The same on the caller's thread.
    @discardableResult
    package static func runBlocking(
        _ program: String, _ arguments: [String], within limit: Duration = .seconds(60)
    ) throws -> (status: Int32, words: String) {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [program] + arguments
        process.environment = ProcessInfo.processInfo.environment
            .merging(["PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"]) { $1 }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let number = process.processIdentifier
        let watchdog = DispatchWorkItem { kill(number, SIGKILL) }
        DispatchQueue.global().asyncAfter(
            deadline: .now() + .milliseconds(Int(limit / .milliseconds(1))), execute: watchdog)
        let words = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        watchdog.cancel()
        return (process.terminationStatus, String(decoding: words, as: UTF8.self))
    }
}
