/// The tags of `If-Match` and `If-None-Match` (RFC 9110 §13.1).
struct EntityTags: Hashable, Sendable {
    /// Whether it is `*`.
    let isAny: Bool
    /// The tags, with their quotes; weak ones without their `W/`.
    let all: [String]
    /// The strong tags.
    let strong: [String]

    /// - Parameter fields: each a list; the result is nil without fields.
    init?(_ fields: [String]) {
        guard !fields.isEmpty else { return nil }
        var all: [String] = []
        var strong: [String] = []
        var isAny = false
        for field in fields {
            var rest = field[...]
            while let start = rest.firstIndex(where: { !", \t".contains($0) }) {
                rest = rest[start...]
                if rest.first == "*" {
                    isAny = true
                    rest = rest.dropFirst()
                    continue
                }
                let isWeak = rest.hasPrefix("W/")
                if isWeak { rest = rest.dropFirst(2) }
                // An invalid tag matches nothing, and the rest of the list cannot be parsed.
                guard rest.first == "\"", let end = rest.dropFirst().firstIndex(of: "\"") else {
                    break
                }
                let tag = String(rest[...end])
                all.append(tag)
                if !isWeak { strong.append(tag) }
                rest = rest[rest.index(after: end)...]
            }
        }
        self.isAny = isAny
        self.all = all
        self.strong = strong
    }

    func matches(_ tag: String, isStrong: Bool) -> Bool {
        isAny || (isStrong ? strong : all).contains(tag)
    }
}
