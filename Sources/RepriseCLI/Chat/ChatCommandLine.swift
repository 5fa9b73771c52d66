import RepriseCore

/// What a person means by a line.
enum ChatCommandLine: Hashable, Sendable {
    case say(String)
    case who, unread, dead, quit, help
    case retry(String?)
    case withdraw(String?)
    /// It begins with a slash, and nobody knows it.
    case unknown(String)

    /// A slash begins a command; two are one slash at the beginning of a message.
    init(_ line: String) {
        guard line.hasPrefix("/") else {
            self = .say(line)
            return
        }
        guard !line.hasPrefix("//") else {
            self = .say(String(line.dropFirst()))
            return
        }
        let parts = line.dropFirst().split(separator: " ", maxSplits: 1)
        let rest = parts.count > 1 ? parts[1].trimmingSpaces : nil
        self =
            switch parts.first {
            case "who": .who
            case "unread": .unread
            case "dead": .dead
            case "retry": .retry(rest)
            case "withdraw": .withdraw(rest)
            case "quit", "q": .quit
            case "help", "?": .help
            default: .unknown("There is no \(line.prefix(20)). /help shows what there is")
            }
    }

    static let helpLines = [
        "/who    who has said something      /unread   what you have not read",
        "/dead   what could not be sent      /retry [ID]   /withdraw [ID]",
        "/quit   ends; what waits is sent next time. A line with // begins with /",
    ]
}

extension Substring {
    fileprivate var trimmingSpaces: String? {
        guard let first = firstIndex(where: { !$0.isWhitespace }),
            let last = lastIndex(where: { !$0.isWhitespace })
        else { return nil }
        return String(self[first...last])
    }
}
