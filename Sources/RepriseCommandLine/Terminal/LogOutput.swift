import Foundation
import Logging
import Synchronization

/// Writes the log to standard error: one event, one line, whatever its text contains.
///
/// All loggers' lines pass here, those of libraries too, after message and metadata have become one
/// text. Characters that could begin another line, move a terminal's cursor, hide or turn text
/// around are escaped: `\u{202e}`.
package struct LogOutput: TextOutputStream, Sendable {
    private static let lines = Mutex(())

    /// Makes it what all loggers write to; called once, before the first of them is made.
    package static func begin() {
        LoggingSystem.bootstrap { StreamLogHandler(label: $0, stream: LogOutput()) }
    }

    /// Writes a line, which ends with a line break of the handler's own.
    package func write(_ line: String) {
        let text = line.hasSuffix("\n") ? line.dropLast() : line[...]
        let bytes = Array((Self.escaped(text) + "\n").utf8)
        Self.lines.withLock { _ in try? FileOutput.write(bytes, to: STDERR_FILENO) }
    }

    /// The text in one line that shows each character it has.
    package static func escaped(_ text: Substring) -> String {
        guard text.unicodeScalars.contains(where: mustBeEscaped) else { return String(text) }
        return text.unicodeScalars.reduce(into: "") { escaped, scalar in
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\n": escaped += "\\n"
            case "\r": escaped += "\\r"
            case "\t": escaped += "\\t"
            case _ where mustBeEscaped(scalar):
                escaped += "\\u{\(String(scalar.value, radix: 16))}"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
    }

    private static func mustBeEscaped(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return scalar.value < 0x20 || scalar.value == 0x7f || scalar == "\\" }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate,
            .unassigned:
            return true
        default: return false
        }
    }
}
