package import RepriseCore

/// Which kinds are dispatched together, and the kind of an entry.
package struct KindFamilies: Hashable, Sendable {
    private let kinds: [String: EntryKind]
    /// By the name of a kind with a family: all its members, itself first.
    private let members: [String: [String]]
    private let leaders: [String: String]

    package init(_ kinds: [EntryKind]) {
        let named = Dictionary(kinds.map { ($0.name, $0) }) { first, _ in first }
        var (members, leaders): ([String: [String]], [String: String]) = ([:], [:])
        for kind in kinds.filter(\.isFamily) {
            let others = named.keys.filter { $0.hasPrefix(kind.name + ".") }.sorted()
            members[kind.name] = [kind.name] + others
            for other in others { leaders[other] = kind.name }
        }
        self.kinds = named
        self.members = members
        self.leaders = leaders
    }

    /// The kind that an entry of this name is recorded as; nil: undeclared.
    package func kind(_ name: String) -> EntryKind? {
        if let kind = kinds[name] { return kind }
        guard !members.isEmpty else { return nil }
        return kinds.values.first { $0.isFamily && name.hasPrefix($0.name + ".") }
    }

    /// The kind whose handler takes entries of this one.
    package func leader(of name: String) -> String { leaders[name] ?? name }

    /// The kinds whose entries the handler of this one takes.
    func members(of name: String) -> [String] { members[name] ?? [name] }

    /// Whether entries of the family may be dispatched although its gate is closed.
    func mayDeliver(_ name: String) -> Bool {
        members(of: name).contains { kinds[$0]?.bound?.then == .deliver }
    }

    /// The families, by the names of their leaders.
    var all: [String: [String]] { members }
}
