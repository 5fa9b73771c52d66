/// Writes Prometheus' text format, version 0.0.4.
///
/// - SeeAlso: prometheus.io/docs/instrumenting/exposition_formats
struct PrometheusText {
    /// The content type.
    static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    private(set) var text = ""

    /// Begins a family, with its help and kind.
    mutating func family(_ name: String, kind: String, help: String?) {
        if let help { text += "# HELP \(name) \(Self.escaped(help, quotes: false))\n" }
        text += "# TYPE \(name) \(kind)\n"
    }

    mutating func sample(_ name: String, _ labels: [(String, String)], _ value: Double) {
        text += name
        if !labels.isEmpty {
            let pairs = labels.map { "\($0)=\"\(Self.escaped($1, quotes: true))\"" }
            text += "{\(pairs.joined(separator: ","))}"
        }
        text += " \(Self.number(value))\n"
    }

    /// A number as Prometheus reads it.
    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        guard value == value.rounded(), abs(value) < 1e15 else { return "\(value)" }
        return "\(Int64(value))"
    }

    /// A name of a metric: letters, digits, `_` and `:`, not beginning with a digit.
    static func metricName(_ name: String) -> String { sanitized(name, also: ":") }

    /// A name of a label: as a metric's, without `:`.
    static func labelName(_ name: String) -> String { sanitized(name, also: "") }

    private static func sanitized(_ name: String, also extra: String) -> String {
        let kept = name.unicodeScalars.map { scalar -> Character in
            let isWord = scalar.isASCII && (scalar.properties.isAlphabetic || scalar == "_")
            let isDigit = ("0"..."9").contains(scalar)
            return isWord || isDigit || extra.unicodeScalars.contains(scalar)
                ? Character(scalar) : "_"
        }
        let text = String(kept)
        guard let first = text.first, !first.isNumber else { return "_" + text }
        return text
    }

    private static func escaped(_ text: String, quotes: Bool) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\n": escaped += "\\n"
            case "\"" where quotes: escaped += "\\\""
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
