import Foundation
import Synchronization

/// Reads the file of effects while it grows.
final class ChainsDemoChecker: Sendable {
    private struct State {
        var lines: [ChainsEffects.Line] = []
        /// Up to here it was read: behind a line.
        var offset: UInt64 = 0
    }

    let file: URL
    private let state = Mutex(State())

    init(_ file: URL) { self.file = file }

    /// All lines so far.
    var lines: [ChainsEffects.Line] {
        state.withLock { state in
            guard let handle = try? FileHandle(forReadingFrom: file) else { return [] }
            defer { try? handle.close() }
            guard (try? handle.seek(toOffset: state.offset)) != nil,
                let new = try? handle.readToEnd(), let end = new.lastIndex(of: 10)
            else { return state.lines }
            let whole = new[...end]
            state.offset += UInt64(whole.count)
            state.lines += String(decoding: whole, as: UTF8.self).split(separator: "\n")
                .compactMap(Self.line)
            return state.lines
        }
    }

    /// The newest process, by its number.
    var process: String? { lines.last { $0.verb == .life }?.key }

    private static func line(_ text: Substring) -> ChainsEffects.Line? {
        let words = text.split(separator: " ")
        guard words.count == 5, let verb = ChainsEffects.Verb(rawValue: String(words[0])),
            let attempt = Int(words[2]), let now = Int64(words[4])
        else { return nil }
        return ChainsEffects.Line(
            verb: verb, key: String(words[1]), attempt: attempt, label: String(words[3]),
            microseconds: now)
    }
}
