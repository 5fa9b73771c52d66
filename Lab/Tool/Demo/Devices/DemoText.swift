import ArgumentParser
import Foundation
import RepriseCommandLine
import RepriseWire

/// The demo's messages: numbered lines of a real text, repeated.
struct DemoText: Sendable {
    /// The source of the lines, for people.
    let source: String
    private let lines: [String]

    /// Reads a text.
    ///
    /// - Parameter file: nil tries this repository's licence, and else uses the tool's own help.
    /// - Throws: ``CommandFailure`` `.noInput` for an empty file.
    init(file: String?) throws {
        let path = file ?? Self.found
        guard let path else {
            source = "reprise-lab --help"
            lines = Self.split(LabCommand.helpMessage())
            return
        }
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
            throw CommandFailure(.noInput, "\(path) cannot be read as UTF-8 text.")
        }
        source = URL(fileURLWithPath: path).lastPathComponent
        lines = Self.split(text)
        guard !lines.isEmpty else { throw CommandFailure(.noInput, "\(path) has no lines.") }
    }

    /// The body of message `number`, counted from 1.
    func body(_ number: Int) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { json in
            json.key("line")
            json.integer(Int64(number))
            json.key("text")
            json.string(lines[(number - 1) % lines.count])
        }
        return writer.bytes
    }

    private static func split(_ text: String) -> [String] {
        text.split(whereSeparator: \.isNewline).map { String($0.prefix(1_000)) }
    }

    private static var found: String? {
        var folder = URL(fileURLWithPath: FileManager.default.currentDirectoryPath)
        for _ in 0..<4 {
            let path = folder.appendingPathComponent("LICENSE").path
            if FileManager.default.isReadableFile(atPath: path) { return path }
            folder.deleteLastPathComponent()
        }
        return nil
    }
}
