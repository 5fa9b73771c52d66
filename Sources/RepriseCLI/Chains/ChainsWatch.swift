import Foundation
import RepriseCommandLine
import RepriseCore

/// Shows something once, or repeatedly until it is interrupted.
enum ChainsWatch {
    /// - Parameters:
    ///   - again: whether repeatedly.
    ///   - isJSON: each line is an object, whole and never drawn over.
    ///   - pause: between two looks.
    ///   - lines: what is shown now.
    /// - Throws: what `lines` throws.
    static func show(
        again: Bool, isJSON: Bool, every pause: Duration = .seconds(1),
        _ lines: @escaping @Sendable () throws -> [String]
    ) async throws {
        guard again else { return try write(lines()) }
        _ = try await Interruption.cancelling {
            var shown: [String]?
            do {
                while true {
                    let now = try lines()
                    if now != shown { try isJSON ? write(now) : replace(by: now) }
                    shown = now
                    try await Task.sleep(for: pause)
                }
            } catch is CancellationError {}
        }
    }

    private static func write(_ lines: [String]) throws {
        for line in lines { try StandardOutput.write(line) }
    }

    /// In its own place where a person looks, one below the other elsewhere.
    private static func replace(by lines: [String]) throws {
        guard Terminal.output.isInteractive else { return try write(lines) }
        let lines = Terminal.output.rows(of: lines)
        // Each line at its place, cut where the terminal ends, and what an interruption leaves
        // below them.
        var picture = "\u{1b}[?7l\u{1b}[2J"
        for (row, line) in lines.enumerated() {
            picture += "\u{1b}[\(row + 1);1H" + HarmlessText.text(line)
        }
        picture += "\u{1b}[\(lines.count + 1);1H\u{1b}[?7h"
        try StandardOutput.writeRaw(Array(picture.utf8))
    }
}
