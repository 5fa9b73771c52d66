/// A row of `docs/limits`: which constants bound what, and what happens at the bound.
///
/// ```swift
/// Limit(
///     "wire.body", "a message's body", "\(WireLimits.bodyBytes) bytes",
///     "`refused` `tooLarge`; HTTP 413")
/// ```
///
/// The constants stay where the code uses them; a table is read by `scripts/reference` alone.
package struct Limit: Sendable, Encodable {
    /// What a test's `.limit(…)` names: the table's name, a dot, and a name within it.
    let id: String
    let subject: LimitText
    let value: LimitText
    let effect: LimitText

    package init(_ id: String, _ subject: LimitText, _ value: LimitText, _ effect: LimitText) {
        self.id = id
        self.subject = subject
        self.value = value
        self.effect = effect
    }
}

/// The limits of one feature, as a page of `docs/limits`.
package struct LimitTable: Sendable, Encodable {
    /// The page's name, without `.md`.
    let page: String
    let title: String
    /// Markdown above the table.
    let introduction: String
    let limits: [Limit]

    package init(_ page: String, _ title: String, _ introduction: String, _ limits: [Limit]) {
        self.page = page
        self.title = title
        self.introduction = introduction
        self.limits = limits
    }
}

/// A cell of a limit's row; the figures of a value come from constants.
package struct LimitText: Sendable, Encodable, ExpressibleByStringInterpolation {
    private let text: String
    /// Whether a digit is typed rather than interpolated; `scripts/reference` refuses that in a
    /// value.
    private let isTyped: Bool

    package init(stringLiteral text: String) {
        self.text = text
        isTyped = text.contains(where: \.isNumber)
    }

    package init(stringInterpolation parts: StringInterpolation) {
        text = parts.text
        isTyped = parts.isTyped
    }

    package struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var text = ""
        fileprivate var isTyped = false

        package init(literalCapacity: Int, interpolationCount: Int) {}

        package mutating func appendLiteral(_ literal: String) {
            text += literal
            isTyped = isTyped || literal.contains(where: \.isNumber)
        }

        /// Groups digits: 65,536.
        package mutating func appendInterpolation(_ number: some BinaryInteger) {
            text += Self.grouped(Int64(number))
        }

        package mutating func appendInterpolation(_ number: Double) {
            text += Self.decimal(number)
        }

        /// In the largest unit that leaves a whole number.
        package mutating func appendInterpolation(bytes: some BinaryInteger) {
            let units = [(Int64(1) << 30, "GiB"), (1 << 20, "MiB")]
            let (size, unit) = units.first { Int64(bytes) % $0.0 == 0 } ?? (1, "bytes")
            text += "\(Self.grouped(Int64(bytes) / size)) \(unit)"
        }

        package mutating func appendInterpolation(_ duration: Duration) {
            let seconds = duration / .seconds(1)
            let units = [(31_536_000.0, "years"), (86_400, "days"), (3_600, "h"), (60, "min")]
            let whole = units.first { seconds >= $0.0 && seconds.remainder(dividingBy: $0.0) == 0 }
            let (size, unit) = whole ?? (seconds < 1 ? (0.001, "ms") : (1, "s"))
            let count = Self.decimal(seconds / size)
            text += "\(count) \(unit == "days" && count == "1" ? "day" : unit)"
        }

        package mutating func appendInterpolation(milliseconds: some BinaryInteger) {
            appendInterpolation(Duration.milliseconds(Int64(milliseconds)))
        }

        package mutating func appendInterpolation(seconds: some BinaryInteger) {
            appendInterpolation(Duration.seconds(Int64(seconds)))
        }

        package mutating func appendInterpolation(seconds: Double) {
            appendInterpolation(Duration.seconds(seconds))
        }

        /// As it is, with its digits: the name of a standard, a figure that no constant holds.
        package mutating func appendInterpolation(verbatim words: String) { text += words }

        private static func decimal(_ number: Double) -> String {
            let rounded = number.rounded()
            return abs(number - rounded) < 0.000_001 ? grouped(Int64(rounded)) : "\(number)"
        }

        private static func grouped(_ number: Int64) -> String {
            if number == 1 << 53 - 1 { return "2⁵³ − 1" }
            var digits = ""
            for (index, digit) in "\(number.magnitude)".reversed().enumerated() {
                digits = "\(digit)\(index > 0 && index % 3 == 0 ? "," : "")" + digits
            }
            return number < 0 ? "−" + digits : digits
        }
    }
}
