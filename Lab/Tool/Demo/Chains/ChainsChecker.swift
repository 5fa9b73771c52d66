import RepriseCore

/// Reads the file of effects while it grows.
final class ChainsChecker: Sendable {
    private let state: Shared<(file: CheckerLog, lines: [ChainsEffects.Line])>

    init(_ path: String) { state = Shared((CheckerLog(path), [])) }

    /// All lines so far.
    var lines: [ChainsEffects.Line] {
        state.update { state in
            state.lines += ((try? state.file.next()) ?? []).compactMap(ChainsEffects.Line.init)
            return state.lines
        }
    }

    /// The newest process, by its number.
    var process: String? { lines.last { $0.verb == .life }?.key }
}

extension ChainsEffects.Line {
    fileprivate init?(_ words: [Substring]) {
        guard words.count == 5, let verb = ChainsEffects.Verb(rawValue: String(words[0])),
            let attempt = Int(words[2]), let now = Int64(words[4])
        else { return nil }
        self.init(
            verb: verb, key: String(words[1]), attempt: attempt, label: String(words[3]),
            microseconds: now)
    }
}
