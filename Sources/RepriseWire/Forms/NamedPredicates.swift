/// The size of a predicate, without those it uses.
struct PredicateShape {
    /// A use of another predicate by name.
    struct Use {
        let name: String
        /// The depth of the place of use.
        let depth: Int
        let place: CheckedJSON.Place
    }

    private(set) var depth = 0
    private(set) var nodes = 0
    var uses: [Use] = []

    mutating func add(_ depth: Int) {
        nodes += 1
        self.depth = max(self.depth, depth)
    }
}

/// The named predicates, and the size of each with all that it uses.
///
/// Doubling by `use` makes 2ⁿ of n predicates, so nothing is expanded: sizes are added up once
/// each, starting with those that use nothing.
struct NamedPredicates {
    struct Size {
        var depth: Int
        var nodes: Int
    }

    private var shapes: [String: PredicateShape] = [:]
    private var sizes: [String: Size] = [:]
    /// The names of one cycle, in order from the least name on; nil without a cycle.
    private(set) var cycle: [String]?
    /// In the order of the catalogue.
    private(set) var tooDeep: [String] = []

    init(_ predicates: [(name: String, shape: PredicateShape)] = []) {
        for (name, shape) in predicates { shapes[name] = shape }
        let names = predicates.map(\.name)
        for name in ordered(names) {
            guard let shape = shapes[name] else { continue }
            let size = size(of: shape)
            sizes[name] = size
        }
        cycle = Self.cycle(names.filter { sizes[$0] == nil }, shapes)
        tooDeep = names.filter { isTooDeep($0) && !(shapes[$0].map(isTooDeep) ?? false) }
    }

    func knows(_ name: String) -> Bool { shapes[name] != nil }

    /// With all that it uses; unknown ones and cycles add nothing.
    func size(of shape: PredicateShape) -> Size {
        var size = Size(depth: shape.depth, nodes: shape.nodes)
        for use in shape.uses {
            guard let used = sizes[use.name] else { continue }
            size.depth = max(size.depth, use.depth + used.depth)
            // Bounded, because sums of sums exceed any number.
            size.nodes = min(size.nodes + used.nodes, FormsLimits.predicateNodes + 1)
        }
        return size
    }

    /// Whether a predicate that it uses is too deep by itself, and was reported.
    func isTooDeep(_ shape: PredicateShape) -> Bool { shape.uses.contains { isTooDeep($0.name) } }

    private func isTooDeep(_ name: String) -> Bool {
        (sizes[name]?.depth ?? 0) > FormsLimits.predicateDepth
    }

    /// Those that are in no cycle and behind none, each after all that it uses (Kahn's algorithm:
    /// no recursion).
    private func ordered(_ names: [String]) -> [String] {
        var waitsFor: [String: Int] = [:]
        var users: [String: [String]] = [:]
        for name in names {
            let used = Set((shapes[name]?.uses ?? []).map(\.name).filter(knows))
            waitsFor[name] = used.count
            for other in used { users[other, default: []].append(name) }
        }
        var ready = names.filter { waitsFor[$0] == 0 }
        var next = 0
        while next < ready.count {
            for user in users[ready[next], default: []] {
                waitsFor[user, default: 1] -= 1
                if waitsFor[user] == 0 { ready.append(user) }
            }
            next += 1
        }
        return ready
    }

    /// Each of `left` uses another of them, so following the uses reaches a name twice.
    private static func cycle(_ left: [String], _ shapes: [String: PredicateShape]) -> [String]? {
        let isLeft = Set(left)
        guard var name = left.first else { return nil }
        var way: [String] = []
        var places: [String: Int] = [:]
        while places[name] == nil {
            places[name] = way.count
            way.append(name)
            guard let next = shapes[name]?.uses.first(where: { isLeft.contains($0.name) }) else {
                return nil
            }
            name = next.name
        }
        let cycle = way[(places[name] ?? 0)...]
        // From the least name on, so that the result is the same everywhere.
        let start = cycle.indices.min { cycle[$0] < cycle[$1] } ?? cycle.startIndex
        return Array(cycle[start...] + cycle[..<start])
    }
}
