import RepriseCommandLine
import RepriseCore
import RepriseWire

/// One step of a message's way, for a person and for programs.
struct TraceStep: Sendable {
    enum Place: String, Sendable {
        case device, server
    }

    enum Fact: Sendable {
        case text(String?)
        case integer(Int64?)
        case time(WallTime?)
        case bool(Bool)
    }

    let place: Place
    /// Nil where nobody has kept the time.
    var at: WallTime?
    let name: String
    let text: String
    var facts: KeyValuePairs<String, Fact> = [:]

    // MARK: Printing

    private static let width = 80
    private static let indent = 33

    /// Time, name and text in 80 columns; the text goes on below itself.
    func lines(_ terminal: Terminal) -> [String] {
        let head = (at?.dayAndTime ?? "").left(20)
        let lines = text.printable.wrapped(Self.width - Self.indent)
        return lines.enumerated().map { index, line in
            index == 0
                ? terminal.paint(head, .dim) + name.left(13) + line
                : String(repeating: " ", count: Self.indent) + line
        }
    }

    func write(to json: inout JSONWriter) {
        json.object { json in
            json.key("where")
            json.string(place.rawValue)
            json.key("step")
            json.string(name)
            json.key("at")
            TraceStep.write(.time(at), to: &json)
            json.key("text")
            json.string(text)
            for (key, fact) in facts {
                json.key(plain: key)
                TraceStep.write(fact, to: &json)
            }
        }
    }

    private static func write(_ fact: Fact, to json: inout JSONWriter) {
        switch fact {
        case .text(let text?): json.string(text)
        case .integer(let number?): json.integer(number)
        case .time(let time?): json.integer(time.milliseconds)
        case .bool(let value): json.bool(value)
        case .text(nil), .integer(nil), .time(nil): json.null()
        }
    }
}
