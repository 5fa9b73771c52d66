/// The accepted forms of options' values, said where one cannot be read or is missing.
package enum ValueForm {
    private static let ages = "a number with s, m, h or d, such as 90s, 15m, 8h or 30d"
    private static let durations = "a number with ms, s, m, h or d, such as 300ms, 90s or 8h"
    private static let counts = "a whole number, such as 20"

    /// By the option and its placeholder, or by the placeholder alone.
    private static let forms: [String: String] = [
        "--advance <time>": durations, "--latency <time>": durations, "--set <time>": durations,
        "age": ages, "time": ages,
        "port": "a number from 0 to 65535, such as 8080",
        "bytes": "a whole number of bytes, such as 16000",
        "--journal-bytes <count>": "a whole number of bytes, such as 8589934592",
        "days": "a whole number of days, such as 30",
        "hours": "a whole number of hours, such as 24",
        "seconds": "a number of seconds, such as 30 or 0.5",
        "screen-delay": "a whole number of milliseconds, such as 250",
        "store-delay": "a whole number of milliseconds, such as 250",
        "minutes": "a number of minutes, such as 5 or 0.5",
        "speed": "a number, such as 8 or 0.5",
        "chains": counts, "count": counts, "devices": counts, "die-after-changes": counts,
        "draws": counts, "from": counts, "jobs": counts, "kills": counts, "messages": counts,
        "n": counts, "number": counts, "seed": counts, "seeds": counts, "seq": counts,
        "store-failures": counts, "streams": counts, "version": counts,
    ]

    /// The message of the argument parser, with the accepted form if it ends with a placeholder.
    ///
    /// - Parameter message: as in `The value 'x' is invalid for '--port <port>'`; or one with a
    ///   list of values.
    /// - Returns: one line, where the values were listed below each other too.
    package static func completed(_ message: String) -> String {
        guard message.hasSuffix(">'"), let quote = message.dropLast().lastIndex(of: "'") else {
            return message.replacing(":\n  - ", with: ": ").replacing("\n  - ", with: ", ")
        }
        let option = String(message[quote...].dropFirst().dropLast())
        let placeholder = option.split(separator: "<").last.map { String($0.dropLast()) }
        let form = forms[option] ?? placeholder.flatMap { forms[$0] }
        return form.map { "\(message). Give \($0)." } ?? message
    }
}
