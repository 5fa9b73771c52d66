/// The limits of the page, as `Web/forms.js` declares them; read for `docs/limits` alone.
enum PageLimits {
    static subscript(_ name: String) -> Int {
        guard let value = declared[name] else { preconditionFailure("The page has no \(name).") }
        return value
    }

    private static let declared: [String: Int] = {
        let script = String(decoding: PackageResources.forms_js, as: UTF8.self)
        let lines = script.split(separator: "\n").drop { !$0.hasSuffix("limits = Object.freeze({") }
        let pairs = lines.dropFirst().prefix { !$0.hasSuffix("});") }.compactMap { line in
            let parts = line.split(separator: ":")
            let digits = parts.last.map { $0.filter(\.isNumber) } ?? ""
            return Int(digits).map { (String(parts[0].drop(while: \.isWhitespace)), $0) }
        }
        return Dictionary(uniqueKeysWithValues: pairs)
    }()
}
