import RepriseCommandLine
import RepriseCore
import ReprisePhone

/// Prints what happens on a phone: a line each, readable at 80 columns, or JSON.
struct PhoneTimeline: Sendable {
    let isJSON: Bool

    /// Prints events.
    ///
    /// - Throws: what the output throws.
    func write(_ events: [PhoneEvent]) throws {
        for event in events {
            try StandardOutput.write(
                isJSON
                    ? PhoneJSON.encode(event) + [UInt8(ascii: "\n")]
                    : Array((line(event) + "\n").utf8))
        }
    }

    /// The time, the app, what, and the rest; cut where a person looks and would see a broken line.
    func line(_ event: PhoneEvent) -> String {
        let terminal = Terminal.output
        let head = "\(event.at.timeOfDay)  \((event.app ?? "–").printable.left(8)) "
        let what = event.what.printable.left(13)
        let room = 80 - head.columns - what.columns - 1
        let detail =
            terminal.isInteractive
            ? event.detail.printable.fitting(max(room, 8)) : event.detail.printable
        let words = detail.isEmpty ? Self.trimmed(what) : what + " " + detail
        return terminal.paint(head, .dim) + Self.paint(words, event, terminal)
    }

    private static func trimmed(_ text: String) -> String {
        String(text.reversed().drop { $0 == " " }.reversed())
    }

    private static func paint(_ text: String, _ event: PhoneEvent, _ terminal: Terminal) -> String {
        switch PhoneEvent.What(rawValue: event.what) {
        case .terminated, .notLaunched, .pushDropped, .dropped, .nonsense, .webViewCrashed:
            terminal.paint(text, .red)
        case .launched, .foreground, .resumed: terminal.paint(text, .green)
        case .suspended, .background: terminal.paint(text, .yellow)
        case .tapped, .delivered, .banner: terminal.paint(text, .bold)
        default: text
        }
    }
}

extension WallTime {
    /// Hour, minute, second and millisecond here.
    var timeOfDay: String {
        let thousandths = ((milliseconds % 1_000) + 1_000) % 1_000
        let digits = String(thousandths)
        return String(dayAndTime.suffix(8)) + "."
            + String(repeating: "0", count: 3 - digits.count) + digits
    }
}
