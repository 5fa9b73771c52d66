import RepriseCommandLine
import RepriseCore

/// The command in a line.
enum ChatCommandLine: Hashable, Sendable {
    case say(String)
    case edit(back: Int, String)
    case delete(back: Int)
    case who, unread, dead, list, quit, help
    /// To another conversation, by its channel, its title, or the other user.
    case go(String)
    /// To the conversation of two with this user.
    case with(String)
    case retry(String?)
    case withdraw(String?)
    /// An unknown command, with a hint.
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
            case "edit": .edit(rest)
            case "delete": .delete(rest)
            case "who": .who
            case "unread": .unread
            case "dead": .dead
            case "retry": .retry(rest)
            case "withdraw": .withdraw(rest)
            case "list", "ls": .list
            case "go": rest.map { .go($0) } ?? .unknown("/go NAME: /list shows where to.")
            case "with": rest.map { .with($0) } ?? .unknown("/with USER: talk to one alone.")
            case "quit", "q": .quit
            case "help", "?": .help
            default: .unknown("There is no \(line.prefix(20)). /help shows what there is.")
            }
    }

    private static func edit(_ rest: String?) -> ChatCommandLine {
        guard let (back, text) = place(rest) else { return .unknown(placeHelp) }
        guard let text else {
            return .unknown("/edit TEXT puts TEXT in the place of your last one.")
        }
        return .edit(back: back, text)
    }

    private static func delete(_ rest: String?) -> ChatCommandLine {
        guard let (back, nothing) = place(rest), nothing == nil else { return .unknown(placeHelp) }
        return .delete(back: back)
    }

    private static let placeHelp = "#2 is your last message but one; at most #\(ChatRoom.shown)."

    /// `#2 text`: the index from the end, 1 being the last, and the rest.
    private static func place(_ rest: String?) -> (back: Int, text: String?)? {
        guard let rest, rest.hasPrefix("#") else { return (1, rest) }
        let parts = rest.dropFirst().split(separator: " ", maxSplits: 1)
        guard let back = parts.first.flatMap({ Int($0) }), (1...ChatRoom.shown).contains(back)
        else { return nil }
        return (back, parts.count > 1 ? parts[1].trimmingSpaces : nil)
    }

    static let helpLines = [
        "/edit TEXT      puts TEXT in the place of your last message",
        "/delete         deletes it; with #2 the last but one: /edit #2 TEXT, /delete #2",
        "/who            who is there, and has read how far",
        "/unread         how many messages you have not read",
        "/dead           what could not be sent; /retry [ID], /withdraw [ID]",
        "/list           your conversations; /go NAME, /with USER: to another one",
        "@NAME           in a message tells NAME, also where the conversation is muted",
        "/quit           ends; what waits is sent next time. // begins a line with /",
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
