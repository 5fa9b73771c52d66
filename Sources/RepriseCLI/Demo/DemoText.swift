import ArgumentParser
import Foundation
import RepriseWire

/// What the demo publishes: lines of a real text, over and over, each with its number.
struct DemoText: Sendable {
    /// Where the lines are from, for people.
    let source: String
    private let lines: [String]

    /// Reads a text.
    ///
    /// - Parameter file: nil looks for this repository's licence around here, and else takes the
    ///   tool's own help.
    /// - Throws: ``CommandFailure`` `.noInput` if there is nothing in the file.
    init(file: String?) throws {
        let path = file ?? Self.found
        guard let path else {
            source = "reprise --help"
            lines = Self.split(RepriseCommand.helpMessage())
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
