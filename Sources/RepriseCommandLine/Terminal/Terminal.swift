import Foundation
import RepriseCore

/// The target of an output: a person's terminal, or another program.
package struct Terminal: Sendable {
    package enum Colour: String {
        case dim = "2"
        case bold = "1"
        case red = "31"
        case green = "32"
        case yellow = "33"
    }

    package static let output = Terminal(STDOUT_FILENO)
    package static let error = Terminal(STDERR_FILENO)

    /// For a file.
    package static let plain = Terminal(-1)

    /// Whether it is a person's terminal.
    package let isInteractive: Bool
    /// Whether colours are wanted: https://no-color.org.
    package let hasColours: Bool
    private let descriptor: Int32

    /// Its width and height, or those assumed of a terminal that does not tell them.
    package var size: (width: Int, height: Int) {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0
        else { return (80, 24) }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    private init(_ descriptor: Int32) {
        self.descriptor = descriptor
        isInteractive = isatty(descriptor) == 1
        let environment = ProcessInfo.processInfo.environment
        hasColours =
            isInteractive && (environment["NO_COLOR"] ?? "").isEmpty
            && environment["TERM"] != "dumb"
    }

    /// The text in a colour, or as it is.
    package func paint(_ text: String, _ colour: Colour) -> String {
        hasColours ? "\u{1b}[\(colour.rawValue)m\(text)\u{1b}[0m" : text
    }

    /// Writes a line; ignores a closed output.
    package func writeLine(_ line: String) {
        try? FileOutput.write(Array((HarmlessText.text(line) + "\n").utf8), to: descriptor)
    }

    /// Replaces the line that was shown last, where a person is looking.
    ///
    /// Cut to the width: of a wrapped line only the last row would be replaced.
    package func replaceLine(_ line: String) {
        guard isInteractive else { return }
        let shown = line.fitting(size.width - 1)
        try? FileOutput.write(Array("\r\u{1b}[K\(shown)".utf8), to: descriptor)
    }

    /// As many lines as fit above the cursor; the last one says how many are left out.
    package func rows(of lines: [String]) -> [String] {
        let fitting = max(3, size.height - 1)
        guard lines.count > fitting else { return lines }
        return lines.prefix(fitting - 1) + ["… \((lines.count - fitting + 1).grouped) more lines"]
    }
}

extension String {
    /// Padded with spaces in front, for a column of numbers.
    package func right(_ width: Int) -> String {
        String(repeating: " ", count: max(0, width - count)) + self
    }

    /// Padded with spaces behind, for a column of words.
    package func left(_ width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
}

extension BinaryInteger {
    /// With a comma between thousands.
    package var grouped: String {
        let digits = String(magnitude)
        var text = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0 { text += "," }
            text.append(digit)
        }
        return self < 0 ? "-" + text : text
    }
}

extension Duration {
    /// In seconds, with one digit behind the point.
    package var shown: String { String(format: "%.1f s", inSeconds) }
}
