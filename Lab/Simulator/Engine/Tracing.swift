import RepriseCore

extension TraceLine {
    /// As a person reads it: the time, who, and what, in at most `width` columns.
    package func lines(width: Int, nameWidth: Int) -> [String] {
        let head = at.clock.padded(to: 13, inFront: true) + "  " + who.padded(to: nameWidth) + "  "
        let indent = String(repeating: " ", count: head.count)
        var lines: [String] = []
        var line = head
        var isEmpty = true
        for word in what.split(separator: " ") {
            if !isEmpty, line.count + 1 + word.count > width {
                lines.append(line)
                line = indent
                isEmpty = true
            }
            if !isEmpty { line += " " }
            line += word
            isEmpty = false
        }
        lines.append(line)
        return lines
    }
}

extension Sequence where Element == TraceLine {
    /// A run's timeline.
    package func timeline(width: Int = 80) -> [String] {
        let nameWidth = Swift.min(reduce(0) { Swift.max($0, $1.who.count) }, 16)
        return flatMap { $0.lines(width: width, nameWidth: nameWidth) }
    }
}

extension Duration {
    /// `1d 02:03:04.567`: the same on every machine.
    package var clock: String {
        let milliseconds = wholeNanoseconds / 1_000_000
        func digits(_ value: Int64, _ count: Int) -> String {
            let text = String(value)
            return String(repeating: "0", count: Swift.max(0, count - text.count)) + text
        }
        let seconds = milliseconds / 1_000
        let time =
            "\(digits(seconds / 60 % 60, 2)):\(digits(seconds % 60, 2)).\(digits(milliseconds % 1_000, 3))"
        let hours = seconds / 3_600
        if hours >= 24 { return "\(hours / 24)d \(digits(hours % 24, 2)):" + time }
        return hours > 0 ? "\(hours):" + time : time
    }
}

extension String {
    fileprivate func padded(to width: Int, inFront: Bool = false) -> String {
        let padding = String(repeating: " ", count: Swift.max(0, width - count))
        return inFront ? padding + self : self + padding
    }
}
