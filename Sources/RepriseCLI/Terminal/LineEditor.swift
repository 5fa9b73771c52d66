import RepriseCommandLine
import RepriseCore

/// A line that a person types, with a cursor in it and the lines before.
struct LineEditor: Sendable {
    /// The longest line, in characters; further input is ignored.
    static let longestLine = 4_000
    /// How many earlier lines are kept.
    static let longestHistory = 200

    /// The effect of a key.
    enum Outcome: Hashable, Sendable {
        case changed
        /// No effect, or it does not fit.
        case ignored
        case submitted(String)
        case ended
    }

    private(set) var before = ""
    /// From the cursor on.
    private(set) var after = ""
    private var history: [String] = []
    /// Which earlier line is shown; nil for the one that is being typed.
    private var shown: Int?
    private var draft = ""

    var text: String { before + after }

    mutating func press(_ key: Key) -> Outcome {
        switch key {
        case .character(let scalar): return insert(scalar)
        case .enter: return submit()
        case .endOfInput: return text.isEmpty ? .ended : deleteAfter()
        case .backspace: return deleteBefore()
        case .delete: return deleteAfter()
        case .left: return moveLeft()
        case .right: return moveRight()
        case .home: (before, after) = ("", text)
        case .end: (before, after) = (text, "")
        case .deleteToStart: before = ""
        case .deleteToEnd: after = ""
        case .deleteWord: deleteWord()
        case .up: return recall(-1)
        case .down: return recall(1)
        case .redraw: break
        case .tab: return .ignored
        }
        return .changed
    }

    private mutating func insert(_ scalar: Unicode.Scalar) -> Outcome {
        guard !scalar.isControl, before.count + after.count < Self.longestLine else {
            return .ignored
        }
        before.unicodeScalars.append(scalar)
        return .changed
    }

    private mutating func submit() -> Outcome {
        let line = text
        (before, after, shown, draft) = ("", "", nil, "")
        guard line.contains(where: { !$0.isWhitespace }) else { return .changed }
        if history.last != line { history.append(line) }
        if history.count > Self.longestHistory { history.removeFirst() }
        return .submitted(line)
    }

    private mutating func deleteBefore() -> Outcome {
        guard before.popLast() != nil else { return .ignored }
        return .changed
    }

    private mutating func deleteAfter() -> Outcome {
        guard !after.isEmpty else { return .ignored }
        after.removeFirst()
        return .changed
    }

    private mutating func moveLeft() -> Outcome {
        guard let character = before.popLast() else { return .ignored }
        after.insert(character, at: after.startIndex)
        return .changed
    }

    private mutating func moveRight() -> Outcome {
        guard !after.isEmpty else { return .ignored }
        before.append(after.removeFirst())
        return .changed
    }

    private mutating func deleteWord() {
        while before.last?.isWhitespace == true { before.removeLast() }
        while let last = before.last, !last.isWhitespace { before.removeLast() }
    }

    private mutating func recall(_ step: Int) -> Outcome {
        let place = (shown ?? history.count) + step
        guard (0...history.count).contains(place), shown != nil || step < 0 else { return .ignored }
        if shown == nil { draft = text }
        shown = place == history.count ? nil : place
        before = place == history.count ? draft : history[place]
        after = ""
        return .changed
    }
}
